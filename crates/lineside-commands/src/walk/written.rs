//! Files that the command itself writes, and what runs of them.

use super::run::chosen;
use super::{Walk, Written};
use crate::analysis::Access;
use crate::limits;
use crate::path;
use crate::reading::Reading;
use crate::state::Shell;
use crate::tables::{self, Deed, When};
use crate::value::{Origin, StandsFor, Value};

/// What runs of them.
const OWN_SCRIPT: &str = "a script that the command writes";

/// Links that lead to links, of those that the command makes.
const LINKS: usize = 8;

/// Programs that write and leave what a file holds as it is, and `sed`, of which more is known.
const KEEPS: &[&str] = &[
    "chmod", "chown", "chgrp", "chattr", "chcon", "setfacl", "setfattr", "xattr", "touch", "mkdir", "ln",
    "git", "sed", "gsed", "tee",
];

/// Programs that look at scripts or write them in another form, and run none.
const LOOKS: &[&str] = &[
    "flake8", "pylint", "pycodestyle", "pydocstyle", "pyflakes", "bandit", "pyright", "pyupgrade", "vulture",
    "radon", "autopep8", "yapf", "jshint", "luacheck", "codespell", "checkbashisms", "cloc", "tokei",
    "semgrep",
];

/// Programs that write texts anew, which may be scripts; one that changes a file that is there leaves most of it.
const WRITES_TEXTS: &[&str] = &[
    "sort", "gsort", "uniq", "iconv", "xxd", "sponge", "jq", "yq", "openssl", "gpg", "split", "csplit",
    "uudecode",
];

/// Programs that run what a file says, and the option that names it, or none where the first operand does.
const RUNS_FILES: &[(&[&str], &str)] = &[
    (&["vim", "vi", "nvim", "gvim", "rvim", "ex", "rview"], "-S"),
    (&["gdb", "lldb"], "-x"),
    (&["ssh", "scp", "sftp"], "-F"),
    (&["at", "batch"], "-f"),
    (&["expect"], ""),
    (&["emacs"], "-l"),
    (&["vim", "vi", "nvim"], "-u"),
    (&["tmux"], "-f"),
    (&["sqlite3", "sqlite"], "-init"),
];

/// Files by whose usual names a program knows what to run.
const OWN_FILES: &[(&str, &str)] = &[
    ("just", "justfile|Justfile|.justfile"),
    ("task|go-task", "Taskfile.yml|Taskfile.yaml|taskfile.yml|taskfile.yaml"),
    ("rake|rails", "Rakefile|rakefile|Rakefile.rb"),
    ("gradle|gradlew", "build.gradle|build.gradle.kts|settings.gradle|settings.gradle.kts"),
    ("mvn|mvnw", "pom.xml"),
    ("ant", "build.xml"),
    ("nox", "noxfile.py"),
    ("tox", "tox.ini"),
    ("invoke|inv", "tasks.py"),
    ("fab", "fabfile.py"),
    ("doit", "dodo.py"),
    ("gulp", "gulpfile.js|gulpfile.mjs|gulpfile.ts"),
    ("grunt", "Gruntfile.js"),
    ("mage", "magefile.go"),
];

/// Languages of scripts by the ends of their names.
const LANGUAGES: &[(&str, &str)] = &[
    ("py|pyw", "python"),
    ("js|mjs|cjs|jsx|ts|mts|cts|tsx", "node"),
    ("rb", "ruby"),
    ("php", "php"),
    ("pl", "perl"),
    ("sh|bash|zsh|bats", "shell"),
    ("lua|R|jl|exs|groovy|tcl", "other"),
];

