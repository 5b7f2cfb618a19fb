//! What is for tests alone or lies in a folder for temporary files, so that nothing is lost with it, and what only looks.

use super::Walk;
use crate::analysis::Access;
use crate::path;
use crate::reading::Reading;
use crate::value::Value;

/// The variables that name the environment of a program which knows several.
fn variables_of(name: &str) -> &'static [&'static str] {
    match name {
        "rails" | "rake" => &["RAILS_ENV", "RACK_ENV"],
        "mix" | "ecto" => &["MIX_ENV"],
        "sequelize" | "sequelize-cli" | "knex" => &["NODE_ENV"],
        "artisan" | "art" | "console" | "doctrine" => &["APP_ENV"],
        _ => &[],
    }
}

impl Walk<'_> {
    /// Whether a program that knows environments is to work in the one for tests.
    pub(super) fn is_for_tests(&self, name: &str, reading: &Reading, index: usize) -> bool {
        let variables = variables_of(name);
        if variables.is_empty() {
            return false;
        }
        let is_test = |text: &str| matches!(text, "test" | "testing");
        // Where the database is named beside the environment, that one counts.
        let of_url = self.of_environment("DATABASE_URL", index).is_some();
        let named = ["--url", "--database", "--connection"].into_iter().flat_map(|flag| reading.values(flag));
        let mut named = named.map(|value| value.plain());
        // `db:drop:all` is that of each environment.
        let is_all = matches!(name, "rails" | "rake")
            && (reading.subcommand.iter().any(|task| task.ends_with(":all"))
                || reading.operands.iter().any(|word| word.text.ends_with(":all")));
        if of_url || is_all || named.any(|name| !name.is_some_and(is_test)) {
            return false;
        }
        let set = |variable: &str| self.of_environment(variable, index).and_then(|value| value.literal());
        let given = reading.operands.iter().filter_map(|word| word.text.split_once('='));
        let mut given = given.filter(|(name, _)| variables.contains(name));
        let option = ["--env", "-e"].into_iter().find_map(|flag| reading.values(flag).next()?.plain());
        match option.or(given.next().map(|(_, value)| value)) {
            Some(named) => is_test(named),
            None => variables.iter().copied().find_map(set).is_some_and(|value| is_test(&value)),
        }
    }

    /// Whether a file of SQLite lies in a folder for temporary files.
    pub(super) fn is_scratch(&self, file: &Value) -> bool {
        let is_file =
            self.way.last().is_some_and(|name| matches!(name.as_str(), "sqlite3" | "sqlite" | "duckdb"));
        let (path, unclear) = self.absolute(file);
        let is_below = |folder: &&str| path::is_within(&path, folder);
        is_file
            && !unclear
            && self.state.temporary.iter().any(is_below)
            && !path::is_within(&path, self.state.project)
    }

    /// `parted DEVICE command`: what does more than to print is a write.
    pub(super) fn parts(&mut self, reading: &Reading, index: usize) {
        const CHANGES: [&str; 13] = [
            "mklabel", "mktable", "mkpart", "mkfs", "rm", "rescue", "resizepart", "set", "toggle", "name",
            "type", "disk_set", "disk_toggle",
        ];
        let [device, told @ ..] = &reading.operands[..] else { return };
        let changes = |word: &Value| {
            let text = word.text.as_str();
            text.len() > 1 && CHANGES.iter().any(|known| known.starts_with(text)) || word.is_unclear()
        };
        let asks = matches!(
            told.first().and_then(Value::plain),
            Some("print" | "p" | "unit" | "help" | "align-check" | "version" | "quit")
        );
        if !asks || told.iter().any(changes) {
            self.touch(Access::Write, device, false, Some(index));
        }
    }
}
