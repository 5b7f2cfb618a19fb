//! The calls of an event, each with what it does: read once for all hooks and kept with the event.

use std::borrow::Cow;
use std::sync::Arc;

use lineside_commands::{Access, Analysis, CommandProgram, Shell, Surroundings, Unclear, Unknown, analyse};
use lineside_core::AnyEvent;
use lineside_core::event::Reading;
use lineside_core::json::Value;
use lineside_core::tool_class;

use crate::account::Account;
use crate::links::LocalLinks;

/// What tools call the folder that a command starts in.
const FOLDERS: [&str; 6] =
    ["workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path"];

/// Tools of which it is known by which of these names they take the folder. Another one may pay no heed to any of them, and start
/// in the folder of the session.
const TAKES: [(&str, &[&str]); 6] = [
    ("exec_command", &["workdir"]),
    ("local_shell", &["workdir", "working_directory"]),
    ("run_in_terminal", &["cwd"]),
    ("run_shell_command", &["directory", "dir_path"]),
    ("shell", &["workdir"]),
    ("unified_exec", &["workdir"]),
];

/// What the lines of a patch begin with that name files, and what becomes of these.
const PATCHED: [(&str, Access); 4] = [
    ("*** Add File: ", Access::Write),
    ("*** Update File: ", Access::Write),
    ("*** Move to: ", Access::Write),
    ("*** Delete File: ", Access::Delete),
];

/// What the members of a tool's input are called that may have a patch.
pub const PATCHES: [&str; 3] = ["command", "input", "patch"];

/// What applies a patch: a tool, and in a shell a program that the agent program itself may stand for.
const PATCHING: [&str; 2] = ["apply_patch", "applypatch"];

/// What stands in the name of a tool of no known class that takes files away from where they are.
const DELETING: [&str; 6] = ["delete", "remove", "unlink", "trash", "move", "rename"];

/// What stands in the name of one that makes files, or changes them, whatever it is given.
const MAKING: [&str; 6] = ["create", "write", "save", "touch", "mkdir", "append"];

/// What the members of a tool's input are called that have what is to stand in a file.
const WRITTEN: [&str; 9] =
    ["content", "contents", "text", "data", "edits", "patch", "new_string", "new_str", "newText"];

/// What the members of the input of a tool of no known class are called that have paths, beside those of all tools.
const ENDS: [&str; 12] = [
    "source", "destination", "old_path", "new_path", "oldPath", "newPath", "source_path", "destination_path",
    "sourcePath", "destinationPath", "target", "targetPath",
];

/// The same of one that gives a file another place or name, as which others call what is no path.
const MOVED: [&str; 2] = ["from", "to"];
const MOVING: [&str; 13] = [
    "move", "copy", "rename", "link", "duplicate", "clone", "transfer", "relocate", "backup", "upload",
    "download", "export", "sync",
];

/// The same for the path of a file that a tool reads or writes by its name.
const FILES: [&str; 6] = ["file", "filename", "file_name", "relative_path", "relativePath", "pathInProject"];