impl Walk<'_> {
    /// Scripts that the command has written, among the words of a program that is not known or that runs scripts.
    pub(super) fn runs_given(&mut self, words: &[Value], reading: &Reading, index: usize) {
        if self.files.is_empty() || LOOKS.iter().any(|name| words[0].plain() == Some(name)) {
            return;
        }
        let mut deeds = reading.rows.iter().flat_map(|row| &row.deeds).map(|when| when.deed);
        let is_runner = deeds.clone().any(|deed| deed == Deed::Scripts);
        if !reading.rows.is_empty() && !is_runner {
            return;
        }
        // The script of an interpreter is entered as that; a path is a program by itself, where nothing runs it.
        let entered = reading.places.first().filter(|_| deeds.any(|deed| matches!(deed, Deed::Script(_))));
        let is_own = !reading.rows.is_empty() || self.way.len() == 1 && words[0].text.contains('/');
        for (at, word) in words.iter().enumerate().skip(usize::from(is_own)) {
            let text = word.text.split_once('=').map_or(word.text.as_str(), |(_, file)| file);
            let file = Value { text: text.into(), ..word.clone() };
            let Some(language) = language(text).filter(|_| entered.is_none_or(|entered| at != entered + 1))
            else {
                continue;
            };
            if self.way.len() > limits::LEVELS {
                self.cut("programs start each other too deeply");
            } else if let Some(content) = self.written_at(&file) {
                self.runs_file(&file);
                match language {
                    "shell" => self.script(&content, Shell::Bash, Vec::new(), OWN_SCRIPT),
                    language => self.code(&content, language, index),
                }
            }
        }
    }

    /// Files that a download writes hold what is not known.
    pub(super) fn fetched(&mut self, reading: &Reading, deeds: &[&When]) {
        for when in deeds {
            if let Deed::Touch(Access::Write, which) = when.deed {
                for value in chosen(reading, which) {
                    let (path, unclear) = self.absolute(&value);
                    if !unclear {
                        self.written(path, Value::unknown().from(Origin::FETCHED));
                    }
                }
            }
        }
    }

    /// A copy holds what its source does.
    pub(super) fn copied(&mut self, name: &str, reading: &Reading) {
        if name == "tee" {
            let content = self.input.clone().unwrap_or_else(Value::unknown);
            for value in &reading.operands {
                let (path, unclear) = self.absolute(value);
                match unclear {
                    false if reading.has("-a") => self.appended(&path, content.clone()),
                    false => self.written(path, content.clone()),
                    true => {}
                }
            }
            return;
        }
        let [source, target] = reading.operands.as_slice() else { return };
        let (to, unclear_to) = self.absolute(target);
        // `install <(echo …) x`.
        if let Some(StandsFor::Content(content)) = source.stands_for.as_deref().filter(|_| !unclear_to) {
            return self.written(to, content.clone());
        }
        let (from, unclear_from) = self.absolute(source);
        if unclear_from || unclear_to {
            return;
        }
        let is_input = matches!(&*from, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0");
        if let Some(input) = self.input.clone().filter(|_| is_input) {
            self.written(to, input);
            return;
        }
        // A program under another name is that program.
        let is_program = tables::find(from.rsplit('/').next().unwrap_or_default()).is_some();
        if is_program && from.contains("bin/") && !self.wrote(source) && self.files.len() < 256 {
            let (content, copy) = (Value::unknown(), Some(from));
            self.files.insert(to, Written { content, link: None, copy });
            return;
        }
        let origin = self.origin_of(&from);
        let content = self.written_at(source).unwrap_or_else(|| Value::unknown().from(origin));
        if origin != Origin::default() || self.wrote(source) || self.files.contains_key(&to) {
            self.written(to, content);
        }
    }

    /// Remembers what the command writes into a file.
    pub(crate) fn written(&mut self, path: String, content: Value) {
        if self.files.len() < 256 {
            self.files.insert(path, Written { content, link: None, copy: None });
        }
    }

    /// The same behind what it has written there before.
    pub(crate) fn appended(&mut self, path: &str, content: Value) {
        self.count_bytes(content.text.len());
        match self.files.get_mut(path).filter(|file| file.link.is_none()) {
            Some(file) => file.content.push(&content),
            None => self.written(path.to_owned(), content),
        }
    }

    pub(crate) fn linked(&mut self, name: &Value, target: &Value) {
        let (name, unclear) = self.absolute(name);
        let Some(target) = target.plain() else { return };
        if !unclear && self.files.len() < 256 {
            let folder = name.rsplit_once('/').map_or("/", |(folder, _)| folder);
            let target = path::normal(folder, target);
            self.files.insert(name, Written { content: Value::unknown(), link: Some(target), copy: None });
        }
    }

    /// A file that the command itself has written, and that is started by its path.
    pub(crate) fn written_at(&self, value: &Value) -> Option<Value> {
        if self.files.is_empty() {
            return None;
        }
        let (path, unclear) = self.absolute(value);
        self.file(&path).filter(|_| !unclear).map(|file| file.content.clone())
    }

    /// The file at a path, if the command itself has written it; by a link that it has made as well.
    pub(crate) fn file(&self, path: &str) -> Option<&Written> {
        let Some(mut file) = self.files.get(path) else {
            // In a folder that a link of the command leads to.
            return self
                .made(path, true)
                .iter()
                .find_map(|path| self.files.get(path))
                .filter(|file| file.link.is_none());
        };
        for _ in 0..LINKS {
            match &file.link {
                Some(target) => file = self.files.get(target)?,
                None => return Some(file),
            }
        }
        None
    }

    /// Whether the command itself has written a file.
    pub(crate) fn wrote(&self, value: &Value) -> bool {
        if self.files.is_empty() || value.stands_for.is_some() {
            return false;
        }
        let (path, unclear) = self.absolute(value);
        !unclear && self.file(&path).is_some()
    }

    /// Notes that a program writes a file, which holds what is not known from then on.
    pub(super) fn rewritten(&mut self, name: &str, access: Access, value: &Value) {
        let (path, unclear) = self.absolute(value);
        if access != Access::Write || unclear || KEEPS.contains(&name) {
            return;
        }
        if WRITES_TEXTS.contains(&name) || self.file(&path).is_some() {
            self.holds_unknown(value);
            // The first of the pieces.
            for end in ["aa", "00"].into_iter().filter(|_| name.ends_with("split")) {
                self.written(format!("{path}{end}"), Value::unknown());
            }
        }
    }

    /// Notes that a text is put into a file that the command has not written: what runs the file runs that text. One word is
    /// taken for no program.
    pub(super) fn inserted(&mut self, text: &str, value: &Value) {
        let (path, unclear) = self.absolute(value);
        if !unclear && value.stands_for.is_none() && text.trim().contains([' ', '\t', '\n', ';', '|', '&']) {
            let origin = self.origin_of(&path);
            self.written(path, Value::known(text).from(origin));
        }
    }

    /// Notes that a file holds what is not known.
    pub(crate) fn holds_unknown(&mut self, value: &Value) {
        let (path, unclear) = self.absolute(value);
        if !unclear && value.stands_for.is_none() {
            let origin = self.files.get(&path).map(|file| file.content.origin).unwrap_or_default();
            self.written(path, Value::unknown().from(origin));
        }
    }

    /// What a file of code or of a script holds, which a program is given by an option; none of one that is there already.
    pub(crate) fn script_at(&mut self, file: &Value, program: usize) -> Option<Value> {
        self.runs_file(file);
        let is_input = matches!(file.plain(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"));
        let is_own = file.stands_for.is_some() || self.wrote(file) || is_input;
        is_own.then(|| self.content(file, Some(program)))
    }

    /// A file that the command has written, where an interpreter finds it by a name without its suffix.
    pub(super) fn with_suffix(&self, file: &Value) -> Value {
        const SUFFIXES: [&str; 10] = [
            ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", "/__main__.py", ".rb", "/package.json", ".py",
        ];
        let named = |suffix: &str| Value { text: format!("{}{suffix}", file.text).into(), ..file.clone() };
        let is_there = self.files.is_empty() || file.stands_for.is_some() || self.wrote(file);
        let mut found = SUFFIXES.iter().map(|suffix| named(suffix)).filter(|_| !is_there);
        found.find(|file| self.wrote(file)).unwrap_or_else(|| file.clone())
    }

    /// The program that a path starts by another name: by a link, or by a copy that the command makes.
    pub(super) fn renamed_program(&self, value: &Value) -> Option<String> {
        const MANY: &[&str] = &["busybox", "toybox", "coreutils", "systemctl"];
        let (path, unclear) = self.absolute(value);
        if unclear || !path.contains('/') {
            return None;
        }
        let name = path.rsplit('/').next()?;
        let copied = self.files.get(&path).and_then(|file| file.copy.clone());
        let led = || self.made(&path, true).into_iter().next();
        let there = || self.state.links?.resolve(&path, true);
        let target = copied.or_else(led).or_else(there)?;
        let other = target.rsplit('/').next()?;
        let (own, real) = (tables::find(name), tables::find(other)?);
        let is_other =
            other != name && !MANY.contains(&other) && own.is_none_or(|own| !std::ptr::eq(own, real));
        is_other.then_some(target)
    }

    /// A script that the command has written, started by its path: by the interpreter that its first line names.
    pub(super) fn own_script(&mut self, words: &[Value], content: &Value) {
        let arguments = words[1..].to_vec();
        let first =
            content.literal().and_then(|text| Some(text.lines().next()?.strip_prefix("#!")?.to_owned()));
        let mut line: Vec<&str> = first.as_deref().unwrap_or_default().split_whitespace().collect();
        let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        // What stands behind `env` is one word.
        let behind = first.as_deref().and_then(|line| line.trim().split_once([' ', '\t']));
        if let Some((_, behind)) = behind.filter(|(_, behind)| behind.trim_start().starts_with('-')) {
            line.splice(1.., [behind.trim()]);
        } else if line.first().is_some_and(|word| base(word) == "env") {
            line.remove(0);
            line.retain(|word| !word.contains('='));
        }
        let interpreter = line.first().map(|word| base(word)).unwrap_or_default();
        if interpreter.is_empty() || Shell::named(&interpreter) != Shell::Other {
            // What a runner knows by the end of its name is no script of a shell.
            let is_other = interpreter.is_empty() && self.way.len() > 1 && language(&words[0].text).is_some();
            if !is_other || content.literal().is_none_or(|text| super::parses(&text, Shell::Bash).is_ok()) {
                self.script(content, Shell::Bash, arguments, OWN_SCRIPT);
            }
            return;
        }
        if self.way.len() > limits::LEVELS {
            self.cut("programs start each other too deeply");
            return;
        }
        let mut inner: Vec<Value> = line.into_iter().map(Value::known).collect();
        inner.push(words[0].clone());
        inner.extend(arguments);
        self.exec_program(inner, Vec::new());
    }

    /// A program of this name that the command has written into a folder of the `PATH` that it sets.
    pub(crate) fn found_on_path(&mut self, words: &[Value], index: usize) {
        if words[0].text.contains('/') || self.files.is_empty() {
            return;
        }
        let given = self.analysis.programs[index].environment.iter();
        let given = given.rev().find_map(|entry| entry.strip_prefix("PATH=")).map(Value::known);
        let Some(path) = given.or_else(|| self.scope.variables.get("PATH")?.first().cloned()) else { return };
        for folder in path.text.split(':') {
            let file =
                Value::known(format!("{}/{}", if folder.is_empty() { "." } else { folder }, words[0].text));
            if let Some(content) = self.written_at(&file) {
                self.runs_file(&file);
                self.way.push(words[0].text.to_string());
                let inner: Vec<Value> = std::iter::once(file).chain(words[1..].iter().cloned()).collect();
                self.own_script(&inner, &content);
                self.way.pop();
                return;
            }
        }
    }

    /// Files that a program is given to run what they say, in a language that is not read here.
    pub(crate) fn runs_own_files(&mut self, name: &str, reading: &Reading) {
        if !self.files.is_empty() {
            self.runs_usual_file(name);
        } else if reading.given.is_empty() {
            return;
        }
        let is_given = |file: &Value| file.stands_for.is_some() || file.plain() == Some("/dev/stdin");
        for (_, flag) in RUNS_FILES.iter().filter(|(names, _)| names.contains(&name)) {
            let given = if flag.is_empty() { reading.operands.first() } else { reading.values(flag).next() };
            if given.is_some_and(|file| self.wrote(file) || is_given(file)) {
                self.unclear_text(&format!(
                    "what `{name}` runs of a file that the command writes is not known"
                ));
            }
        }
    }

    /// `just`, `rake` and the like, where the command has written what they run.
    fn runs_usual_file(&mut self, name: &str) {
        let own = OWN_FILES.iter().find(|(names, _)| names.split('|').any(|one| one == name));
        let Some((_, files)) = own else { return };
        let Some(rules) = files.split('|').find_map(|file| self.written_at(&Value::known(file))) else {
            return;
        };
        match rules.literal().filter(|_| name == "just") {
            Some(text) => self.recipes(&Value::known(text.replace("\n ", "\n\t").replace("\t ", "\t"))),
            None => self
                .unclear_text(&format!("what `{name}` runs of a file that the command writes is not known")),
        }
    }

    /// Scripts of `package.json`, where the command writes that.
    pub(crate) fn package_scripts(&mut self) {
        if self.wrote(&Value::known("package.json")) {
            self.unclear_text("which scripts a `package.json` has that the command writes is not known");
        }
    }

    /// Hooks of git that the command writes.
    pub(crate) fn own_hooks(&mut self, reading: &Reading) {
        let template = reading.values("--template").next().map(|folder| self.absolute(folder).0);
        let is_hook = |path: &&String| {
            path.contains("/.git/hooks/")
                || path.contains("/.husky/")
                || template
                    .as_ref()
                    .is_some_and(|folder| path.contains("/hooks/") && path::is_within(path, folder))
        };
        let hooks: Vec<Value> =
            self.files.keys().filter(is_hook).map(|path| Value::known(path.as_str())).collect();
        for hook in hooks {
            if let Some(content) = self.written_at(&hook) {
                self.script(&content, Shell::Bash, Vec::new(), "a hook of git that the command writes");
            }
        }
    }
}

/// The language of a script, where the end of its name tells it.
fn language(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    LANGUAGES.iter().find(|(ends, _)| ends.split('|').any(|one| one == end)).map(|(_, language)| *language)
}
