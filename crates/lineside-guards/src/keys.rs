//! The keys of filters over what a call does: the one table that files and the builder are read with.

use lineside_commands::{Trait, Unknown};

/// Of `match`, and of what stands below `any`, `all` and `not`.
pub const KEYS: [&str; 12] = [
    "runs", "reads", "writes", "deletes", "does", "sets", "cannot_tell", "any", "all", "not", "except",
    "unclear",
];

/// Of a program.
pub(crate) const RUNS: [&str; 10] = [
    "program", "subcommand", "flags", "any_flag", "no_flag", "operand", "no_operand", "text", "elsewhere",
    "unclear",
];

/// Of paths.
pub(crate) const PATHS: [&str; 7] = ["path", "not", "outside", "root", "secret", "whole", "unclear"];

/// What a command may do beside running programs and touching paths.
pub(crate) const DOES: [(&str, Trait); 8] = [
    ("sends_secret", Trait::SendsSecret),
    ("runs_fetched", Trait::RunsFetched),
    ("runs_decoded", Trait::RunsDecoded),
    ("shows_environment", Trait::ShowsEnvironment),
    ("destroys_data", Trait::DestroysData),
    ("deletes_unclear", Trait::DeletesUnclear),
    ("overwrites_files", Trait::OverwritesFiles),
    ("runs_away", Trait::RunsAway),
];

/// What may be not known.
pub(crate) const UNKNOWN: [(&str, Unknown); 2] = [("program", Unknown::Program), ("paths", Unknown::Paths)];
