//! An imported hook behind the trait: its event to what is run, what came of that to its answer (HO-53 to HO-57).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::exchange::Post;
use lineside_core::invocation::{Ending, Environment, Inherit, Invocation, Leftovers, Limits, Program};
use lineside_core::json::Value;
use lineside_core::{Amendment, Answer, AnyEvent, Failure, Layer, Notice, Strength, Verdict};

use super::entry::{Entry, Run};
use super::format::{Format, Variables};
use super::heard::Heard;
use super::references::expand;
use crate::dialect::Places;
use crate::handler::{Call, HandedOn, Handler, Returned, Start};
use crate::hosts::table::Row;
use crate::near_keys::AnswerKeys;

/// How much of each output is read, in bytes.
const OUTPUT: usize = 10 << 20;

/// What the hooks of a format share.
pub(super) struct Imports {
    format: &'static dyn Format,
    /// Variables of the runtime by which other hosts mark themselves.
    foreign: Vec<OsString>,
    environment: std::collections::BTreeMap<String, String>,
    work_dir: PathBuf,
}

/// A hook at one of its points.
pub(super) struct ImportedHook {
    imports: Arc<Imports>,
    entry: Arc<Entry>,
    row: &'static Row,
}

impl Imports {
    pub(super) fn new(format: &'static dyn Format, places: &Places) -> Self {
        let prefixes = format.profile().foreign_variables;
        let is_foreign = |name: &&String| {
            name.starts_with("QWEN_") || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        Self {
            format,
            foreign: places.environment.keys().filter(is_foreign).map(OsString::from).collect(),
            environment: places.environment.clone(),
            work_dir: places.work_dir().to_path_buf(),
        }
    }

    pub(super) fn handler(self: &Arc<Self>, entry: Arc<Entry>, row: &'static Row) -> ImportedHook {
        ImportedHook { imports: Arc::clone(self), entry, row }
    }
}

impl ImportedHook {
    fn environment(&self, own: Vec<(&'static str, String)>) -> Environment {
        let handler = &self.entry.handler;
        let own = own.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let of_entry = handler.env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Environment {
            inherit: Inherit::All,
            remove: self.imports.foreign.clone(),
            set: own.chain(of_entry).collect(),
        }
    }

    fn program(&self, variables: &Variables) -> Program {
        let expanded =
            |text: &str, is_line| self.imports.format.expanded(text, is_line, variables).into_owned();
        match &self.entry.handler.run {
            Run::Shell { shell, line } => {
                let argv = shell.iter().cloned().chain([expanded(line, true)]);
                Program::argv(argv)
            }
            Run::Program(argv) => Program::argv(argv.iter().map(|argument| expanded(argument, false))),
            Run::Http { .. } => Program::argv(Vec::<String>::new()),
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            timeout: self.entry.handler.timeout,
            ending: Ending::Terminate { grace: Duration::from_secs(1) },
            leak_grace: Duration::from_millis(250),
            leftovers: Leftovers::Leave,
            stdout_bytes: OUTPUT,
            stderr_bytes: OUTPUT,
            ..Limits::default()
        }
    }
}

impl Handler for ImportedHook {
    fn prepare(&self, event: &AnyEvent) -> Result<Call, Failure> {
        let document = self.imports.format.document(&self.entry, self.row, event);
        if let Run::Http { url, headers, allowed, addresses } = &self.entry.handler.run {
            let value = |text: &str| {
                expand(text, |name| {
                    let is_allowed = allowed.iter().any(|allowed| allowed == name);
                    Some(
                        is_allowed
                            .then(|| self.imports.environment.get(name).cloned())
                            .flatten()
                            .unwrap_or_default(),
                    )
                })
            };
            return Ok(Call::Post(Post {
                url: url.clone(),
                addresses: *addresses,
                headers: headers.iter().map(|(name, text)| (name.clone(), value(text))).collect(),
                body: document,
                timeout: self.entry.handler.timeout,
                body_bytes: OUTPUT,
            }));
        }
        let mut variables = self.imports.format.variables(event);
        if self.entry.layer == Layer::Project {
            let names = self.imports.format.variables_of_project();
            let of_project = standing_for(names, &self.imports.work_dir);
            variables.retain(|(name, _)| of_project.iter().all(|(known, _)| known != name));
            variables.extend(of_project);
        }
        Ok(Call::Command(Invocation {
            program: self.program(&variables),
            stdin: document,
            environment: self.environment(variables),
            files: Vec::new(),
            working_directory: Some(self.entry.handler.working_directory(event, &self.imports.work_dir)),
            limits: self.limits(),
        }))
    }

