//! What git runs by its options, its settings and its environment, and which files it shows and overwrites.

use super::Walk;
use crate::analysis::{Access, Flag, Trait};
use crate::path;
use crate::reading::Reading;
use crate::state::Shell;
use crate::value::{UNKNOWN, Value, spelt};

/// Settings, by the last part of their names, whose values git runs.
const RUNS: &[&str] = &[
    "pager", "editor", "sshcommand", "fsmonitor", "askpass", "external", "textconv", "helper", "program",
    "cmd", "command", "driver", "clean", "smudge", "proxycommand", "receivepack", "uploadpack",
];

/// How many settings an environment may hold.
const SETTINGS: usize = 64;

impl Walk<'_> {
    /// `git -c alias.x=!…`, `-c core.pager=…`, `GIT_CONFIG_COUNT`, `git config alias.x …`.
    pub(crate) fn git(&mut self, reading: &Reading, index: usize) {
        let subcommand = reading.subcommand.first().map(String::as_str).unwrap_or_default();
        let mut aliases = self.git_aliases.iter();
        if let Some((_, text)) = aliases.find(|(name, _)| name.eq_ignore_ascii_case(subcommand)) {
            let text = text.clone();
            self.script(&text, Shell::Sh, Vec::new(), "what an alias of git runs");
        }
        if subcommand == "init" && !reading.has("--bare") {
            let folder = reading.operands.first().map_or(".", |folder| &folder.text);
            self.touch(Access::Write, &Value::known(format!("{folder}/.git")), false, Some(index));
        }
        // What a stash of another folder puts away is changed there; that of the project is the agent's own.
        let looks = ["list", "show", "drop", "clear", "create", "store"];
        let asked = reading.operands.first().and_then(Value::plain);
        let asked = reading.subcommand.get(1).map(String::as_str).or(asked);
        if subcommand == "stash"
            && asked.is_none_or(|asked| !looks.contains(&asked))
            && self.scope.cwd.as_ref().is_some_and(|cwd| !path::is_within(cwd, self.state.project))
        {
            self.touch(Access::Write, &Value::known("."), false, Some(index));
        }
        if self.is_of_temporary(reading) {
            let flag = Flag { spellings: vec!["--in-temporary-folder".into()].into(), value: None };
            self.analysis.programs[index].flags.push(flag);
        }
        if subcommand == "config" && asks_for_settings(reading) {
            let flag = Flag { spellings: vec!["--get".into()].into(), value: None };
            self.analysis.programs[index].flags.push(flag);
        }
        self.own_hooks(reading);
        self.own_subcommand(subcommand, reading, index);
        // A transport that is a command: `ext::sh -c …`.
        for operand in reading.operands.clone() {
            // `zz::address` starts `git-remote-zz`.
            if let Some((helper, _)) = operand.text.split_once("::") {
                self.found_on_path(&[Value::known(format!("git-remote-{helper}"))], index);
            }
            if let Some(command) = operand.text.strip_prefix("ext::") {
                let text = command.replace("% ", "\\ ").replace("%%", "%");
                self.script(
                    &Value { text: text.into(), ..operand.clone() },
                    Shell::Sh,
                    Vec::new(),
                    "a transport of git",
                );
            }
        }
        let given = self.git_settings(reading, index);
        let of_files = self.settings_of_files(&given, index);
        for setting in given.into_iter().chain(of_files) {
            let Some((key, text)) = setting.text.split_once('=') else {
                if setting.is_unclear() {
                    self.unclear_text("which setting git is given is not known");
                }
                continue;
            };
            self.flag_of_setting(key, text, index);
            let text = Value { text: text.into(), ..setting.clone() };
            self.runs_setting(&normal(key), &text, subcommand);
        }
        if subcommand == "config" {
            self.configures(reading, index);
        }
    }

    /// Whether it is for sure told to work in a folder for temporary files: `git -C /tmp/clone`.
    fn is_of_temporary(&self, reading: &Reading) -> bool {
        let mut given = reading.values("-C");
        let here = self.scope.cwd.as_deref().filter(|cwd| {
            self.state.temporary.iter().any(|folder| path::is_within(cwd, folder))
                && !path::is_within(cwd, self.state.project)
        });
        let here = here.map(Value::known);
        let folder = match (given.next(), given.next(), &here) {
            (Some(folder), None, _) if folder.text.starts_with('/') => folder,
            (None, None, Some(here)) => here,
            _ => return false,
        };
        let named = ["-c", "--config-env", "--git-dir", "--work-tree"].iter().any(|flag| reading.has(flag));
        let set = &self.analysis.environment;
        if named
            || set.len() > 255
            || set.iter().any(|set| set.starts_with("GIT_"))
            || !self.git_settings.is_empty()
        {
            return false;
        }
        let (path, unclear) = self.absolute(folder);
        let led = self.state.links.and_then(|links| links.resolve(&path, true));
        let is_temporary = |path: &String| {
            let is_below = |folder: &&str| path::is_within(path, folder) && path != folder;
            let project = self.state.project;
            self.state.temporary.iter().any(is_below)
                && !path::is_within(path, project)
                && !path::is_within(project, path)
        };
        !unclear && self.made(&path, true).iter().chain(&led).chain([&path]).all(is_temporary)
    }

    fn runs_setting(&mut self, key: &str, value: &Value, subcommand: &str) {
        let text = match key.strip_prefix("alias.") {
            Some(name) if subcommand.eq_ignore_ascii_case(name) => of_alias(value),
            Some(_) => return,
            None => {
                let last = key.rsplit('.').next().unwrap_or_default();
                let is_usual = matches!(&*value.text, "" | "cat" | "true" | "false");
                if !(RUNS.contains(&last) || key.starts_with("pager.")) || is_usual {
                    return;
                }
                Value { text: value.text.trim_start_matches('!').into(), ..value.clone() }
            }
        };
        self.script(&text, Shell::Sh, Vec::new(), "what a setting of git runs");
    }

    /// Lists a setting as `-c` has it, with its name as git compares it, whichever way it is given.
    fn flag_of_setting(&mut self, key: &str, text: &str, index: usize) {
        let setting = Value::known(format!("{}={text}", normal(key)));
        let flag = Flag { spellings: vec!["-c".into()].into(), value: Some(setting.argument()) };
        if let Some(program) =
            self.analysis.programs.get_mut(index).filter(|program| !program.flags.contains(&flag))
        {
            program.flags.push(flag);
        }
    }

    /// The settings of one call, each as `name=value`.
    fn git_settings(&self, reading: &Reading, index: usize) -> Vec<Value> {
        let mut all: Vec<Value> = self.git_settings.iter().chain(reading.values("-c")).cloned().collect();
        for given in reading.values("--config-env") {
            let Some((key, name)) = given.text.rsplit_once('=') else { continue };
            let value = self.of_environment(name, index).unwrap_or_else(Value::unknown);
            all.push(Value { text: format!("{key}={}", value.text).into(), ..value });
        }
        let count = self.of_environment("GIT_CONFIG_COUNT", index);
        let count = count.map_or(Some(0), |count| count.plain()?.trim().parse().ok());
        for number in 0..count.unwrap_or(SETTINGS).min(SETTINGS) {
            let of = |what: &str| self.of_environment(&format!("GIT_CONFIG_{what}_{number}"), index);
            let Some(key) = of("KEY") else { continue };
            let value = of("VALUE").unwrap_or_else(Value::unknown);
            all.push(Value { text: format!("{}={}", key.text, value.text).into(), ..value });
        }
        if let Some(given) = self.of_environment("GIT_CONFIG_PARAMETERS", index) {
            // `'name=value'` and `'name'='value'`, with blanks between them.
            let parts =
                given.text.split("' '").map(|part| part.trim().trim_matches('\'').replace("'='", "="));
            all.extend(parts.map(|text| Value { text: text.into(), ..given.clone() }));
        }
        all
    }

    /// A variable as a program sees it.
    pub(super) fn of_environment(&self, name: &str, index: usize) -> Option<Value> {
        let given = self.analysis.programs.get(index)?.environment.iter().rev();
        let mut given = given.filter_map(|entry| entry.split_once('=')).filter(|(known, _)| *known == name);
        // The value as it is known stands in the scope.
        let known = self.scope.variables.get(name).and_then(|values| values.first()).cloned();
        known.or_else(|| given.next().map(|(_, value)| Value::known(value)))
    }

    /// `git config alias.x …`, `git config -f FILE name value`.
    fn configures(&mut self, reading: &Reading, index: usize) {
        let operands = match reading.operands.as_slice() {
            [first, rest @ ..] if matches!(first.plain(), Some("set" | "get" | "unset")) => rest,
            all => all,
        };
        if let [.., name, text] = operands {
            if let Some(alias) =
                name.plain().map(normal).as_deref().and_then(|name| name.strip_prefix("alias."))
            {
                self.git_aliases.insert(alias.to_owned(), of_alias(text));
            }
            // It holds for what follows.
            else if self.git_settings.len() < SETTINGS {
                let setting = format!("{}={}", name.text, text.text);
                self.git_settings.push(Value { text: setting.into(), ..text.clone() });
            }
            if let Some(program) = self.analysis.programs.get_mut(index)
                && let Some(name) = name.plain().map(normal)
                && !program.operands.iter().any(|operand| operand.text() == Some(&name))
            {
                program.operands.push(crate::Argument::Text(name));
            }
        }
        let changes = [
            "--unset", "--unset-all", "--add", "--replace-all", "-e", "--remove-section", "--rename-section",
        ];
        let writes = operands.len() > 1 || changes.iter().any(|flag| reading.has(flag));
        for file in reading.values("-f").cloned().collect::<Vec<_>>() {
            if writes {
                self.touch(Access::Write, &file, false, Some(index));
            } else {
                self.reads_file(&file, index);
            }
        }
    }

    /// `git show HEAD:.env`, `git diff -- .env`: what of the files of commits is shown. Behind a commit a path is one of the
    /// project.
    pub(super) fn history(&mut self, words: &[Value], reading: &Reading, index: usize) {
        let told = ["--stat", "--name-only", "--name-status", "--no-patch", "-s", "--quiet"];
        let lists = ["log", "whatchanged", "diff-tree", "diff-index", "diff-files"];
        let lists = reading.subcommand.first().is_some_and(|name| lists.contains(&name.as_str()));
        let patches = ["-p", "-L"].iter().any(|flag| reading.has(flag));
        if told.iter().any(|flag| reading.has(flag)) || lists && !patches {
            return;
        }
        let dashes = words.iter().position(|word| word.plain() == Some("--")).unwrap_or(words.len());
        let behind = words.get(dashes + 1..).unwrap_or_default();
        let named = reading.operands.iter().filter(|operand| !behind.contains(operand));
        let is_left = |file: &&Value| file.text.starts_with(":!") || file.text.starts_with(":^");
        let mut files: Vec<Value> = behind.iter().filter(|file| !is_left(file)).cloned().collect();
        let ranges = reading.values("-L").filter_map(|range| range.text.rsplit_once(':'));
        files.extend(ranges.map(|(_, file)| Value::known(file)));
        // `git cat-file --batch` reads names.
        let input = self.input.as_ref().filter(|_| reading.has("--batch")).and_then(Value::literal);
        let input = input.map(|text| text.split_whitespace().map(Value::known).collect::<Vec<_>>());
        for operand in named.chain(input.iter().flatten()) {
            let text = spelt(&operand.text);
            match text.split_once(':') {
                Some((_, path)) if path.starts_with("./") => files.push(Value::known(path)),
                // `:/text` is a commit, and `:0:path` a file of the index as `:path`.
                Some(("", path)) if path.starts_with(['/', '!', '^', '(']) => {}
                Some((commit, path)) if !path.is_empty() => {
                    let path =
                        path.split_once(':').filter(|_| commit.is_empty()).map_or(path, |(_, path)| path);
                    files.push(Value::known(format!("{}/{path}", self.state.project)));
                }
                None if is_path(&text) || text.starts_with('.') && !text.starts_with("..") => {
                    files.push(operand.clone());
                }
                _ => {}
            }
        }
        for file in files {
            self.reads_file(&file, index);
        }
    }

    /// `git checkout` of files: behind `--`, behind a commit, or by what only a path looks like.
    pub(super) fn checkout(&mut self, words: &[Value], reading: &Reading, index: usize) {
        if ["-b", "-B", "--orphan", "-p", "--help", "-t", "-d"].iter().any(|flag| reading.has(flag)) {
            return;
        }
        let dashes = words.iter().position(|word| word.plain() == Some("--"));
        let restores = reading.subcommand.last().is_some_and(|sub| sub == "restore");
        let files: Vec<Value> = match (dashes, reading.operands.as_slice()) {
            (_, all) if restores => all.to_vec(),
            (Some(at), _) => words[at + 1..].to_vec(),
            (None, [one]) if is_path(&spelt(&one.text)) => vec![one.clone()],
            (None, [first, rest @ ..]) if !rest.is_empty() => {
                if is_path(&spelt(&first.text)) {
                    reading.operands.clone()
                } else {
                    rest.to_vec()
                }
            }
            _ => Vec::new(),
        };
        let from_file = reading.has("--pathspec-from-file");
        // In a conflict one side of it is taken, which git has. All else that is named comes from the index.
        let takes_side = ["--ours", "--theirs"].iter().any(|side| reading.has(side))
            && files.iter().all(|file| is_file(&spelt(&file.text)));
        if (!files.is_empty() || from_file) && !takes_side {
            self.does(Trait::OverwritesFiles);
        }
        for file in files {
            self.touch(Access::Write, &file, false, Some(index));
        }
    }
}

