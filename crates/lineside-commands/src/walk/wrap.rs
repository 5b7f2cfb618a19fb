//! Programs that start other programs: of their operands, of a text, of code.

use super::run::chosen;
use super::{Scope, Walk};
use crate::analysis::Trait;
use crate::reading::Reading;
use crate::state::Shell;
use crate::tables::{self, Deed, Which};
use crate::value::{Origin, UNKNOWN, Value};
use crate::{code, limits};

impl Walk<'_> {
    /// Starts what a program starts; answers whether what it prints is printed by that.
    pub(crate) fn starts_more(
        &mut self,
        name: &str,
        words: &[Value],
        reading: &Reading,
        deed: Deed,
        index: usize,
    ) -> bool {
        if self.way.len() > limits::LEVELS {
            self.cut("programs start each other too deeply");
            return false;
        }
        match deed {
            Deed::Wrap { skip, assigns, word } => self.wrapped(words, reading, skip, assigns, word),
            Deed::Known => {
                let at = reading.places.first().map(|place| 1 + place);
                self.by_name(at.and_then(|at| words.get(at..)).unwrap_or_default())
            }
            Deed::Verb(own) => self.verb(name, words, reading, own),
            Deed::Text(which) => {
                let values = chosen(reading, which);
                // Without a text a shell there reads the input.
                if values.is_empty() {
                    if self.is_elsewhere && self.input.is_some() {
                        self.exec_program(vec![Value::known("sh")], Vec::new());
                    }
                    return false;
                }
                let text = super::data::joined(&values);
                let shell = Shell::named(name);
                let shell = if shell == Shell::Other { Shell::Sh } else { shell };
                let arguments = match which {
                    Which::Value(_) => reading.operands.clone(),
                    _ => Vec::new(),
                };
                self.shell_text(&text, shell, &arguments, index);
                true
            }
            Deed::Variable(variable) => {
                let set = self.analysis.programs[index]
                    .environment
                    .iter()
                    .find_map(|entry| entry.strip_prefix(variable)?.strip_prefix('=').map(Value::known));
                let known = || self.scope.variables.get(variable)?.first().cloned();
                if let Some(text) = set.or_else(known).filter(runs_more) {
                    self.script(&text, Shell::Sh, Vec::new(), "what a variable names");
                }
                false
            }
            Deed::Code(flag, language) => {
                let values: Vec<Value> = reading.values(flag).cloned().collect();
                // `node -pe`: what the code comes to is printed.
                let prints = language == "node" && reading.has("-p");
                for value in values {
                    let value = if prints { printing(&value) } else { value };
                    self.code(&value, language, index);
                }
                false
            }
            Deed::Script(language) => self.script_of(name, reading, language, index),
            Deed::Input(language) => {
                let Some(input) = self.input.clone() else { return false };
                self.code(&input, language, index);
                false
            }
            Deed::Special(what) => self.special(what, words, reading, index),
            _ => false,
        }
    }

    /// The program of a wrapper's operands.
    fn wrapped(
        &mut self,
        words: &[Value],
        reading: &Reading,
        skip: usize,
        assigns: bool,
        word: Option<&str>,
    ) -> bool {
        let mut from = match word {
            None => skip,
            Some(word) => {
                let named = |value: &Value| value.plain() == Some(word);
                let Some(at) = reading.operands.iter().position(named) else { return false };
                at + 1
            }
        };
        let mut environment = Vec::new();
        let mut outer = Vec::new();
        while assigns && let Some(value) = reading.operands.get(from) {
            let Some((name, _)) = value.text.split_once('=').filter(|(name, _)| !name.contains('/')) else {
                break;
            };
            self.exported(name, value, &mut environment);
            let given = Value { text: value.text[name.len() + 1..].into(), ..value.clone() };
            outer.push((name, self.scope.variables.insert(name.to_owned(), vec![given])));
            from += 1;
        }
        let starts = self.wrapped_at(words, reading, from, environment);
        for (name, outer) in outer.into_iter().rev() {
            match outer {
                Some(outer) => drop(self.scope.variables.insert(name.to_owned(), outer)),
                None => drop(self.scope.variables.remove(name)),
            }
        }
        starts
    }

    fn wrapped_at(
        &mut self,
        words: &[Value],
        reading: &Reading,
        from: usize,
        environment: Vec<String>,
    ) -> bool {
        let Some(place) = reading.places.get(from) else { return false };
        // Words behind the operand belong to it, those that look like options of the wrapper included.
        let inner = words[1 + place..].to_vec();
        let inner = if inner[0].plain() == Some("--") { inner[1..].to_vec() } else { inner };
        let functions = std::mem::take(&mut self.scope.functions);
        self.exec_program(inner, environment);
        self.scope.functions = functions;
        true
    }

    /// A script that has the name of a program with a row is that program, where it is given words: `npm run prisma -- migrate`,
    /// `python manage.py flush`. By a path it is so where programs lie.
    pub(super) fn by_name(&mut self, words: &[Value]) -> bool {
        let [script, rest @ ..] = words else { return false };
        let is_among = |text: &&str| match text.rsplit_once('/') {
            Some((folder, name)) => folder.ends_with("bin") || matches!(name, "manage.py" | "artisan"),
            None => true,
        };
        let name = script.plain().filter(is_among).map(tables::program_name);
        let Some(name) = name.filter(|name| tables::find(name).is_some()) else { return false };
        let skipped = usize::from(rest.first().is_some_and(|word| word.plain() == Some("--")));
        let rest = &rest[skipped..];
        if rest.is_empty() {
            return false;
        }
        let mut inner = vec![Value { text: name.into(), ..script.clone() }];
        inner.extend_from_slice(rest);
        self.exec_program(inner, Vec::new());
        true
    }

    /// The program that a verb of a runner names: `pnpm prisma migrate`, `dotenv -- jest`.
    fn verb(&mut self, name: &str, words: &[Value], reading: &Reading, own: &str) -> bool {
        let verb = reading.subcommand.first();
        let is_own = |verb: &String| tables::find(&format!("{name} {verb}")).is_some();
        let is_program = |verb: &String| tables::find(tables::program_name(verb)).is_some();
        let is_left = |verb: &String| own.split(',').any(|one| one == verb) || !is_program(verb);
        if verb.is_some_and(|verb| is_own(verb) || !own.is_empty() && is_left(verb)) {
            return false;
        }
        let Some(place) = reading.verb.or(reading.places.first().copied()) else { return false };
        self.exec_program(words[1 + place..].to_vec(), Vec::new());
        true
    }

    /// Starts words that are a program even where a builtin has the name, as wrappers do.
    pub(crate) fn exec_program(&mut self, words: Vec<Value>, environment: Vec<String>) {
        match words.first().and_then(Value::plain) {
            None if words.is_empty() => {}
            None => self.exec(words, environment),
            Some("echo" | "printf" | "true" | "false" | "test" | "[" | "pwd") => {
                let name = words[0].text.clone();
                self.builtin(&name, &words, &environment);
            }
            // Words of the shell have no program.
            Some("cd" | "eval" | "source" | "." | "exec" | "command" | "builtin") => {
                self.exec(words, environment);
            }
            Some(_) => self.start(&words, environment),
        }
    }

    /// A text that a shell of its own runs.
    pub(crate) fn shell_text(&mut self, text: &Value, shell: Shell, arguments: &[Value], index: usize) {
        if text.origin.has(Origin::FETCHED) {
            self.does(Trait::RunsFetched);
        }
        if let Some(program) = self.analysis.programs.get_mut(index) {
            program.texts.push(crate::value::spelt(&text.text));
        }
        let outer =
            arguments.first().map(|name| self.scope.variables.insert("0".to_owned(), vec![name.clone()]));
        self.script(
            text,
            shell,
            arguments.get(1..).unwrap_or_default().to_vec(),
            "the text that a shell runs",
        );
        match outer {
            Some(Some(outer)) => self.scope.set("0", outer),
            Some(None) => drop(self.scope.variables.remove("0")),
            None => {}
        }
    }

    /// RunsFilter a text in a shell of its own: variables and functions of this one are not seen there.
    pub(crate) fn script(&mut self, text: &Value, shell: Shell, arguments: Vec<Value>, what: &str) {
        if text.origin.has(Origin::FETCHED) {
            self.does(Trait::RunsFetched);
        }
        if text.origin.has(Origin::DECODED) {
            self.does(Trait::RunsDecoded);
        }
        let outer = self.shell;
        self.shell = shell;
        let kept = self.scope.clone();
        let Scope { functions, exported, cases, .. } = &mut self.scope;
        cases.clear();
        functions.retain(|name, _| exported.contains(name));
        functions.extend(std::mem::take(&mut self.exported_functions));
        self.scope.positional = Some(arguments);
        let calls = std::mem::take(&mut self.calls);
        self.run_value(text, what);
        self.calls = calls;
        self.scope = kept;
        self.shell = outer;
    }

    /// A script of the first operand, or the input where there is none.
    fn script_of(&mut self, name: &str, reading: &Reading, language: &str, index: usize) -> bool {
        let shell = Shell::named(name);
        let is_shell = language == "shell";
        let from_input = reading.has("-s") && is_shell;
        let file = reading.operands.first().filter(|_| !from_input);
        let input = matches!(file.map(|file| file.plain()), None | Some(Some("-" | "/dev/stdin")));
        let content = if input {
            match self.input.clone() {
                Some(input) => input,
                // Without a text or a file it reads what a person types.
                None if is_shell && !self.is_elsewhere => {
                    if !reading.has("--version") && !reading.has("--help") {
                        self.unclear_text(&format!("what `{name}` reads and runs is not known"));
                        if self.away_shell {
                            self.does(Trait::RunsFetched);
                        }
                    }
                    return false;
                }
                None => return false,
            }
        } else {
            let Some(file) = file else { return false };
            let file = &self.with_suffix(file);
            self.runs_file(file);
            self.by_name(&reading.operands);
            let content = self.content(file, Some(index));
            // A script by its path is a program as any other, unless the command itself has made it.
            let is_own = file.stands_for.is_some() || self.wrote(file);
            if content.is_unclear() && !content.origin.has(Origin::FETCHED) && !is_own {
                return false;
            }
            content
        };
        let skip = usize::from(!input);
        let arguments = reading.operands.iter().skip(skip).cloned().collect();
        if is_shell {
            if let Some(program) = self.analysis.programs.get_mut(index) {
                program.texts.push(crate::value::spelt(&content.text));
            }
            self.script(&content, shell, arguments, "the text that a shell runs");
            return true;
        }
        self.code(&content, language, index);
        false
    }

    /// Code of another language: the literal calls in it.
    pub(crate) fn code(&mut self, value: &Value, language: &str, index: usize) {
        if value.origin.has(Origin::FETCHED) {
            self.does(Trait::RunsFetched);
        }
        if value.origin.has(Origin::DECODED) {
            self.does(Trait::RunsDecoded);
        }
        let text = crate::value::with_unknowns(&value.text);
        if value.is_unclear() {
            self.unclear_text("the code that an interpreter runs is not known");
        }
        if value.is_any() || value.is_many() {
            return;
        }
        if value.origin.has(Origin::DECODED) {
            self.unclear_text("the code that an interpreter runs was decoded");
        }
        self.parsed += text.len();
        if self.parsed > limits::PARSED {
            self.cut("the command is nested too deeply");
            return;
        }
        let outer = (self.scope.cwd.clone(), self.scope.before.clone());
        let input = self.input.clone();
        let here = outer.0.clone().unwrap_or_else(|| UNKNOWN.to_string());
        let calls = code::calls(&text, language, self.state.home, &here);
        let has = |call| calls.contains(&call);
        if has(code::Call::Evaluates) && has(code::Call::Decodes) {
            self.does(Trait::RunsDecoded);
        }
        if has(code::Call::Evaluates) && has(code::Call::Asks) {
            self.does(Trait::RunsFetched);
        }
        let asks = has(code::Call::Asks);
        let before = std::mem::take(&mut self.read);
        // Folders that the code may still be in.
        let mut left: Vec<Option<String>> = Vec::new();
        for call in calls {
            self.count_bytes(call.length());
            let touches = matches!(
                call,
                code::Call::Read(_) | code::Call::Write(_) | code::Call::Tree(_) | code::Call::Delete { .. }
            );
            for folder in left.iter().filter(|_| touches) {
                let Some(more) = self.left.followed.checked_sub(1) else {
                    self.cut("code touches too many paths in folders that it may be in");
                    break;
                };
                self.left.followed = more;
                let now = std::mem::replace(&mut self.scope.cwd, folder.clone());
                self.called(call.clone(), index);
                self.scope.cwd = now;
            }
            match call {
                code::Call::MayFolder(path) => {
                    if left.len() < limits::LEVELS {
                        left.push(self.scope.cwd.clone());
                    }
                    self.called(code::Call::Folder(path), index);
                }
                code::Call::Input(text) => self.input = text.map(Value::known).or_else(|| input.clone()),
                code::Call::Evaluated(text) => self.code(&Value::known(text), language, index),
                // A file that is there already is a program as any other.
                code::Call::Required(path) => {
                    let file = self.with_suffix(&Value::known(path));
                    if let Some(code) = self.script_at(&file, index) {
                        self.code(&code, language, index);
                    }
                }
                call => self.called(call, index),
            }
        }
        (self.scope.cwd, self.scope.before) = outer;
        if asks && self.read.has(Origin::SECRET) {
            self.does(Trait::SendsSecret);
        }
        self.read = self.read.with(before);
        if let Some(program) = self.analysis.programs.get_mut(index) {
            program.texts.push(crate::value::spelt(&text));
        }
    }

    fn called(&mut self, call: code::Call, index: usize) {
        use crate::analysis::Access;
        match call {
            code::Call::Shell { text, listed } => {
                let value = Value::known(text);
                if listed {
                    self.exec_program(vec![Value::known("sh"), Value::known("-c"), value], Vec::new());
                } else {
                    self.shell_text(&value, Shell::Sh, &[], index);
                }
            }
            code::Call::Program(words) => {
                self.exec_program(words.into_iter().map(Value::known).collect(), Vec::new());
            }
            code::Call::Read(path) => {
                self.reads_file(&Value::known(path), index);
            }
            code::Call::Write(path) => {
                let file = Value::known(path);
                self.touch(Access::Write, &file, false, Some(index));
                self.holds_unknown(&file);
            }
            code::Call::Folder(path) => self.change_folder("cd", &[Value::known(path)]),
            code::Call::Tree(path) => self.touch(Access::Write, &Value::known(path), true, Some(index)),
            code::Call::Delete { path, whole } => {
                if whole && path.starts_with(UNKNOWN) {
                    self.does(Trait::DeletesUnclear);
                }
                self.touch(Access::Delete, &Value::known(path), whole, Some(index));
            }
            code::Call::Statement(text) => {
                if crate::sql::destroys(&text) {
                    self.does(Trait::DestroysData);
                }
            }
            code::Call::Destroys => self.does(Trait::DestroysData),
            code::Call::Environment => {
                self.does(Trait::ShowsEnvironment);
                self.read = self.read.with(Origin::SECRET);
            }
            code::Call::Sends => self.does(Trait::SendsSecret),
            code::Call::Asks
            | code::Call::Decodes
            | code::Call::Evaluates
            | code::Call::Input(_)
            | code::Call::Evaluated(_)
            | code::Call::MayFolder(_)
            | code::Call::Required(_) => {}
            code::Call::Unknown => self.unclear_text("code runs a text that is not known"),
        }
    }
}

/// Code of node that prints what this code comes to.
pub(super) fn printing(code: &Value) -> Value {
    Value { text: format!("console.log({})", code.text).into(), ..code.clone() }
}

/// Programs that are usual as a setting.
const USUAL: [&str; 15] = [
    "", ":", "true", "false", "cat", "less", "more", "ssh", "rsh", "vim", "vi", "nvim", "nano", "code",
    "emacs",
];

/// Whether a setting starts more than what is usual in its place.
pub(crate) fn runs_more(text: &Value) -> bool {
    let first = text.text.trim_start().split(' ').next().unwrap_or_default();
    !USUAL.contains(&first.rsplit('/').next().unwrap_or_default())
}
