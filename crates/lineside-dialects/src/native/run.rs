//! What a hook runs, from its entry: a command, a worker or a post.

use std::path::Path;

use lineside_core::exchange::Addresses;
use lineside_core::invocation::{Inherit, Program};
use lineside_core::secret::{Secret, Template};
use lineside_core::worker::WorkerStart;

use super::definition::{Room, Run, Target, Warm};
use super::findings::{LoadError, LoadWarning};
use super::places::{Place, Seat};
use super::values::{Values, shown};
use crate::dialect::Places;
use crate::web_address::is_web_address;
use crate::yaml::{Content, Node};

/// Says what of our environment the process of a hook sees.
pub(super) const ENVIRONMENT: &str = "environment";

/// Reads what is run; nothing, when it cannot be.
pub(super) fn read(values: &mut Values<'_, '_>, line: u32, place: &Place, places: &Places) -> Option<Run> {
    let mut named = ["command", "worker", "post"].into_iter().filter(|key| values.get(key).is_some());
    let (first, second) = (named.next(), named.next());
    if let Some(seat) = &place.seat {
        return attached(values, seat);
    }
    if let (Some(first), Some(second)) = (first, second) {
        let line = values.line(second).unwrap_or(line);
        values.error(line, &LoadError::TwoRuns(first, second));
        return None;
    }
    let room = room(values, place);
    match first {
        Some("command") => {
            let program = command(values, place)?;
            Some(Run::Command(program, room))
        }
        Some("worker") => Some(Run::Worker(worker(values, place)?, room)),
        Some(_) => {
            for key in ["dir", "env", ENVIRONMENT] {
                if let Some(line) = values.line(key) {
                    let why = "a post starts no process";
                    values.warning(line, &LoadWarning::NoEffect { key, why });
                }
            }
            Some(Run::Post(post(values, place, places)?))
        }
        None => {
            values.error(line, &LoadError::NothingToRun);
            None
        }
    }
}

/// What lives in a program that attaches runs there.
fn attached(values: &mut Values<'_, '_>, seat: &Seat) -> Option<Run> {
    for key in ["command", "worker", "post", "dir", "env", ENVIRONMENT] {
        if let Some(line) = values.line(key) {
            values.error(line, &LoadError::RunsAttached(key));
        }
    }
    values.sound.then(|| Run::Attached(seat.clone()))
}