/// What the members of a tool's input are called that have the words of its program.
const WORDS: [&str; 2] = ["args", "arguments"];

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
        let Analysis { programs, elsewhere, touches, mentions, unclear, .. } = &self.analysis;
        let words = programs.iter().chain(elsewhere).map(|program| {
            let texts: usize = program.texts.iter().chain(&program.way).map(String::len).sum();
            size_of_val(program)
                + texts
                + program.args.iter().map(|word| 64 + word.pattern().len()).sum::<usize>()
        });
        let paths = touches.iter().chain(mentions).map(|touch| size_of_val(touch) + touch.path.len());
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
        match kept.filter(|kept| Arc::ptr_eq(&kept.account, account) || kept.account.reads_as(account)) {
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
        let writes = match class {
            None | Some("mcp") => access(tool, input) != Access::Read,
            class => matches!(class, Some("write" | "edit")),
        };
        let searched = input.filter(|_| !writes).and_then(|input| self.searched(tool, input, cwd));
        self.calls.extend(searched);
        let touching = match class {
            Some("shell") => {
                let calls = self.shell(tool, input, cwd);
                self.calls.extend(calls);
                return;
            }
            Some("task") => return,
            Some("read") => self.touching(Access::Read, tool, input, paths, cwd),
            Some("edit") if views(tool, input) => self.touching(Access::Read, tool, input, paths, cwd),
            Some("write" | "edit") => self.touching(Access::Write, tool, input, paths, cwd),
            // It is one of a server's, or one that is not known: what it does shows in its name and in what it is given.
            _ => {
                if input.is_some_and(|input| commands(input).next().is_some()) {
                    let calls = self.shell(tool, input, cwd);
                    self.calls.extend(calls);
                }
                let name = own_name(tool).to_ascii_lowercase();
                let is_moving =
                    || matches!(&*name, "cp" | "mv") || MOVING.iter().any(|word| name.contains(word));
                let moved = MOVED.iter().filter(|_| is_moving());
                let ends =
                    ENDS.iter().chain(moved).filter_map(|end| input?.get(end)?.as_str()).map(str::to_owned);
                let ends: Vec<String> = ends.collect();
                let mut paths = paths.to_vec();
                paths.extend(input.into_iter().flat_map(addresses));
                let named = FILES.iter().filter_map(|name| input?.get(name)?.as_str());
                paths.extend(named.map(str::to_owned));
                let members = input.and_then(Value::as_object).into_iter().flatten();
                for item in members.filter_map(|(_, member)| member.as_array()).flatten() {
                    let call = self.touching(access(tool, Some(item)), tool, Some(item), &[], cwd);
                    self.calls.extend(call);
                    if commands(item).next().is_some() {
                        let calls = self.shell(tool, Some(item), cwd);
                        self.calls.extend(calls);
                    }
                }
                // Which of them is written to is not known.
                let written = self.touching(Access::Write, tool, None, &ends, cwd);
                self.calls.extend(written);
                let paths = [&*paths, &*ends].concat();
                self.touching(access(tool, input), tool, input, &paths, cwd)
            }
        };
        self.calls.extend(touching);
    }

    /// A call of a shell, once for each command and each folder that the tool may take: which it is, is not known, and what is
    /// asked for has to be met by one of them alone.
    fn shell(&self, tool: &str, input: Option<&Value>, cwd: &str) -> Vec<Call> {
        let Some(input) = input else { return Vec::new() };
        let (shell, folders) = (shell_of(tool, input), folders(tool, input));
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        for text in commands(input) {
            if texts.contains(&text) {
                continue;
            }
            for folder in &folders {
                let cwd =
                    if folder.starts_with('/') { (*folder).to_owned() } else { format!("{cwd}/{folder}") };
                let analysis =
                    self.analysed(&cwd, |state| patched(analyse(&text, shell, state), &text, state));
                calls.push(Call { command: Some((*text).into()), analysis });
            }
            texts.push(text);
        }
        if calls.is_empty() {
            let reason = format!("the input of `{tool}` has no command that is known here");
            let unclear = vec![Unclear { what: Unknown::Program, reason }];
            calls.push(Call { command: None, analysis: Analysis { unclear, ..Analysis::default() } });
        }
        calls
    }

    /// The files that a search reads which asks for their names by a glob, as `rg` does.
    fn searched(&self, tool: &str, input: &Value, cwd: &str) -> Option<Call> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        // Names and counts show nothing of what is in a file; `Grep` lists names unless it is asked for more.
        let shows = text("output_mode").map_or(tool != "Grep", |mode| mode == "content");
        let glob = text("glob").filter(|_| shows);
        let glob = glob.or_else(|| text("include"))?;
        let words = ["rg", "x", "-g", glob, "--", text("path").unwrap_or(".")].map(quoted);
        let read = self.analysed(cwd, |state| analyse(&words.join(" "), Shell::Bash, state));
        let analysis = Analysis { touches: read.touches, ..Analysis::default() };
        (!analysis.touches.is_empty()).then_some(Call { command: None, analysis })
    }

    fn touching(
        &self,
        access: Access,
        tool: &str,
        input: Option<&Value>,
        paths: &[String],
        cwd: &str,
    ) -> Option<Call> {
        let named: Vec<&str> = input.into_iter().flat_map(tool_class::paths).collect();
        let analysis = self.analysed(cwd, |state| {
            let mut analysis = Analysis::default();
            for path in &named {
                analysis.touch(access, path, state);
            }
            if let Some(input) = input
                && PATCHING.contains(&own_name(tool))
            {
                patch(patches(input), |access, path| analysis.touch(access, path, state));
            }
            for path in paths {
                analysis.touch(access, path, state);
            }
            // What opens a path may see only what is before a NUL.
            let all = named.iter().copied().chain(paths.iter().map(String::as_str));
            for (before, _) in all.filter_map(|path| path.split_once('\0')) {
                analysis.touch(access, before, state);
            }
            analysis.touches.dedup();
            analysis
        });
        (!analysis.touches.is_empty()).then_some(Call { command: None, analysis })
    }
}

/// What a browser shows the text of an address behind.
const VIEW: &str = "view-source:";

