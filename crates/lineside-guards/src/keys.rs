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

#[cfg(test)]
mod tests {
    use lineside_core::json::{Value, from_str};

    use super::*;

    /// The words of a definition in the schema of files.
    fn words(schema: &Value, definition: &str) -> Vec<String> {
        let definition = schema.get("$defs").and_then(|all| all.get(definition)).unwrap();
        let choice = |one: &Value| one.get("const").and_then(Value::as_str).unwrap().to_owned();
        let mut words: Vec<String> = match definition.get("oneOf").and_then(Value::as_array) {
            Some(all) => all.iter().map(choice).collect(),
            None => {
                let keys = definition.get("properties").and_then(Value::as_object).unwrap();
                keys.into_iter().map(|(key, _)| key.to_string()).collect()
            }
        };
        words.sort();
        words
    }

    #[test]
    fn the_schema_of_files_has_these_words_and_no_others() {
        let schema = include_str!("../../../docs/reference/schema/hooks.schema.json");
        let schema: Value = from_str(schema).unwrap();
        let of = |pairs: &[&'static str]| pairs.to_vec();
        for (definition, known) in [
            ("Acts", of(&KEYS)),
            ("ProgramWords", of(&RUNS)),
            ("WantedPaths", of(&PATHS)),
            ("Does", DOES.iter().map(|(word, _)| *word).collect()),
            ("Unknown", UNKNOWN.iter().map(|(word, _)| *word).collect()),
        ] {
            let mut known = known;
            known.sort_unstable();
            assert_eq!(words(&schema, definition), known, "{definition}");
        }
    }
}