/// The name of a setting as git compares it: in small letters, but for what stands between the first dot and the last.
fn normal(key: &str) -> String {
    let key = spelt(key);
    match (key.find('.'), key.rfind('.')) {
        (Some(first), Some(last)) => {
            let (section, last_part) = (key[..first].to_ascii_lowercase(), key[last..].to_ascii_lowercase());
            format!("{section}{}{last_part}", &key[first..last])
        }
        _ => key.to_ascii_lowercase(),
    }
}

/// What an alias of git runs: a command of the shell behind `!`, words of git otherwise.
fn of_alias(text: &Value) -> Value {
    let spelt = match text.text.strip_prefix('!') {
        Some(text) => text.into(),
        None => format!("git {}", text.text).into(),
    };
    Value { text: spelt, ..text.clone() }
}

/// Whether a word names one file, as far as its name shows: `x.c`, `Makefile`.
fn is_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_plain = !word.contains(['*', '?', '[', UNKNOWN]) && !word.starts_with(':');
    let is_long = |(stem, end): (&str, &str)| !stem.is_empty() && !end.is_empty();
    is_plain && (name.rsplit_once('.').is_some_and(is_long) || name.starts_with(|c: char| c.is_uppercase()))
}

/// Whether a word looks like a path and not like a branch: `.`, `./x`, `x/`, `*.c`, `x.c`.
fn is_path(word: &str) -> bool {
    if matches!(word, "." | "..")
        || word.starts_with("./")
        || word.starts_with("../")
        || word.starts_with(":/")
        || word.ends_with('/')
        || word.contains('*')
        || word.starts_with(":(")
    {
        return true;
    }
    let name = word.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.chars().any(|c| c.is_ascii_alphabetic())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && !(stem.starts_with('v') && stem[1..].starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// `git config NAME`, `git config get NAME`, `git config list`.
fn asks_for_settings(reading: &Reading) -> bool {
    const CHANGES: [&str; 7] =
        ["--unset", "--unset-all", "--add", "--replace-all", "--remove-section", "--rename-section", "-e"];
    let changes = || CHANGES.iter().any(|flag| reading.has(flag));
    match &reading.operands[..] {
        [first, ..] if matches!(first.plain(), Some("get" | "list")) => true,
        [one] => !one.is_unclear() && !changes(),
        _ => false,
    }
}
