//! Which tests cover a crate, the cheap ones first: what those notice is not tried again with the others.

/// Tests that are run together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) packages: &'static [&'static str],
    /// What of them, as cargo takes it.
    pub(super) targets: &'static [&'static str],
}

/// The crate that the cases of `tests/conformance` cover besides, by the assembled command.
pub(super) const WITH_CASES: &str = "lineside-dialects";

const ALL: &[&str] = &["--tests"];

const fn of(packages: &'static [&'static str]) -> Pass {
    Pass { packages, targets: ALL }
}

const REDACT: Pass = of(&["lineside-redact"]);
const SEARCH: Pass = of(&["lineside-search", "lineside-pyregex"]);
const CORE: Pass = of(&["lineside-core"]);
const POINTS: Pass = of(&["lineside-points"]);
const BUS: Pass = of(&["lineside-bus"]);
const AUTOMATION: Pass = of(&["lineside-automation"]);
const JOURNAL: Pass = of(&["lineside-journal"]);
const EXEC: Pass = of(&["lineside-exec"]);
const DIALECTS: Pass = of(&["lineside-dialects"]);
const CLI: Pass = of(&["lineside-cli"]);
const TESTING: Pass = of(&["lineside-testing"]);
const ASSEMBLED: Pass = of(&["lineside"]);
const LAWS: Pass = Pass { packages: &["lineside"], targets: &["--test=laws"] };

/// The passes for a crate. One that is not in the table is covered by the assembled library, if by anything.
pub(super) fn passes(package: &str) -> &'static [Pass] {
    match package {
        "lineside-redact" => &[REDACT, CORE],
        "lineside-search" | "lineside-pyregex" => &[SEARCH, CORE, DIALECTS],
        "lineside-core" => &[CORE, POINTS, BUS, LAWS],
        "lineside-points" => &[POINTS, BUS, LAWS],
        "lineside-bus" => &[BUS, AUTOMATION, LAWS],
        "lineside-automation" => &[AUTOMATION, LAWS],
        "lineside-journal" => &[JOURNAL, LAWS],
        "lineside-exec" => &[EXEC, ASSEMBLED],
        "lineside-dialects" => &[DIALECTS],
        "lineside-cli" => &[CLI],
        "lineside-testing" => &[TESTING],
        _ => &[ASSEMBLED],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_of_the_engine_are_covered_by_their_own_tests_first_and_by_the_laws_last() {
        for package in ["lineside-core", "lineside-points", "lineside-bus", "lineside-automation"] {
            let passes = passes(package);
            assert_eq!(passes.first().unwrap().packages, [package]);
            assert_eq!(passes.last(), Some(&LAWS));
        }
    }
}
