//! What is expected of a step. What is not named is not judged.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use lineside::core::{FailureKind, Severity, SkipReason, Strength};
use lineside::json::{Map, Value};

use super::fields::Fields;
use super::layout::inside;
use super::step::Act;
use super::text_match::TextMatch;

/// The expectations of a step.
#[derive(Debug, Default)]
pub(super) struct Expect {
    pub(super) verdict: Option<Strength>,
    pub(super) reason: Option<TextMatch>,
    pub(super) payload: Option<Map>,
    pub(super) ran: Option<Vec<String>>,
    pub(super) ran_set: Option<Vec<String>>,
    pub(super) skipped: BTreeMap<String, SkipReason>,
    pub(super) failed: Option<BTreeMap<String, FailureKind>>,
    pub(super) context: Option<Vec<TextMatch>>,
    pub(super) notices: Option<Vec<TextMatch>>,
    pub(super) files: Vec<(String, FileMatch)>,
    pub(super) hooks: Option<Vec<String>>,
    pub(super) diagnostics: Option<Vec<Finding>>,
    pub(super) within: Option<Duration>,
    pub(super) exit: Option<u8>,
    pub(super) stdout: Option<Printed>,
    pub(super) stderr: Option<Printed>,
}

/// What a process must print.
#[derive(Debug)]
pub(super) enum Printed {
    /// This text.
    Text(TextMatch),
    /// One JSON object in which each of these fields has this value.
    Json(Map),
    /// One JSON object with these fields and no others.
    ExactJson(Map),
}

/// What a file must be like. Everything that is named must hold.
#[derive(Debug, Default)]
pub(super) struct FileMatch {
    pub(super) absent: bool,
    pub(super) text: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) lines: Option<usize>,
    pub(super) json: Option<Map>,
}

/// A finding that loading must make.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) contains: String,
}

/// The expectations that need a decision.
const OF_A_DECISION: [&str; 3] = ["verdict", "reason", "payload"];

/// The expectations that need a load.
const OF_A_LOAD: [&str; 2] = ["hooks", "diagnostics"];

impl Expect {
    /// Reads the expectations of a step.
    ///
    /// # Errors
    /// One that there is not, or that means nothing for this step.
    pub(super) fn read(value: &Value, act: &Act) -> Result<Self> {
        let mut fields = Fields::of("`expect`", value)?;
        let decides = matches!(act, Act::Publish(_) | Act::PublishAll(_) | Act::Host(..));
        let senseless = |names: &[&'static str], sense: bool| {
            names.iter().find(|name| !sense && value.get(name).is_some()).copied()
        };
        let nonsense = senseless(&OF_A_DECISION, decides)
            .or(senseless(&OF_A_LOAD, matches!(act, Act::Load)))
            .or(senseless(&["payload"], !matches!(act, Act::PublishAll(_))));
        if let Some(name) = nonsense {
            bail!("`{name}` cannot be judged in a step {}", act.describe());
        }
        let is_host = matches!(act, Act::Host(..));
        let expect = Self {
            exit: if is_host { fields.optional("exit")? } else { None },
            stdout: of_a_host(&mut fields, "stdout", is_host)?,
            stderr: of_a_host(&mut fields, "stderr", is_host)?,
            verdict: fields.optional::<String>("verdict")?.map(|word| strength(&word)).transpose()?,
            reason: fields.value("reason").map(|value| TextMatch::read("`reason`", value)).transpose()?,
            payload: fields.optional("payload")?,
            ran: fields.optional("ran")?,
            ran_set: fields.optional("ran_set")?,
            skipped: fields.optional("skipped")?.unwrap_or_default(),
            failed: fields.optional("failed")?,
            context: texts(&mut fields, "context")?,
            notices: texts(&mut fields, "notices")?,
            files: files(&mut fields)?,
            hooks: fields.optional("hooks")?,
            diagnostics: diagnostics(&mut fields)?,
            within: fields.optional("within_ms")?.map(Duration::from_millis),
        };
        fields.finish()?;
        Ok(expect)
    }
}

/// What a process must print; only a step of a host has one.
fn of_a_host(fields: &mut Fields<'_>, name: &'static str, is_host: bool) -> Result<Option<Printed>> {
    let Some(value) = is_host.then(|| fields.value(name)).flatten() else { return Ok(None) };
    let only =
        |key: &str| value.as_object().filter(|object| object.len() == 1)?.get(key)?.as_object().cloned();
    Ok(Some(match (only("json"), only("exact_json")) {
        (Some(object), _) => Printed::Json(object),
        (None, Some(object)) => Printed::ExactJson(object),
        (None, None) => Printed::Text(TextMatch::read(&format!("`{name}`"), value)?),
    }))
}

fn strength(word: &str) -> Result<Strength> {
    match Strength::named(word) {
        Some(strength) => Ok(strength),
        None => {
            bail!("`verdict` is one of {}, not {word:?}", Strength::ALL.map(Strength::as_str).join(", "))
        }
    }
}

fn texts(fields: &mut Fields<'_>, name: &'static str) -> Result<Option<Vec<TextMatch>>> {
    let Some(list) = fields.optional::<Vec<Value>>(name)? else { return Ok(None) };
    list.iter().map(|value| TextMatch::read(&format!("in `{name}`"), value)).collect::<Result<_>>().map(Some)
}

fn files(fields: &mut Fields<'_>) -> Result<Vec<(String, FileMatch)>> {
    let all: Map = fields.optional("files")?.unwrap_or_default();
    all.iter().map(|(path, value)| Ok((inside(path)?.to_owned(), FileMatch::read(path, value)?))).collect()
}

fn diagnostics(fields: &mut Fields<'_>) -> Result<Option<Vec<Finding>>> {
    let Some(list) = fields.optional::<Vec<Value>>("diagnostics")? else { return Ok(None) };
    list.iter().map(Finding::read).collect::<Result<_>>().map(Some)
}

impl FileMatch {
    fn read(path: &str, value: &Value) -> Result<Self> {
        let mut fields = Fields::of(format!("the expectation on {path}"), value)?;
        let read = Self {
            absent: fields.optional("absent")?.unwrap_or_default(),
            text: fields.optional("text")?,
            contains: fields.optional("contains")?,
            lines: fields.optional("lines")?,
            json: fields.optional("json")?,
        };
        let place = fields.place().to_owned();
        fields.finish()?;
        let present =
            read.text.is_some() || read.contains.is_some() || read.lines.is_some() || read.json.is_some();
        if read.absent == present {
            bail!("{place} is `absent: true`, or some of text, contains, lines, json");
        }
        Ok(read)
    }
}

impl Finding {
    fn read(value: &Value) -> Result<Self> {
        let mut fields = Fields::of("a diagnostic", value)?;
        let (severity, contains) = (fields.required("severity")?, fields.required("contains")?);
        fields.finish()?;
        Ok(Self { severity, contains })
    }
}
