//! The calls of an event, each with what it does: read once for all hooks and kept with the event.

use std::borrow::Cow;
use std::sync::Arc;

use lineside_commands::{Access, Analysis, Shell, Surroundings, Unclear, Unknown, analyse};
use lineside_core::AnyEvent;
use lineside_core::event::Reading;
use lineside_core::json::Value;
use lineside_core::tool_class;

use crate::account::Account;
use crate::links::LocalLinks;

/// What tools call the folder that a command starts in.
const FOLDERS: [&str; 6] =
    ["workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path"];

/// What tools call the paths that they are about: one, or a list of them.
const PATHS: [&str; 9] = [
    "path", "file_path", "filePath", "absolute_path", "target_file", "notebook_path", "paths", "file_paths",
    "include",
];

/// What the lines of a patch begin with that name files, and what becomes of these.
const PATCHED: [(&str, Access); 4] = [
    ("*** Add File: ", Access::Write),
    ("*** Update File: ", Access::Write),
    ("*** Move to: ", Access::Write),
    ("*** Delete File: ", Access::Delete),
];

/// What the calls of one version of an event do.
pub(crate) struct Calls {
    account: Arc<Account>,
    project: Box<str>,
    pub(crate) calls: Vec<Call>,
}

/// What one call does.
pub(crate) struct Call {
    /// The command, where it is one.
    pub(crate) command: Option<Box<str>>,
    pub(crate) analysis: Analysis,
}

impl Reading for Calls {
    fn weight(&self) -> usize {
        self.calls.iter().map(Call::weight).sum()
    }
}

impl Call {
    fn weight(&self) -> usize {
        let Analysis { programs, elsewhere, touches, unclear, .. } = &self.analysis;
        let words = programs.iter().chain(elsewhere).map(|program| {
            let texts: usize = program.texts.iter().chain(&program.way).map(String::len).sum();
            size_of_val(program)
                + texts
                + program.args.iter().map(|word| 64 + word.pattern().len()).sum::<usize>()
        });
        let paths = touches.iter().map(|touch| size_of_val(touch) + touch.path.len());
        let reasons = unclear.iter().map(|unclear| unclear.reason.len());
        self.command.as_ref().map_or(0, |command| command.len())
            + words.sum::<usize>()
            + paths.sum::<usize>()
            + reasons.sum::<usize>()
    }
}

impl Calls {
    /// Gives the calls of an event to `ask`, read for this account.
    pub(crate) fn of<T>(event: &AnyEvent, account: &Arc<Account>, ask: impl FnOnce(&Self) -> T) -> T {
        let kept = event.reading(|event| Self::read(event, account));
        match kept.filter(|kept| Arc::ptr_eq(&kept.account, account) || kept.account == *account) {
            Some(kept) => ask(kept),
            None => ask(&Self::read(event, account)),
        }
    }

    fn read(event: &AnyEvent, account: &Arc<Account>) -> Self {
        let source = &event.envelope().source;
        let known = [source.project_root.as_deref(), source.cwd.as_deref()].into_iter().flatten();
        let project = known.into_iter().find(|path| path.starts_with('/')).unwrap_or(&account.home);
        let mut calls = Self { account: Arc::clone(account), project: project.into(), calls: Vec::new() };
        let cwd = source.cwd.as_deref().filter(|cwd| cwd.starts_with('/')).unwrap_or(project);
        let payload = event.payload();
        if let Some(tool) = payload.text("tool_name") {
            let mut paths = Vec::new();
            payload.each_path(&mut |path| paths.push(path.to_owned()));
            calls.call(tool, payload.text("tool_class"), payload.value("tool_input"), &paths, cwd);
        } else if let Some(Value::Array(batch)) = event.payload_json().get("tool_calls") {
            for call in batch {
                let text = |key| call.get(key).and_then(Value::as_str);
                if let Some(tool) = text("tool_name") {
                    calls.call(tool, text("tool_class"), call.get("tool_input"), &[], cwd);
                }
            }
        }
        calls
    }

