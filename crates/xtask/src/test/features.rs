//! Each feature of the library compiles without the others, the bus alone stays small, and no feature of a shared
//! library is on that changes what the rest of a user's program does.

use anyhow::{Result, ensure};

use super::step::{Counts, Outcome};
use crate::programme::{FOR_A_BUILD, FOR_A_RUN, must};
use crate::workspace::Workspace;

/// The library.
const LIBRARY: &str = "lineside";

/// The features, each with those that it brings along.
const FEATURES: [&str; 26] = [
    "", "actors", "counter", "automation", "journal", "log", "commands", "exec", "http", "dialects",
    "agenthooks", "chord", "flyto", "jcli", "openclaw", "hosts", "claude", "codex", "copilot", "cursor",
    "gemini", "kimi", "opencode", "qwen", "client", "macros",
];

/// How many crates of others the bus alone may have.
const MOST: usize = 60;

/// Features under which every crate of a program reads JSON in another way.
const CHANGING: [&str; 3] = ["arbitrary_precision", "preserve_order", "unbounded_depth"];

pub(super) fn judge(workspace: &Workspace) -> Result<Outcome> {
    let tree = ["tree", "--workspace", "--edges", "features", "--invert", "serde_json", "--prefix", "none"];
    let lines = must(&mut workspace.cargo(tree), FOR_A_RUN)?.lines;
    let on = changing(&lines);
    ensure!(on.is_empty(), "serde_json has features that change other crates: {}", on.join(", "));

    let bare =
        ["tree", "--package", LIBRARY, "--no-default-features", "--edges", "normal", "--prefix", "none"];
    let crates = foreign(&must(&mut workspace.cargo(bare), FOR_A_RUN)?.lines);
    ensure!(crates <= MOST, "the bus alone has {crates} crates of others, and {MOST} are the most");

    let mut counts = Counts::ONE_PASSED;
    counts += Counts::ONE_PASSED;
    for features in FEATURES {
        let arguments = [
            "check", "--quiet", "--package", LIBRARY, "--lib", "--no-default-features", "--features",
            features,
        ];
        must(&mut workspace.cargo(arguments), FOR_A_BUILD)?;
        counts += Counts::ONE_PASSED;
    }
    Ok(Outcome::Judged(counts))
}

/// Which of the features that change other crates a tree has.
fn changing(tree: &[String]) -> Vec<&'static str> {
    let has =
        |feature: &str| tree.iter().any(|line| line.contains(&format!("serde_json feature \"{feature}\"")));
    CHANGING.into_iter().filter(|feature| has(feature)).collect()
}

/// How many crates a tree has beside those of the workspace, each version counted once.
fn foreign(tree: &[String]) -> usize {
    let known = tree.iter().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?)).filter(|(name, _)| !name.starts_with(LIBRARY))
    });
    known.collect::<std::collections::HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_feature_that_changes_other_crates_is_found() {
        let quiet = "serde_json v1.0.1\nserde_json feature \"raw_value\"\n";
        assert!(changing(&lines(quiet)).is_empty());
        let loud = format!("{quiet}serde_json feature \"preserve_order\"\na v1.0.0 (*)\n");
        assert_eq!(changing(&lines(&loud)), ["preserve_order"]);
    }

    #[test]
    fn crates_of_others_are_counted_once_for_each_version() {
        let tree =
            "lineside v0.1.0 (/x)\nsyn v2.0.0\nsyn v3.0.0 (*)\nsyn v2.0.0 (*)\nlineside-core v0.1.0 (/y)\n\n";
        assert_eq!(foreign(&lines(tree)), 2);
    }
}
