//! `cargo xtask tidy --sizes`: the production lines of each crate, by the count that the rule of length has, and what they
//! were at an earlier commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use super::repository::{File, Repository, collect};
use crate::workspace::Workspace;

/// Prints the table.
///
/// # Errors
/// The sources cannot be read, or there is no such commit.
pub(crate) fn run(workspace: &Workspace, before: Option<&str>) -> Result<ExitCode> {
    let now = Sizes::of(&Repository::read(workspace)?.files);
    let before = before.map(|commit| at(workspace, commit)).transpose()?;
    print!("{}", table(&now, before.as_ref()));
    Ok(ExitCode::SUCCESS)
}

/// Files and lines, by crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sizes(BTreeMap<String, [usize; 2]>);

impl Sizes {
    fn of(files: &[File]) -> Self {
        let mut sizes = Self::default();
        for file in files.iter().filter(|file| file.path.ends_with(".rs") && file.is_production()) {
            let of_crate = sizes.0.entry(file.crate_name().unwrap_or_default().to_owned()).or_default();
            of_crate[0] += 1;
            of_crate[1] += file.code_lines().iter().filter(|(_, code)| !code.trim().is_empty()).count();
        }
        sizes
    }
}

/// The sizes at a commit.
fn at(workspace: &Workspace, commit: &str) -> Result<Sizes> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let mut archive = Command::new("git")
        .args(["archive", "--format=tar", commit, "crates"])
        .current_dir(&workspace.root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start git")?;
    let tar = archive.stdout.take().context("git has no output")?;
    let unpacked = Command::new("tar").args(["-x", "-C"]).arg(folder.path()).stdin(tar).status();
    ensure!(archive.wait()?.success(), "git has no commit `{commit}`");
    ensure!(unpacked.context("cannot start tar")?.success(), "cannot unpack what git has of `{commit}`");
    let mut files = Vec::new();
    collect(&folder.path().join(Path::new("crates")), "crates", &mut files)?;
    Ok(Sizes::of(&files))
}

fn table(now: &Sizes, before: Option<&Sizes>) -> String {
    let mut rows: Vec<(&str, [usize; 2], [usize; 2])> = Vec::new();
    let names = now.0.keys().chain(before.into_iter().flat_map(|before| before.0.keys()));
    for name in names.collect::<std::collections::BTreeSet<_>>() {
        let of = |sizes: &Sizes| sizes.0.get(name).copied().unwrap_or_default();
        rows.push((name, of(now), before.map(of).unwrap_or_default()));
    }
    rows.sort_by_key(|(_, [_, lines], _)| std::cmp::Reverse(*lines));
    let sum = rows.iter().fold(([0; 2], [0; 2]), |(now, before), row| (add(now, row.1), add(before, row.2)));
    rows.push(("all", sum.0, sum.1));
    let mut text = format!("{:24}{:>8}{:>8}", "crate", "files", "lines");
    text.push_str(if before.is_some() { "  before\n" } else { "\n" });
    for (name, [files, lines], [_, earlier]) in rows {
        text.push_str(&format!("{name:24}{files:>8}{lines:>8}"));
        if before.is_some() {
            text.push_str(&format!("{earlier:>8}{:>+8}", lines.cast_signed() - earlier.cast_signed()));
        }
        text.push('\n');
    }
    text
}

fn add(one: [usize; 2], other: [usize; 2]) -> [usize; 2] {
    [one[0] + other[0], one[1] + other[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_production_counts_and_what_is_gone_is_told() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let lib = "//! x\n\n/// y\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n";
        let now = Sizes::of(&[
            file("crates/a/src/lib.rs", lib),
            file("crates/a/src/tests.rs", "fn t() {}\n"),
            file("crates/a/tests/t.rs", "fn t() {}\n"),
        ]);
        let before = Sizes::of(&[file("crates/b/src/lib.rs", "fn f() {}\nfn g() {}\n")]);
        let told = table(&now, Some(&before));
        let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[1..],
            [
                vec!["a", "1", "1", "0", "+1"],
                vec!["b", "0", "0", "2", "-2"],
                vec!["all", "1", "1", "2", "-1"]
            ]
        );
    }
}