    /// What is known of the surroundings of a command that starts in a folder.
    fn analysed(&self, cwd: &str, analyse: impl FnOnce(&Surroundings<'_>) -> Analysis) -> Analysis {
        let wrappers: Vec<&str> = self.account.wrappers.iter().map(String::as_str).collect();
        let links = LocalLinks::new();
        let mut analysis =
            analyse(&Surroundings { cwd, wrappers: &wrappers, links: Some(&links), ..self.known() });
        if let Some(path) = links.silent() {
            let reason = format!("its file system does not say where the links of `{path}` lead");
            analysis.unclear.push(Unclear { what: Unknown::Program, reason });
        }
        analysis
    }

    /// What is known of the surroundings of all calls.
    pub(crate) fn known(&self) -> Surroundings<'_> {
        Surroundings::new(&self.project, &self.account.home)
    }

    fn call(&mut self, tool: &str, stated: Option<&str>, input: Option<&Value>, paths: &[String], cwd: &str) {
        let class = stated.or_else(|| tool_class::of_call(tool, input));
        let call = match class {
            Some("shell") => self.shell(tool, input, cwd),
            Some("read") => self.touching(Access::Read, tool, input, paths, cwd),
            Some("write" | "edit") => self.touching(Access::Write, tool, input, paths, cwd),
            _ => return,
        };
        self.calls.extend(call);
    }

    fn shell(&self, tool: &str, input: Option<&Value>, cwd: &str) -> Option<Call> {
        let input = input?;
        let Some(command) = command(input) else {
            let reason = format!("the input of `{tool}` has no command that is known here");
            let unclear = vec![Unclear { what: Unknown::Program, reason }];
            return Some(Call { command: None, analysis: Analysis { unclear, ..Analysis::default() } });
        };
        let within = FOLDERS.iter().find_map(|key| input.get(key)?.as_str()).unwrap_or_default();
        let cwd = if within.starts_with('/') { within.to_owned() } else { format!("{cwd}/{within}") };
        let shell = shell_of(tool, input);
        let analysis = self.analysed(&cwd, |state| analyse(&command, shell, state));
        Some(Call { command: Some(command.into()), analysis })
    }

    fn touching(
        &self,
        access: Access,
        tool: &str,
        input: Option<&Value>,
        paths: &[String],
        cwd: &str,
    ) -> Option<Call> {
        let analysis = self.analysed(cwd, |state| {
            let mut analysis = Analysis::default();
            if let Some(input) = input {
                for named in PATHS.iter().filter_map(|key| input.get(key)) {
                    let all = named.as_array().map_or(std::slice::from_ref(named), Vec::as_slice);
                    for path in all.iter().filter_map(Value::as_str).filter(|path| !path.is_empty()) {
                        analysis.touch(access, path, state);
                    }
                }
                if tool == "apply_patch" {
                    patch(input, |access, path| analysis.touch(access, path, state));
                }
            }
            for path in paths {
                analysis.touch(access, path, state);
            }
            analysis.touches.dedup();
            analysis
        });
        (!analysis.touches.is_empty()).then_some(Call { command: None, analysis })
    }
}

/// The command of a call as one text. Words are quoted, for no shell splits them once more.
fn command(input: &Value) -> Option<Cow<'_, str>> {
    let words = ["command", "cmd", "script"].into_iter().find_map(|key| input.get(key)?.as_array());
    match words {
        Some(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
            Some(words?.into_iter().map(quoted).collect::<Vec<_>>().join(" ").into())
        }
        None => tool_class::command(input),
    }
}

/// The shell that a tool runs its commands in: the one that its input names, else by the name of the tool.
fn shell_of(tool: &str, input: &Value) -> Shell {
    if let Some(named) = input.get("shell").and_then(Value::as_str) {
        return Shell::named(named.rsplit(['/', '\\']).next().unwrap_or(named));
    }
    if tool.to_ascii_lowercase().contains("powershell") { Shell::Other } else { Shell::Bash }
}

/// The files that a patch names.
fn patch(input: &Value, mut visit: impl FnMut(Access, &str)) {
    let text = match input {
        Value::String(text) => Some(text.as_str()),
        input => ["command", "input", "patch"].into_iter().find_map(|key| input.get(key)?.as_str()),
    };
    for line in text.into_iter().flat_map(str::lines) {
        for (begin, access) in PATCHED {
            if let Some(path) = line.strip_prefix(begin).map(str::trim) {
                visit(access, path);
            }
        }
    }
}
