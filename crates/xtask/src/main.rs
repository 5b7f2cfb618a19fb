//! The repository's front door: `cargo xtask` and a chore's name.
//!
//! Each chore is a module; what it runs are the programmes a person would run by hand. Nothing here is part of the
//! library, and no other crate knows this one.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

mod workspace;

mod copy;
mod paint;
mod programme;
mod tools;

mod bench;
mod crash;
mod dist;
mod docs;
mod faults;
mod fuzz;
mod install;
mod hosts;
mod mutants;
mod pictures;
mod reality;
mod seeded;
mod semver;
mod test;
mod tidy;

use workspace::Workspace;

const HELP: &str = "\
cargo xtask CHORE

  test [--only STEP[,STEP]] [--list]   everything that must hold, installing what it lacks
  tidy                                 the rules of the repository that no compiler checks
  tidy --sizes [COMMIT]                the production lines of each crate, and what they were at a commit
  api                                  writes the listings of the public items, which `test` compares
  bench [--quick] [--only NAME[,NAME]] every bench, one table of their figures, and which fall short
  install [--root DIR] [--with otel,nats]   `lineside`, and the full command beside it, into `bin` of cargo's folder
  dist [--dev] [--check]               what is published, into `target/dist`; of a debug build; each form installed and tried
  semver [COMMIT]                      the public items against those of a commit, of the last tag without one
  mutants [PATH…]                      the tests of files or folders against small changes of them, for a nightly run
  seeded [NAME…]                       the laws' tests against faults seeded for them; those with NAME in theirs
  crash [--cycles N] [--seed N]        a journal's programme killed again and again, and judged
  crash --command [--cycles N] …       the same for `lineside run --journal`, judged by its own lines
  crash --daemon [--cycles N]          the same for `lineside serve`, judged by what its clients have seen
  crash --log [--cycles N]             the same while its decision log is written, judged by what that has
  faults [--repeat N]                  the tests of the table of faults, and how each row fared
  fuzz [--minutes N]                   commands that no person has written, for a nightly run
  reality [NAME]                       published plugins through lineside and through OpenClaw, and where they differ
  hosts [--record] [--keep] [NAME…]    real agent programs behind our entries, with a scripted model
  hosts --newest [NAME…]               the same, and their newest versions: what these do otherwise
  hosts --pairs [--keep] [NAME [NAME]] each of them started by each other one's shell, under a hook of the outer session
  hosts --places [--keep] [NAME [NAME]] two of them at work at once, each in a repository with a policy of its own
  pictures [--renew]                   the dashboard's pages in a browser, beside pictures of them, for a nightly run
  docs                                 the book and the API reference

`test` ends with a line `N passed, N failed` and fails when anything did.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<ExitCode> {
    match arguments {
        [] | ["help" | "--help" | "-h", ..] => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        ["test", "--list"] => {
            test::list();
            Ok(ExitCode::SUCCESS)
        }
        ["test"] => test::run(&Workspace::find()?, &test::every_step()),
        ["test", "--only", names] => test::run(&Workspace::find()?, &test::steps_named(names)?),
        ["tidy"] => tidy::run(&Workspace::find()?),
        ["tidy", "--sizes"] => tidy::sizes::run(&Workspace::find()?, None),
        ["tidy", "--sizes", commit] => tidy::sizes::run(&Workspace::find()?, Some(commit)),
        ["api"] => tidy::public_api::run(&Workspace::find()?),
        ["bench", rest @ ..] => bench::run(&Workspace::find()?, &bench::Order::read(rest)?),
        ["install", rest @ ..] => install::run(&Workspace::find()?, &install::Order::read(rest)?),
        ["dist", rest @ ..] => dist::run(&Workspace::find()?, &dist::Order::read(rest)?),
        ["semver"] => semver::run(&Workspace::find()?, None),
        ["semver", commit] => semver::run(&Workspace::find()?, Some(commit)),
        ["mutants", paths @ ..] => mutants::run(&Workspace::find()?, paths),
        ["seeded", names @ ..] => seeded::run(&Workspace::find()?, names),
        ["crash", rest @ ..] => crash::run(&Workspace::find()?, crash::Order::read(rest)?),
        ["reality"] => reality::run(&Workspace::find()?, None),
        ["reality", part] => reality::run(&Workspace::find()?, Some(part)),
        ["hosts", names @ ..] => hosts::run(&Workspace::find()?, names),
        ["fuzz", rest @ ..] => fuzz::run(&Workspace::find()?, fuzz::minutes(rest)?),
        ["pictures", rest @ ..] => pictures::run(&Workspace::find()?, rest),
        ["docs"] => docs::run(&Workspace::find()?),
        ["faults"] => faults::run(&Workspace::find()?, 1),
        ["faults", "--repeat", times] => {
            let times = times.parse().with_context(|| format!("`{times}` is no number"))?;
            faults::run(&Workspace::find()?, times)
        }
        [chore @ ("test" | "tidy" | "api" | "docs" | "faults"), rest @ ..] => {
            bail!("`{chore}` does not take `{}`; `cargo xtask` shows what it takes", rest.join(" "))
        }
        [chore, ..] => bail!("there is no chore `{chore}`; `cargo xtask` lists them"),
    }
}