fn room(values: &mut Values<'_, '_>, place: &Place) -> Room {
    let directory = values.text("dir", "a path", |text| !text.is_empty() && !text.contains('\0'));
    let is_variable = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    let variables = values.pairs("env", "a mapping from names of variables to texts", is_variable);
    Room {
        directory: directory.map(Into::into),
        inherit: inherit(values).unwrap_or_else(|| place.inherit.clone()),
        variables: variables
            .into_iter()
            .map(|(_, name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
    }
}

/// What is inherited of our environment, if it is said.
fn inherit(values: &mut Values<'_, '_>) -> Option<Inherit> {
    let (name, value) = values.get(ENVIRONMENT)?;
    inherited(name.line, value).map_err(|(line, error)| values.error(line, &error)).ok()
}

/// The value of a key `environment` on this line. The names of a list come to those of the minimum: without `PATH` no
/// program would be found.
pub(super) fn inherited(line: u32, value: &Node) -> Result<Inherit, (u32, LoadError)> {
    let wrong = |line, key: String, found, expected: &str| {
        Err((line, LoadError::Value { key, found: shown(found), expected: expected.to_owned() }))
    };
    match &value.content {
        Content::Text(text) if text == "inherit" => Ok(Inherit::All),
        Content::Text(text) if text == "minimal" => Ok(Inherit::minimal_and([])),
        Content::List(items) if !items.is_empty() => {
            let is_name = |name: &&str| !name.is_empty() && !name.contains(['=', '\0']);
            match items.iter().find(|item| item.text().filter(is_name).is_none()) {
                Some(item) => wrong(item.line, format!("{ENVIRONMENT}[]"), item, "the name of a variable"),
                None => Ok(Inherit::minimal_and(items.iter().filter_map(Node::text))),
            }
        }
        _ => wrong(line, ENVIRONMENT.to_owned(), value, "inherit, minimal or a list of names of variables"),
    }
}

fn command(values: &mut Values<'_, '_>, place: &Place) -> Option<Program> {
    const EXPECTED: &str = "a line for the shell or a list of program and arguments";
    let (_, value) = values.get("command")?;
    if let Content::Text(_) = value.content {
        let line =
            values.text("command", EXPECTED, |line| !line.trim().is_empty() && !line.contains('\0'))?;
        return Some(if cfg!(windows) {
            Program::argv(["cmd", "/C", line])
        } else {
            Program::shell("/bin/sh", line)
        });
    }
    let argv = values.texts("command", EXPECTED)?;
    Some(Program::argv(program(values, "command", &argv, place)?))
}

/// A program and its arguments. What the user has agreed to is one program, and not one of each project.
fn program(
    values: &mut Values<'_, '_>,
    key: &'static str,
    argv: &[(u32, &str)],
    place: &Place,
) -> Option<Vec<String>> {
    let (line, first) = *argv.first()?;
    let own_directory =
        values.get("dir").and_then(|(_, dir)| dir.text()).is_some_and(|dir| Path::new(dir).is_absolute());
    if first.is_empty() {
        let (found, expected) = ("\"\"".to_owned(), "the name of a program".to_owned());
        values.error(line, &LoadError::Value { key: format!("{key}[]"), found, expected });
        return None;
    }
    if first.starts_with(['~', '$']) {
        values.error(line, &LoadError::NotExpanded { key, program: first.to_owned() });
        return None;
    }
    if argv.len() == 1 && first.contains(' ') && !Path::new(first).exists() {
        let words = first.split_ascii_whitespace().collect::<Vec<_>>().join(", ");
        values.error(line, &LoadError::OneItem { key, program: first.to_owned(), words });
        return None;
    }
    let below = Program::argv([first]).below_working_directory().is_some();
    if place.is_above_projects() && below && !own_directory {
        values.error(line, &LoadError::ProgramOfProject { key, program: first.to_owned() });
        return None;
    }
    Some(argv.iter().map(|(_, text)| (*text).to_owned()).collect())
}

fn worker(values: &mut Values<'_, '_>, place: &Place) -> Option<Warm> {
    let line = values.line("worker").unwrap_or(1);
    let keys = values.mapping("worker", "a mapping with the key `program`")?;
    let mut within = values.inside(keys, "worker.");
    within.only(&["program", "start", "idle"]);
    if within.get("program").is_none() {
        within
            .error(line, &LoadError::MissingIn { key: "worker.program".to_owned(), of: "worker".to_owned() });
    }
    let argv = within.texts("program", "a list of program and arguments");
    let start = within.word("start", &[("use", WorkerStart::OnUse), ("ahead", WorkerStart::Ahead)]);
    let idle = within.millis_in("idle", 1000..=86_400_000);
    let sound = within.sound;
    values.sound &= sound;
    let program = program(values, "worker.program", &argv?, place)?;
    Some(Warm { program, start: start.unwrap_or_default(), idle })
}

fn post(values: &mut Values<'_, '_>, place: &Place, places: &Places) -> Option<Target> {
    let line = values.line("post").unwrap_or(1);
    let keys = values.mapping("post", "a mapping with the key `url`")?;
    let mut within = values.inside(keys, "post.");
    within.only(&["url", "headers", "secrets"]);
    if within.get("url").is_none() {
        within.error(line, &LoadError::MissingIn { key: "post.url".to_owned(), of: "post".to_owned() });
    }
    let url = within.text("url", "an absolute http or https URL", is_web_address);
    if let Some(line) = url.filter(|url| has_user(url)).and(within.line("url")) {
        within.error(line, &LoadError::UrlUser);
    }
    let secrets = match within.get("secrets") {
        Some((_, Node { content: Content::List(items), .. })) if items.is_empty() => Vec::new(),
        Some(_) => within.texts("secrets", "a list of names of variables").unwrap_or_default(),
        None => Vec::new(),
    };
    let headers = headers(&mut within, &secrets, places);
    let sound = within.sound;
    values.sound &= sound;
    // A person trusts the text of a project, and not what its names are resolved to.
    let addresses = if place.is_above_projects() { Addresses::Any } else { Addresses::AsWritten };
    Some(Target { url: url?.to_owned(), addresses, headers })
}

/// The headers, filled.
fn headers(values: &mut Values<'_, '_>, secrets: &[(u32, &str)], places: &Places) -> Vec<(String, Secret)> {
    let mut unset = Vec::new();
    for (line, name) in secrets {
        if places.variable(name).is_none_or(str::is_empty) {
            values.error(*line, &LoadError::Unset((*name).to_owned()));
            unset.push(*name);
        }
    }
    let listed: Vec<&str> = secrets.iter().map(|(_, name)| *name).collect();
    let mut used: Vec<String> = Vec::new();
    let mut headers = Vec::new();
    let written = values.pairs("headers", "a mapping from names of headers to texts", is_header);
    for (line, name, text) in written {
        let template = match Template::read(text, &listed) {
            Ok(template) => template,
            Err(error) => {
                values.error(line, &LoadError::Template { name: name.to_owned(), error });
                continue;
            }
        };
        used.extend(template.names().map(str::to_owned));
        // Told above.
        if template.names().any(|name| unset.contains(&name)) {
            continue;
        }
        match template.fill(|name| places.variable(name).map(str::to_owned)) {
            Ok(filled) => headers.push((name.to_owned(), filled)),
            Err(error) => values.error(line, &LoadError::Fill { name: name.to_owned(), error }),
        }
    }
    for (line, name) in secrets {
        if !used.iter().any(|other| other == name) {
            values.warning(*line, &LoadWarning::UnusedSecret((*name).to_owned()));
        }
    }
    headers
}

/// A token of HTTP.
fn is_header(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

/// Whether something stands before the host.
fn has_user(url: &str) -> bool {
    url.split_once("://")
        .is_some_and(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@'))
}

#[cfg(test)]
mod tests;