    fn read(&self, event: &AnyEvent, returned: &Returned) -> Result<Answer, Failure> {
        let heard = Heard::of(returned);
        let read = |heard: &Heard| self.imports.format.read(&self.entry, self.row, event, heard);
        let mut answer = match heard.read_by_first_keys() {
            None => read(&heard)?,
            Some(first) => stricter(read(&first), read(&heard))?,
        };
        if let (Some(limit), Some(_)) = (self.entry.handler.loop_limit, &answer.keep_working)
            && !self.entry.follow_ups.one_more(event.envelope().source.session.as_str(), limit)
        {
            // CU-12
            (answer.verdict, answer.keep_working) = (Verdict::Continue, None);
            let name = &self.entry.name;
            let notice = format!("hook `{name}` has kept the agent working {limit} times; it may stop now");
            answer.notices.push(Notice::warning(notice));
        }
        if !answer.amendment.is_empty() {
            answer.own = Some(Box::new(Value::String(self.entry.name.to_string())));
        }
        Ok(answer)
    }

    fn answer_keys(&self) -> AnswerKeys {
        let names = self.imports.format.profile().answer_keys;
        let mut refusing = ["decision", "permissionDecision", "permission"].into_iter();
        let decides = refusing.find(|key| names.contains(key)).unwrap_or_default();
        AnswerKeys { names, within: "hookSpecificOutput", decides, ..AnswerKeys::default() }
    }

    /// What a failure amounts to was found when it was read.
    fn refuse(&self, _event: &AnyEvent, failure: &Failure) -> Option<Answer> {
        failure.taken_as.as_deref().cloned()
    }

    fn shares_variables(&self) -> bool {
        self.imports.format.profile().shares_variables
    }

    fn assignments_variable(&self, _event: &AnyEvent) -> Option<&'static str> {
        self.imports.format.assignments_variable(&self.entry)
    }

    fn handed_on(&self, _event: &AnyEvent, returned: &Returned, assignments: &str) -> HandedOn {
        self.imports.format.handed_on(&self.entry, returned, assignments)
    }

    fn start(&self, work_dir: &Path) -> Option<Start> {
        let handler = &self.entry.handler;
        if let Run::Http { url, .. } = &handler.run {
            return Some(Start::Post(url.clone()));
        }
        // Of what is in no project, the project is that of an event.
        let variables = match self.entry.layer {
            Layer::Project => {
                let format = self.imports.format;
                let names = [format.variables_of_project(), format.variables_of_folder()].concat();
                standing_for(&names, work_dir)
            }
            _ if self.has_references() => return None,
            _ => Vec::new(),
        };
        let working_directory =
            handler.cwd.as_ref().map_or_else(|| work_dir.to_path_buf(), |cwd| work_dir.join(cwd));
        Some(Start::Program {
            program: self.program(&variables),
            environment: self.environment(variables),
            working_directory,
        })
    }
}

impl ImportedHook {
    /// Whether what is run is known with an event alone.
    fn has_references(&self) -> bool {
        match &self.entry.handler.run {
            Run::Shell { line, .. } => {
                line.contains("_DIR") || line.contains("_ROOT") || line.contains("_CWD")
            }
            Run::Program(argv) => argv.first().is_some_and(|program| program.contains('$')),
            Run::Http { .. } => true,
        }
    }
}

/// The variables that stand for the project with this root.
fn standing_for(names: &[&'static str], root: &Path) -> Vec<(&'static str, String)> {
    let root = root.to_string_lossy();
    names.iter().map(|name| (*name, root.clone().into_owned())).collect()
}

/// Of an answer with a key that stands there twice: what is refused by either reading is refused, and what is given by
/// one alone is not.
fn stricter(first: Result<Answer, Failure>, last: Result<Answer, Failure>) -> Result<Answer, Failure> {
    if first == last {
        return last;
    }
    let strength = |read: &Result<Answer, Failure>| match read {
        Ok(answer) => answer.verdict.strength(),
        Err(failure) => {
            failure.taken_as.as_ref().map_or(Strength::Continue, |taken| taken.verdict.strength())
        }
    };
    let stronger = if strength(&first) > strength(&last) { first } else { last };
    let bare =
        |verdict: Verdict| if verdict.strength() == Strength::Allow { Verdict::Continue } else { verdict };
    stronger.map(|answer| Answer {
        verdict: bare(answer.verdict),
        amendment: Amendment::default(),
        remarks: vec!["its answer has a duplicate key, and the stricter value applies".into()],
        ..answer
    })
}

#[cfg(test)]
mod tests;
