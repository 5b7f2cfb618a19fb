//! Texts that tell a program what to do: rules of make, files with settings of git, the configuration of curl, patches, and
//! commands of clients of databases.

use super::Walk;
use crate::analysis::Access;
use crate::reading::Reading;
use crate::state::Shell;
use crate::value::{Origin, UNKNOWN, Value};

impl Walk<'_> {
    /// `$(shell …)`, `${shell …}` and `NAME != …`, which run before any recipe.
    pub(super) fn shell_of_rules(&mut self, text: &str) {
        const WHAT: &str = "what `make` runs to read its rules";
        for (open, close) in [("$(shell ", ')'), ("${shell ", '}')] {
            for (at, _) in text.match_indices(open) {
                let inner = &text[at + open.len()..];
                let mut depth = 0_usize;
                let end = inner.find(|sign| {
                    let is_end = sign == close && depth == 0;
                    match sign {
                        '(' | '{' => depth += 1,
                        ')' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    is_end
                });
                let command = inner[..end.unwrap_or(inner.len())].replace("$$", "$");
                self.script(&Value::known(command), Shell::Sh, Vec::new(), WHAT);
            }
        }
        // `$(file > F,text)`, `$(file < F)`.
        for (at, _) in text.match_indices("(file ") {
            let behind = text[at + 6..].trim_start();
            let file = behind.trim_start_matches(['<', '>', ' ']);
            let file = Value::known(file.split([',', ')']).next().unwrap_or_default().trim());
            let access = if behind.starts_with('>') { Access::Write } else { Access::Read };
            self.touch(access, &file, false, None);
        }
        let set =
            text.lines().filter(|line| !line.starts_with('\t')).filter_map(|line| line.split_once("!="));
        for command in set.map(|(_, command)| command.replace("$$", "$")).collect::<Vec<_>>() {
            self.script(&Value::known(command.trim()), Shell::Sh, Vec::new(), WHAT);
        }
    }

    /// `sftp` and the like: what they put there, and `!command`.
    pub(super) fn transfers(&mut self, reading: &Reading, index: usize) {
        let told = reading.values("-e").chain(reading.values("-c")).chain(&self.input);
        for text in told.filter_map(Value::literal).collect::<Vec<_>>() {
            for line in text.split(['\n', ';']).map(str::trim) {
                if let Some(command) = line.strip_prefix('!') {
                    self.script(&Value::known(command), Shell::Sh, Vec::new(), "what a client of files runs");
                }
                let mut words = line.split_whitespace();
                if matches!(words.next(), Some("put" | "mput" | "reput" | "send")) {
                    let files = words.filter(|word| !word.starts_with('-')).map(Value::known);
                    for file in files.collect::<Vec<_>>() {
                        self.gives(&file, index);
                    }
                }
            }
        }
    }

    /// A file that is read and given to another machine.
    pub(super) fn gives(&mut self, file: &Value, index: usize) {
        if self.reads_file(file, index).has(Origin::SECRET) {
            self.does(crate::Trait::SendsSecret);
        }
    }

    /// `apt -o DPkg::Pre-Invoke::='command'`, `rpm --eval '%(command)'`.
    pub(super) fn invoked(&mut self, reading: &Reading) {
        const WHAT: &str = "what a package manager runs";
        for option in reading.values("-o").filter_map(Value::literal).collect::<Vec<_>>() {
            if let Some((_, text)) = option.split_once('=').filter(|(key, _)| key.contains("-Invoke")) {
                self.script(&Value::known(text), Shell::Sh, Vec::new(), WHAT);
            }
        }
        let macros = ["--eval", "--define"].into_iter().flat_map(|flag| reading.values(flag));
        for text in macros.filter_map(Value::literal).collect::<Vec<_>>() {
            for (at, _) in text.match_indices("%(") {
                let end = crate::scan::closing(&text, at + 2, ')').unwrap_or(text.len());
                self.script(&Value::known(&text[at + 2..end]), Shell::Sh, Vec::new(), WHAT);
            }
        }
    }

    /// `make CC='…' x.o`, and files of `MAKEFILES`.
    pub(super) fn of_built_in_rules(&mut self, reading: &Reading, index: usize) {
        const NAMES: [&str; 18] = [
            "CC", "CXX", "CPP", "AS", "LD", "AR", "FC", "RM", "LEX", "YACC", "SHELL", "MAKE", "CO", "GET",
            "COMPILE.c", "COMPILE.cc", "LINK.o", "LINK.c",
        ];
        for name in NAMES {
            let words = reading.operands.iter().filter_map(|word| word.text.split_once('='));
            let given = words.filter(|(known, _)| known.trim_end_matches([':', '?', '+']) == name);
            let texts: Vec<Value> = given.map(|(_, text)| Value::known(text)).collect();
            for text in texts.into_iter().chain(self.of_environment(name, index)) {
                let first = text.text.split_whitespace().next().unwrap_or_default();
                let own = crate::tables::find(first.rsplit('/').next().unwrap_or_default());
                let compiler = crate::tables::find("gcc");
                let is_usual = Shell::named(first.rsplit('/').next().unwrap_or_default()) != Shell::Other
                    || own.is_none_or(|own| compiler.is_some_and(|row| std::ptr::eq(own, row)));
                if !is_usual || text.text.contains([';', '&', '|', '$', '`']) {
                    self.script(&text, Shell::Sh, Vec::new(), "a rule of `make`");
                }
            }
        }
        let files = self.of_environment("MAKEFILES", index).unwrap_or_default();
        for file in files.text.split_whitespace() {
            if let Some(rules) = self.written_at(&Value::known(file)) {
                self.recipes(&rules);
            }
        }
    }

    /// Settings of git from files that the command itself writes, each as `name=value`.
    pub(super) fn settings_of_files(&mut self, given: &[Value], index: usize) -> Vec<Value> {
        let included = given.iter().filter_map(|setting| {
            let (key, path) = setting.text.split_once('=')?;
            let key = key.to_ascii_lowercase();
            let is_one = key == "include.path" || key.starts_with("includeif.") && key.ends_with(".path");
            // Seen from `.git`.
            let path = path.strip_prefix("../").unwrap_or(path);
            is_one.then(|| Value { text: path.into(), ..setting.clone() })
        });
        let mut files: Vec<Value> = included.collect();
        let named = ["GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
        files.extend(named.into_iter().filter_map(|name| self.of_environment(name, index)));
        let usual = ["/.gitconfig", "/.git/config", "/git/config", "/.git/config.worktree"];
        let own = self.files.keys().filter(|path| usual.iter().any(|end| path.ends_with(end)));
        files.extend(own.map(|path| Value::known(path.as_str())));
        let mut all = Vec::new();
        for file in files {
            match self.written_at(&file).map(|content| content.literal()) {
                Some(Some(text)) => all.extend(settings(&text).into_iter().map(Value::known)),
                Some(None) => all.push(Value::unknown()),
                None => {}
            }
        }
        all
    }

    /// `git zz`, where the command has written a `git-zz`.
    pub(super) fn own_subcommand(&mut self, subcommand: &str, reading: &Reading, index: usize) {
        if subcommand.is_empty() || self.files.is_empty() {
            return;
        }
        let name = format!("git-{subcommand}");
        let mut words = vec![Value::known(name.as_str())];
        words.extend(reading.operands.iter().cloned());
        self.found_on_path(&words, index);
        let folders =
            reading.values("--exec-path").cloned().chain(self.of_environment("GIT_EXEC_PATH", index));
        for folder in folders.collect::<Vec<_>>() {
            words[0] = Value::known(format!("{}/{name}", folder.text));
            if let Some(content) = self.written_at(&words[0]) {
                self.own_script(&words, &content);
            }
        }
    }

    /// `curl -K FILE`, and `-o` below `--output-dir`.
    pub(super) fn curl_config(&mut self, reading: &Reading, index: usize) {
        if let Some(folder) = reading.values("--output-dir").next() {
            for file in reading.values("-o") {
                let file = Value::known(format!("{}/{}", folder.text, file.text));
                self.touch(Access::Write, &file, false, Some(index));
            }
        }
        for file in reading.values("-K").cloned().collect::<Vec<_>>() {
            let is_input = matches!(file.plain(), Some("-" | "/dev/stdin"));
            let own = if is_input { self.input.clone() } else { self.written_at(&file) };
            let Some(content) = own else {
                self.reads_file(&file, index);
                continue;
            };
            let Some(text) = content.literal() else {
                self.unclear_text("the configuration of `curl` is not known");
                continue;
            };
            for line in text.lines().map(str::trim) {
                let (key, value) = line.split_once(['=', ':', ' ']).unwrap_or((line, ""));
                let value = value.trim_matches(['=', ':', ' ', '"']);
                let file = Value::known(value);
                match key.trim().trim_start_matches('-') {
                    "output" | "o" | "dump-header" | "D" | "cookie-jar" | "c" | "trace" | "stderr"
                    | "trace-ascii" => {
                        self.touch(Access::Write, &file, false, Some(index));
                        let (path, unclear) = self.absolute(&file);
                        if !unclear {
                            self.written(path, Value::unknown().from(Origin::FETCHED));
                        }
                    }
                    "output-dir" => self.touch(Access::Write, &file, true, Some(index)),
                    "remote-name" | "O" | "remote-name-all" => {
                        self.touch(Access::Write, &Value::known(format!("./{UNKNOWN}")), false, Some(index));
                    }
                    "upload-file" | "T" => {
                        self.reads_file(&file, index);
                    }
                    _ => {}
                }
            }
        }
    }

    /// `git apply`: the files that a patch names which comes with the command; of any other, files of the folder at hand.
    pub(super) fn patched(&mut self, reading: &Reading, index: usize) {
        let given = reading.operands.iter().filter(|file| file.plain() != Some("-"));
        let mut texts: Vec<Option<Value>> = given.map(|file| self.written_at(file)).collect();
        self.takes_back(reading);
        if texts.is_empty() {
            texts.push(self.input.clone());
        }
        let folder = reading.values("--directory").next();
        let folder = folder.map(|folder| format!("{}/", folder.text)).unwrap_or_default();
        let strip = strip_of(reading).unwrap_or(1);
        for text in texts {
            match text.and_then(|text| text.literal()) {
                Some(text) => {
                    self.names_of_patch(&text, index, &|name| format!("{folder}{}", stripped(name, strip)));
                }
                None => self.touch(Access::Write, &Value::known(format!("./{UNKNOWN}")), false, Some(index)),
            }
        }
    }

    /// `patch`: the same of a patch that comes with the command.
    pub(super) fn patches(&mut self, reading: &Reading, index: usize) {
        let file = reading.values("-i").next().or(reading.operands.get(1)).cloned();
        let text = match file.filter(|file| file.plain() != Some("-")) {
            Some(file) => self.written_at(&file),
            None => self.input.clone(),
        };
        self.takes_back(reading);
        let Some(text) = text.and_then(|text| text.literal()) else { return };
        let (given, strip) = (reading.operands.first(), strip_of(reading));
        self.names_of_patch(&text, index, &|name| match (given, strip) {
            (Some(given), _) => given.text.to_string(),
            (None, Some(strip)) => stripped(name, strip).to_owned(),
            (None, None) => name.rsplit('/').next().unwrap_or(name).to_owned(),
        });
    }

    /// `git diff | git apply -R`, `git diff -R | git apply`: what is at hand goes.
    fn takes_back(&mut self, reading: &Reading) {
        let mut shown = self.analysis.programs.iter().filter(|program| program.subcommand == ["diff"]);
        if shown.any(|diff| reading.has("-R") || diff.args.iter().any(|word| word.text() == Some("-R"))) {
            self.does(crate::Trait::OverwritesFiles);
        }
    }

    fn names_of_patch(&mut self, text: &str, index: usize, path: &dyn Fn(&str) -> String) {
        let mut old = "";
        for line in text.lines() {
            let (front, behind) = line.split_once(' ').unwrap_or((line, ""));
            let name = behind.split('\t').next().unwrap_or_default().trim().trim_matches('"');
            // Which side is there is not said by one line: each may be changed.
            let (access, file) = match front {
                "+++" if name == "/dev/null" => (Access::Delete, path(old)),
                "+++" | "---" if name != "/dev/null" => (Access::Write, path(name)),
                "diff" => match name.strip_prefix("--git ").and_then(|names| names.rsplit_once(' ')) {
                    Some((_, name)) => (Access::Write, path(name)),
                    None => continue,
                },
                // These have no front that is stripped.
                "rename" | "copy" => match name.split_once(' ') {
                    Some(("to", name)) => (Access::Write, path(&format!("a/{name}"))),
                    Some(("from", name)) if front == "rename" => (Access::Delete, path(&format!("a/{name}"))),
                    _ => continue,
                },
                _ => continue,
            };
            old = if front == "---" { name } else { old };
            self.touch(access, &Value::known(file), false, Some(index));
        }
    }

    /// Statements of SQLite: the file of the database that they change, and others that they name.
    pub(super) fn told_sqlite(&mut self, text: &str, reading: &Reading, index: usize) {
        let words = crate::sql::words(text);
        let changes = |word: &String| {
            let verbs =
                ["CREATE", "INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "REPLACE", "VACUUM", "REINDEX"];
            verbs.contains(&word.as_str())
        };
        let opened = text.lines().filter_map(|line| line.trim_start().strip_prefix(".open "));
        let opened = opened.filter_map(|words| words.split_whitespace().last()).map(Value::known);
        let main = reading.operands.first().filter(|_| !reading.has("-readonly")).cloned();
        let database = main.filter(|_| words.iter().any(changes));
        let named = crate::sql::named_files(text);
        let named = named.into_iter().map(Value::known).chain(opened).chain(database);
        for file in named.filter(|file| !file.text.starts_with(":memory:")).collect::<Vec<_>>() {
            self.touch(Access::Write, &file, false, Some(index));
        }
    }

    /// Notes what statements are known of that a client of a database reads from a file of the command.
    fn reads_statements(&mut self, text: &Value) {
        let is_command = |line: &str| line.starts_with(['.', '\\', '!', '@']);
        if text.is_unclear() || text.text.lines().any(is_command) {
            self.unclear_text("what a client of a database reads is not known");
        } else if crate::sql::destroys(&crate::value::spelt(&text.text)) {
            self.does(crate::Trait::DestroysData);
        }
    }

    /// A command of a client of a database that writes a file: `.output FILE`, `\\o FILE`, `tee FILE`.
    pub(super) fn told_client(&mut self, line: &str, index: usize) {
        const WRITES: [&str; 13] = [
            ".output ", ".once ", ".log ", ".save ", ".backup ", ".trace ", ".dump ", "\\o ", "\\w ", "\\g ",
            "\\T ", "tee ", ".clone ",
        ];
        const READS: [&str; 9] =
            [".read ", ".import ", "\\i ", "\\ir ", "\\include ", "\\. ", "source ", "@", ":r "];
        let Some(target) = WRITES.iter().find_map(|front| line.strip_prefix(front)) else {
            if let Some((_, command)) = line.split_once('|').filter(|_| line.starts_with(".import ")) {
                let command = Value::known(command.split(['\'', '"']).next().unwrap_or_default());
                self.script(&command, Shell::Sh, Vec::new(), "what a client of a database runs");
            } else if let Some(file) = READS.iter().find_map(|front| line.strip_prefix(front)) {
                let file = Value::known(
                    file.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"', ';']),
                );
                let piped = file.text.starts_with('|').then(Value::unknown);
                piped.or_else(|| self.written_at(&file)).iter().for_each(|text| self.reads_statements(text));
                self.reads_file(&file, index);
            }
            return;
        };
        let target = target.trim().trim_end_matches(';').trim_matches(['\'', '"']);
        if let Some(command) = target.strip_prefix('|') {
            self.script(&Value::known(command), Shell::Sh, Vec::new(), "what a client of a database runs");
            return;
        }
        if line.starts_with(".dump") {
            return;
        }
        if let Some(file) = target.split_whitespace().last() {
            self.touch(Access::Write, &Value::known(file), false, Some(index));
        }
    }
}

/// The commands of SQLite that a line with a beginning of their names may be; any other line as it is.
pub(super) fn whole_commands(line: &str) -> Vec<String> {
    const NAMES: [&str; 14] = [
        ".shell", ".system", ".output", ".once", ".log", ".save", ".backup", ".trace", ".dump", ".clone",
        ".import", ".open", ".excel", ".read",
    ];
    let line = line.trim_start();
    let (name, behind) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let known = NAMES.iter().filter(|known| name.len() > 1 && known.starts_with(name));
    let all: Vec<String> = known.map(|known| format!("{known} {behind}")).collect();
    if all.is_empty() { vec![line.to_owned()] } else { all }
}

/// The settings of a file of git, each as `section.name=value`.
fn settings(text: &str) -> Vec<String> {
    let (mut section, mut all) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        let line = match line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            Some((head, behind)) => {
                section = match head.split_once(char::is_whitespace) {
                    Some((name, sub)) => format!("{name}.{}", sub.trim().trim_matches('"')),
                    None => head.to_owned(),
                };
                behind.trim()
            }
            None => line,
        };
        if let Some((key, value)) = line.split_once('=').filter(|(key, _)| !key.starts_with(['#', ';'])) {
            let value = value.trim().trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\");
            all.push(format!("{section}.{}={value}", key.trim()));
        }
    }
    all
}

/// How many folders of the names in a patch are left out.
fn strip_of(reading: &Reading) -> Option<usize> {
    reading.values("-p").next()?.plain()?.parse().ok()
}

fn stripped(name: &str, strip: usize) -> &str {
    name.splitn(strip + 1, '/').nth(strip).unwrap_or(name)
}