/// The paths of addresses of files among the members of a tool's input, as `uri: file:///x`.
fn addresses(input: &Value) -> Vec<String> {
    let Value::Object(members) = input else { return Vec::new() };
    let texts = members.into_iter().flat_map(|(_, member)| match member {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.filter_map(file_of).collect()
}

/// The path of `file:///x%20y`, `file:/x` and `file://host/x`, as a browser reads it: without blanks around it and line ends
/// and tabs in it, a backslash as a slash, and what stands behind `view-source:`.
fn file_of(address: &str) -> Option<String> {
    let address = address.trim_matches(|letter| letter <= ' ');
    let read = address.chars().filter(|letter| !matches!(letter, '\t' | '\r' | '\n'));
    let begin: String = read.clone().take(VIEW.len()).collect::<String>().to_ascii_lowercase();
    if !begin.starts_with("file:") && begin != VIEW {
        return None;
    }
    let address: String = read.map(|letter| if letter == '\\' { '/' } else { letter }).collect();
    let address = address.get(VIEW.len()..).filter(|_| begin == VIEW).unwrap_or(&address).trim_start();
    let scheme = address.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let rest = &address[scheme.len()..];
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = behind.get(..2).filter(|_| *first == b'%').and_then(|two| str::from_utf8(two).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok().filter(|path| path.starts_with('/'))
}

/// Tools that show a file as well as edit it, as their command says.
const VIEWING: [&str; 2] = ["str_replace_based_edit_tool", "str_replace_editor"];

/// Whether one of them shows a file, and is given nothing that would stand in it.
fn views(tool: &str, input: Option<&Value>) -> bool {
    let is_given = |member: &&str| input.is_some_and(|input| input.get(member).is_some());
    VIEWING.contains(&tool)
        && input.and_then(|input| input.get("command")?.as_str()) == Some("view")
        && !WRITTEN.iter().chain(&["old_str", "insert_line", "insert_text"]).any(is_given)
}

/// What a tool of no known class does to the files that it is given.
fn access(tool: &str, input: Option<&Value>) -> Access {
    let name = tool.to_ascii_lowercase();
    let is_given = |member: &&str| input.is_some_and(|input| input.get(member).is_some());
    if DELETING.iter().any(|word| name.contains(word)) {
        Access::Delete
    } else if WRITTEN.iter().any(is_given) || MAKING.iter().any(|word| own_name(&name).contains(word)) {
        Access::Write
    } else {
        Access::Read
    }
}

/// The name of a tool without that of its server: `mcp__files__save`.
fn own_name(tool: &str) -> &str {
    tool.rsplit("__").next().unwrap_or(tool)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The commands of a call. Words are quoted, for no shell splits them once more. Of a text with a NUL a shell may see what is
/// before that, or all else.
fn commands(input: &Value) -> impl Iterator<Item = Cow<'_, str>> {
    let texts = tool_class::commands(input, move |words| {
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    });
    // `{"command": "rm", "args": ["x"]}`.
    let program = input.get("command").and_then(Value::as_str);
    let words = WORDS.iter().find_map(|name| input.get(name)?.as_array());
    let split = program.zip(words).map(|(program, words)| {
        let words = words.iter().filter_map(Value::as_str).map(quoted);
        Cow::Owned(std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" "))
    });
    texts.chain(split).flat_map(|text| match text.split_once('\0') {
        None => vec![text],
        Some((before, _)) => {
            let (before, others) = (before.to_owned().into(), text.replace('\0', "").into());
            vec![text, before, others]
        }
    })
}

/// The same with the files of a patch in the text, where one of its programs applies one.
fn patched(mut analysis: Analysis, text: &str, state: &Surroundings<'_>) -> Analysis {
    let is_patching =
        |program: &CommandProgram| program.known_name().is_some_and(|name| PATCHING.contains(&name));
    if analysis.programs.iter().any(is_patching) {
        // A line may begin behind the quote that the patch stands in.
        patch([text, &text.replace(['\'', '"'], "\n")], |access, path| analysis.touch(access, path, state));
    }
    analysis
}

/// The folders that a command may start in, as they are named: each that the input names, and that of the session unless the
/// tool is known to take one of these.
fn folders<'i>(tool: &str, input: &'i Value) -> Vec<&'i str> {
    let named = |keys: &[&str]| keys.iter().filter_map(|key| input.get(key)?.as_str()).collect::<Vec<_>>();
    let takes = TAKES.iter().find(|(known, _)| *known == tool).map_or(&[][..], |(_, keys)| *keys);
    let mut folders = named(&FOLDERS);
    if named(takes).is_empty() {
        folders.push("");
    }
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// The shell that a tool runs its commands in: the one that its input names, else by the name of the tool.
fn shell_of(tool: &str, input: &Value) -> Shell {
    if let Some(named) = input.get("shell").and_then(Value::as_str) {
        return Shell::named(named.rsplit(['/', '\\']).next().unwrap_or(named));
    }
    if tool.to_ascii_lowercase().contains("powershell") { Shell::Other } else { Shell::Bash }
}

/// The files that a patch names, which is one of these texts. Programs read its lines without the blanks around them.
fn patch<'a>(texts: impl IntoIterator<Item = &'a str>, mut visit: impl FnMut(Access, &str)) {
    for line in texts.into_iter().flat_map(str::lines).map(str::trim) {
        for (begin, access) in PATCHED {
            let head = line.get(..begin.len()).filter(|head| head.eq_ignore_ascii_case(begin));
            if let Some(path) = head.and_then(|head| line.get(head.len()..)) {
                visit(access, path.trim());
            }
        }
        // Of a unified diff, whose names may have a folder in front that is none.
        if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            let path = path.split('\t').next().unwrap_or_default();
            let below = path.split_once('/').map(|(_, below)| below);
            [Some(path), below].into_iter().flatten().for_each(|path| visit(Access::Write, path));
        }
    }
}

/// The texts in which a tool may be given a patch.
fn patches(input: &Value) -> impl Iterator<Item = &str> {
    let of_field = |key| input.get(key)?.as_str();
    input.as_str().into_iter().chain(PATCHES.into_iter().filter_map(of_field))
}
