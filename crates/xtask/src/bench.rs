//! `cargo xtask bench`: every bench target of the workspace, and one table of what they measured.
//!
//! A figure over its target is marked, named in the last lines, and fails nothing: times of a shared machine are for
//! reading.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::install;
use crate::paint::Ink;
use crate::programme::{FOR_A_BUILD, must, watch};
use crate::test::elsewhere::SERVER;
use crate::tools::{NATS_SERVER, pypi_program};
use crate::workspace::Workspace;

pub(crate) mod figures;

use figures::Figure;

/// The group that measures the installed program, which is not built like the others.
const SHIM: &str = "shim";

/// The group that measures a cluster, with a feature of its own and a server.
const NATS: &str = "nats";
const SERVER_TESTS: [&str; 2] = ["--features", "lineside-daemon/server-tests"];

/// What to measure, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Order {
    length: Length,
    /// The groups; all of them when there are none here.
    only: Vec<String>,
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Full,
    /// Criterion's `--quick`: fewer samples.
    Quick,
}

impl Order {
    pub(crate) fn read(arguments: &[&str]) -> Result<Self> {
        let mut order = Self { length: Length::Full, only: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--quick" => order.length = Length::Quick,
                "--only" => {
                    let names = arguments.next().context("`--only` needs the name of a group")?;
                    order.only.extend(names.split(',').map(|name| name.trim().to_owned()));
                }
                other => bail!("`bench` does not take `{other}`; `cargo xtask` shows what it takes"),
            }
        }
        Ok(order)
    }
}

/// The bench targets by name, each with the crates that have one: a name is a group, whichever crates it is in.
type Groups<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Builds the benches at once and runs them group by group. Fails only when one of them does not end well.
pub(crate) fn run(workspace: &Workspace, order: &Order) -> Result<ExitCode> {
    let groups = chosen(groups(workspace), &order.only)?;
    let others: Vec<_> = groups.keys().copied().filter(|group| *group != NATS).collect();
    if !others.is_empty() {
        must(bench(workspace, others).arg("--no-run"), FOR_A_BUILD)?;
    }
    let mut figures = Vec::new();
    let mut crashed = Vec::new();
    for (group, packages) in groups {
        let heading = format!("{group} of {}", packages.join(", "));
        println!("{}", Ink::Bold.on(&heading));
        let mut bench = bench(workspace, [group]);
        bench.arg("--no-fail-fast");
        match group {
            SHIM => install::tell_bench(workspace, &mut bench)?,
            NATS => {
                let server = pypi_program(workspace, NATS_SERVER)?;
                bench.args(SERVER_TESTS).env(SERVER, server);
            }
            _ => {}
        }
        if order.length == Length::Quick {
            bench.args(["--", "--quick"]);
        }
        let ended = watch(&mut bench, FOR_A_BUILD)?;
        figures.extend(ended.lines.iter().filter_map(|line| Figure::read(line)));
        if !ended.status.success() {
            crashed.push(heading);
        }
    }
    figures::print(&figures);
    if !crashed.is_empty() {
        bail!("these benches crashed: {}", crashed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn groups(workspace: &Workspace) -> Groups<'_> {
    let mut groups = Groups::new();
    for (package, target) in workspace.targets("bench") {
        groups.entry(&target.name).or_default().push(&package.name);
    }
    groups
}

fn chosen<'a>(mut groups: Groups<'a>, only: &[String]) -> Result<Groups<'a>> {
    if let Some(unknown) = only.iter().find(|name| !groups.contains_key(name.as_str())) {
        let names: Vec<_> = groups.keys().copied().collect();
        bail!("there is no bench `{unknown}`; there are {}", names.join(", "));
    }
    groups.retain(|group, _| only.is_empty() || only.iter().any(|name| name == group));
    Ok(groups)
}

/// `cargo bench` for these groups. Always of the whole workspace: the features of a dependency are then the same for
/// every crate, and it is built once.
fn bench<'a>(workspace: &Workspace, groups: impl IntoIterator<Item = &'a str>) -> Command {
    let mut bench = workspace.cargo(["bench", "--workspace"]);
    for group in groups {
        bench.args(["--bench", group]);
    }
    bench
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_measure_is_read_in_any_order() {
        let order = Order::read(&["--only", "scale, publish", "--quick"]).unwrap();
        assert_eq!(order, Order { length: Length::Quick, only: vec!["scale".into(), "publish".into()] });
        assert_eq!(Order::read(&[]).unwrap(), Order { length: Length::Full, only: Vec::new() });
        let error = Order::read(&["--fast"]).unwrap_err().to_string();
        assert_eq!(error, "`bench` does not take `--fast`; `cargo xtask` shows what it takes");
        assert!(Order::read(&["--only"]).is_err());
    }

    #[test]
    fn groups_are_chosen_by_name() {
        let groups = Groups::from([("publish", vec!["bus"]), ("scale", vec!["automation", "bus"])]);
        assert_eq!(chosen(groups.clone(), &[]).unwrap(), groups);
        let scale = chosen(groups.clone(), &["scale".into()]).unwrap();
        assert_eq!(scale, Groups::from([("scale", vec!["automation", "bus"])]));
        let error = chosen(groups, &["scales".into()]).unwrap_err().to_string();
        assert_eq!(error, "there is no bench `scales`; there are publish, scale");
    }
}
