//! What each automation of a life has promised, as far as a judge of it needs to know.

/// What is promised of an automation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contract {
    pub(crate) name: &'static str,
    /// What kind of events it hears.
    pub(crate) hears: &'static str,
    /// How often a job is started at most.
    pub(crate) attempts: u32,
    /// Whether an event is in one job only, whatever happens; otherwise jobs may be replaced while they run.
    pub(crate) one_job: bool,
    /// Whether events are held and run for together, the last one's fields counting.
    pub(crate) held: bool,
    /// Whether it does its work in a file for each event.
    pub(crate) files: bool,
    /// Whether what it finds goes to the context of the session, one message for each event.
    pub(crate) tells: bool,
}

/// The kind of events that are held and merged.
pub(crate) const BATCHES: &str = "batch";
/// The kind of events of a tool's end.
pub(crate) const SHELLS: &str = "shell";
/// Another one.
pub(crate) const EDITS: &str = "edit";
/// A third one.
pub(crate) const READS: &str = "read";

const fn contract(name: &'static str, hears: &'static str, attempts: u32) -> Contract {
    Contract { name, hears, attempts, one_job: true, held: false, files: false, tells: false }
}

/// All automations of a life.
pub(crate) const CONTRACTS: [Contract; 8] = [
    Contract { held: true, ..contract("lint", BATCHES, 3) },
    Contract { held: true, ..contract("gather", BATCHES, 4) },
    contract("index", BATCHES, 2),
    Contract { one_job: false, ..contract("build", BATCHES, 3) },
    Contract { files: true, ..contract("deploy", SHELLS, 4) },
    contract("migrate", SHELLS, 3),
    contract("format", EDITS, 2),
    Contract { tells: true, ..contract("notes", READS, 5) },
];

/// The contract of an automation.
pub(crate) fn of(name: &str) -> Option<&'static Contract> {
    CONTRACTS.iter().find(|contract| contract.name == name)
}
