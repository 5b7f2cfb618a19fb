//! A case file: read strictly, so that a misspelt expectation is an error and not a case that always passes.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use lineside::core::json::read_strict;
use lineside::dialects::{Trust, yaml_value};
use lineside::json::Value;

use super::fields::Fields;
use super::layout::{Entry, entries};
use super::long_text::{expand, in_directory};
use super::step::Step;

/// The cases of one file.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) dialect: String,
    pub(super) cases: Vec<Case>,
}

/// One case as it was written; it is checked, and read once more when its directory is known.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) from: Option<String>,
    written: Value,
    /// Where its file is.
    folder: Arc<Path>,
}

/// One case in its directory.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) files: Vec<(String, Entry)>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) trust: Trust,
    pub(super) steps: Vec<Step>,
}

impl Suite {
    /// Reads a case file.
    ///
    /// # Errors
    /// Everything that is wrong with it, one message for each case.
    pub(super) fn read(file: &Path) -> Result<Self, Vec<String>> {
        let one = |error: anyhow::Error| vec![format!("{error:#}")];
        let value = written(file).map_err(one)?;
        let (dialect, cases) = outline(&value).map_err(one)?;
        let folder: Arc<Path> = file.parent().unwrap_or(Path::new("")).into();
        let mut read = Vec::new();
        let mut errors = Vec::new();
        let mut ids = HashSet::new();
        for (number, case) in (1..).zip(cases) {
            match Case::read(number, case, &folder) {
                Ok(case) if !ids.insert(case.id.clone()) => {
                    errors.push(format!("two cases have the id `{}`", case.id));
                }
                Ok(case) => read.push(case),
                Err(error) => errors.push(format!("{error:#}")),
            }
        }
        if errors.is_empty() { Ok(Self { dialect, cases: read }) } else { Err(errors) }
    }
}

/// What a case file says, whichever of the two it is written in.
fn written(file: &Path) -> Result<Value> {
    let text = std::fs::read(file).context("failed to read it")?;
    if file.extension().is_some_and(|extension| extension == "json") {
        return Ok(read_strict(&text)?);
    }
    let text = std::str::from_utf8(&text).context("it is not UTF-8")?;
    yaml_value(text).map_err(|error| anyhow!("line {}: {error}", error.line))
}

fn outline(value: &Value) -> Result<(String, Vec<Value>)> {
    let mut fields = Fields::of("the file", value)?;
    let outline = (fields.required("dialect")?, fields.required("cases")?);
    fields.finish()?;
    Ok(outline)
}

impl Case {
    /// Whether a step of it may take no longer than it says.
    pub(super) fn is_timed(&self) -> bool {
        let steps = self.written.get("steps").and_then(Value::as_array);
        let bounds =
            |step: &Value| step.get("expect").is_some_and(|expect| expect.get("within_ms").is_some());
        steps.is_some_and(|steps| steps.iter().any(bounds))
    }

    fn read(number: usize, value: Value, folder: &Arc<Path>) -> Result<Self> {
        let id = value.get("id").and_then(Value::as_str).map(str::to_owned);
        let place = id.as_ref().map_or_else(|| format!("case {number}"), |id| format!("case `{id}`"));
        let written = expand(value).context(place.clone())?;
        let mut fields = Fields::of(place.clone(), &written)?;
        let id = fields.required("id")?;
        let title = fields.required("title")?;
        let from = fields.optional("from")?;
        Script::read(fields, folder).context(place)?;
        Ok(Self { id, title, from, written, folder: Arc::clone(folder) })
    }

    /// The case in its directory.
    ///
    /// # Errors
    /// None for a case that was read, unless `$CASE` makes something else of it.
    pub(super) fn script(&self, directory: &str) -> Result<Script> {
        let mut written = self.written.clone();
        in_directory(&mut written, directory);
        let mut fields = Fields::of(format!("case `{}`", self.id), &written)?;
        for known in ["id", "title", "from"] {
            fields.value(known);
        }
        Script::read(fields, &self.folder)
    }
}

impl Script {
    fn read(mut fields: Fields<'_>, folder: &Path) -> Result<Self> {
        let files = match fields.value("files") {
            Some(value) => entries(value, folder)?,
            None => Vec::new(),
        };
        let env = fields.optional("env")?.unwrap_or_default();
        let trust = match fields.optional::<String>("trust")?.as_deref() {
            None => Trust::Granted,
            Some("ask") => Trust::Withheld,
            Some(other) => bail!("`trust` is \"ask\" or absent, not {other:?}"),
        };
        let steps: Vec<Value> = fields.required("steps")?;
        fields.finish()?;
        let steps = (1..)
            .zip(&steps)
            .map(|(number, step)| Step::read(step).map_err(|error| anyhow!("step {number}: {error:#}")))
            .collect::<Result<_>>()?;
        Ok(Self { files, env, trust, steps })
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    fn check(case: Value, expected: Result<(), &str>) {
        let read =
            Case::read(3, case, &Arc::from(Path::new(""))).map(|_| ()).map_err(|error| format!("{error:#}"));
        assert_eq!(read, expected.map_err(str::to_owned));
    }

    #[test]
    fn a_case_is_read_strictly() {
        check(json!({"id": "a", "title": "t", "steps": []}), Ok(()));
        check(json!({"title": "t", "steps": []}), Err("case 3 needs the field `id`"));
        check(
            json!({"id": "a", "title": "t", "step": []}),
            Err("case `a`: case `a` needs the field `steps`"),
        );
        check(
            json!({"id": "a", "title": "t", "steps": [], "enw": {}}),
            Err("case `a`: unknown key `enw` in case `a`; is `env` meant?"),
        );
        check(
            json!({"id": "a", "title": "t", "steps": [{"load": true, "expect": {"hook": []}}]}),
            Err("case `a`: step 1: unknown key `hook` in `expect`; is `hooks` meant?"),
        );
        check(
            json!({"id": "a", "title": "t", "steps": [], "trust": "no"}),
            Err("case `a`: `trust` is \"ask\" or absent, not \"no\""),
        );
    }

    #[test]
    fn the_directory_is_known_when_it_runs() {
        let case = Case::read(
            1,
            json!({"id": "a", "title": "$CASE", "env": {"A": "$CASE/x"}, "steps": []}),
            &Arc::from(Path::new("")),
        )
        .unwrap();
        assert_eq!(case.script("/t").unwrap().env["A"], "/t/x");
    }
}
