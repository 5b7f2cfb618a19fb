//! A program that is started: its words by its row, its files, what it prints.

use super::behind::behind_env;
use super::{Walk, data};
use crate::analysis::{Access, Argument, CommandProgram, Trait, Unknown};
use crate::reading::{self, Reading};
use crate::tables::{self, Deed, When, Which};
use crate::value::{Origin, StandsFor, UNKNOWN, Value};

/// How the names end of what is put beside a file for a moment: no folder of a project or a system is called so.
const BESIDE: [&str; 6] = [".bak", ".new", ".old", ".orig", ".part", ".tmp"];

impl Walk<'_> {
    /// Starts a program of a known name.
    pub(crate) fn start(&mut self, words: &[Value], environment: Vec<String>) {
        let path = words[0].text.as_str();
        let name = tables::program_name(path);
        if !name.is_ascii() || name.starts_with('!') {
            self.unclear_text(&format!(
                "the name of the program `{name}` has signs that no usual program has"
            ));
            self.list_program(Argument::Any, words, environment);
            return;
        }
        if self.shell == crate::Shell::Zsh && path.contains(' ') {
            self.unclear_text(&format!("whether `{path}` is one word depends on an option of zsh"));
            self.list_program(Argument::Any, words, environment);
            return;
        }
        if path.contains('/') {
            self.runs_file(&words[0]);
        } else {
            self.not_found(words);
        }
        let index = self.list_program(Argument::Text(name.to_owned()), words, environment);
        let split = matches!(name, "env" | "genv").then(|| behind_env(words, |name| self.variable(name)));
        let words = split.as_deref().unwrap_or(words);
        let reading = reading::read(name, &words[1..]);
        let program = &mut self.analysis.programs[index];
        program.subcommand.clone_from(&reading.subcommand);
        program.flags = reading.given.iter().map(reading::Given::flag).collect();
        program.operands = reading.operands.iter().map(Value::argument).collect();
        if self.is_for_tests(name, &reading, index) {
            let flag =
                crate::analysis::Flag { spellings: vec!["--in-test-environment".into()].into(), value: None };
            self.analysis.programs[index].flags.push(flag);
        }
        let away = std::mem::take(&mut self.away);
        self.prints_settings = false;
        let all = || reading.rows.iter().flat_map(|row| &row.deeds);
        let mut deeds: Vec<&When> = Vec::with_capacity(all().count());
        deeds.extend(
            all()
                .filter(|when| when.with.iter().all(|group| group.iter().any(|flag| reading.has(flag))))
                .filter(|when| !when.without.iter().any(|flag| reading.has(flag))),
        );
        let asks = ["--help", "--version"].iter().any(|flag| reading.has(flag));
        let deeds = if asks && !wraps(&deeds) { Vec::new() } else { deeds };
        let before = self.scope.cwd.clone();
        for deed in &deeds {
            if let Deed::Folder(flag) = deed.deed {
                for folder in reading.values(flag) {
                    let (path, unclear) = self.absolute(folder);
                    self.scope.cwd = (!unclear).then_some(path);
                }
            }
        }
        self.way.push(name.to_owned());
        self.effects(name, words, &reading, &deeds, index, away);
        self.runs_given(words, &reading, index);
        self.way.pop();
        self.scope.cwd = before;
        let renamed = if path.contains('/') { self.renamed_program(&words[0]) } else { None };
        if let Some(program) = renamed {
            let mut inner = words.to_vec();
            inner[0] = Value::known(program);
            self.way.push(name.to_owned());
            self.exec_program(inner, Vec::new());
            self.way.pop();
        } else if path.contains('/')
            && let Some(content) = self.written_at(&words[0])
        {
            self.way.push(name.to_owned());
            self.own_script(words, &content);
            self.way.pop();
        }
        self.found_on_path(words, index);
        self.runs_own_files(name, &reading);
        // A program of git by its own name.
        if let Some(sub) =
            name.strip_prefix("git-").filter(|sub| tables::find(&format!("git {sub}")).is_some())
        {
            let mut inner = vec![Value::known("git"), Value::known(sub)];
            inner.extend_from_slice(&words[1..]);
            self.way.push(name.to_owned());
            self.exec_program(inner, Vec::new());
            self.way.pop();
        }
        // `unknown -n 100 -- rm x`: what stands behind dashes and is a program is taken for one.
        if reading.rows.is_empty()
            && let Some(at) = words.iter().position(|word| word.plain() == Some("--"))
            && let Some(program) = words.get(at + 1).and_then(Value::plain)
            && tables::find(program.rsplit('/').next().unwrap_or_default()).is_some()
        {
            self.way.push(name.to_owned());
            self.exec_program(words[at + 1..].to_vec(), Vec::new());
            self.way.pop();
        }
        if self.state.wrappers.contains(&self.analysis.programs[index].name.pattern()) {
            let rest = words[1..].iter().position(|word| !word.text.starts_with('-'));
            if let Some(rest) = rest {
                self.exec(words[1 + rest..].to_vec(), Vec::new());
            }
        }
    }

    pub(crate) fn list_program(
        &mut self,
        name: Argument,
        words: &[Value],
        environment: Vec<String>,
    ) -> usize {
        self.locate_program(words);
        let args: Vec<Argument> = words[1..].iter().map(Value::argument).collect();
        // Those of a known program are read by its row.
        let operands = if matches!(name, Argument::Text(_)) { Vec::new() } else { args.clone() };
        self.analysis.programs.push(CommandProgram {
            name,
            args,
            way: self.way.clone(),
            subcommand: Vec::new(),
            flags: Vec::new(),
            operands,
            texts: Vec::new(),
            environment,
        });
        self.analysis.programs.len() - 1
    }

    fn effects(
        &mut self,
        name: &str,
        words: &[Value],
        reading: &Reading,
        deeds: &[&When],
        index: usize,
        away: bool,
    ) {
        let given = words.iter().fold(self.reads_input(), |all, word| all.with(word.origin));
        let (mut whole, mut shows, mut into, mut relays) = (false, false, false, false);
        for when in deeds {
            match when.deed {
                Deed::Whole => whole = true,
                Deed::Shows => shows = true,
                Deed::Into => into = true,
                Deed::Relays => relays = true,
                _ => {}
            }
        }
        self.read = Origin::default();
        let mut read = self.reads_input();
        if !shows && !relays {
            read = read.without(Origin::SHOWN);
        }
        let (mut printed, mut quiet, mut fetches, mut sends) = (None, false, false, false);
        for when in deeds {
            match when.deed {
                Deed::Touch(access, which) => {
                    for value in chosen(reading, which) {
                        let value = if shows { self.shown(value) } else { value };
                        if let Some(remote) = host_of(&value)
                            && deeds.iter().any(|when| when.deed == Deed::Sends)
                        {
                            // `host:path` is on another machine.
                            fetches |= access == Access::Read;
                            sends |= access == Access::Write && !remote.is_empty();
                            continue;
                        }
                        if access == Access::Read {
                            read = read.with(self.reads_file(&value, index));
                        } else if access == Access::Write
                            && into
                            && matches!(which, Which::Last | Which::Value("-t"))
                        {
                            self.writes_into(&value, reading, whole, index);
                            self.rewritten(name, access, &value);
                        } else {
                            self.touch(access, &value, whole, Some(index));
                            self.rewritten(name, access, &value);
                        }
                        if access == Access::Delete
                            && whole
                            && !BESIDE.iter().any(|end| value.text.ends_with(end))
                            && self.absolute(&value).1
                            && !self.is_named(&value)
                            && !(into && self.is_kept(reading))
                        {
                            self.does(Trait::DeletesUnclear);
                        }
                    }
                }
                Deed::Prints("quiet") => quiet = true,
                Deed::Prints("settings") => self.prints_settings = true,
                Deed::Prints("fresh") => printed = Some(Self::fresh("/tmp")),
                Deed::Prints(how) => {
                    let files: Vec<Value> = reading.operands.clone();
                    let input = match (how, files.first()) {
                        ("translate", _) | (_, None) => self.input.clone().unwrap_or_else(Value::unknown),
                        (_, Some(file)) => self.content(file, Some(index)),
                    };
                    let shown = if how == "same" { self.reads_input() } else { read };
                    printed = Some(data::filtered(how, &input, &reading.operands).from(shown));
                }
                Deed::Fetches => fetches = true,
                Deed::Sends => sends = true,
                Deed::Environment => {
                    self.does(Trait::ShowsEnvironment);
                    read = read.with(Origin::SECRET);
                }
                Deed::Secrets => read = read.with(Origin::SECRET),
                Deed::Sql(which) => {
                    let input = || self.input.clone().into_iter().collect();
                    self.statements(which.map_or_else(input, |which| chosen(reading, which)), reading, index);
                }
                Deed::SqlOf(which) => {
                    let files = chosen(reading, which);
                    let texts: Vec<Value> = files.iter().filter_map(|file| self.written_at(file)).collect();
                    if texts.iter().any(Value::is_unclear) {
                        self.unclear_text("what a client of a database reads is not known");
                    }
                    self.statements(texts, reading, index);
                }
                Deed::Consents(flag) if self.input.is_some() => {
                    let flag = crate::analysis::Flag { spellings: vec![flag.into()].into(), value: None };
                    self.analysis.programs[index].flags.push(flag);
                }
                Deed::Whole
                | Deed::Shows
                | Deed::Relays
                | Deed::Into
                | Deed::Consents(_)
                | Deed::Scripts
                | Deed::Folder(_) => {}
                _ => {
                    let before = std::mem::take(&mut self.read);
                    let is_here =
                        || reading.operands.first().is_some_and(|host| crate::address::is_here(&host.text));
                    let passes = match when.elsewhere {
                        // `ssh localhost rm x` begins at home.
                        true if name == "ssh" && is_here() => {
                            let home = Some(self.state.home.to_owned());
                            let cwd = std::mem::replace(&mut self.scope.cwd, home);
                            let passes = self.starts_more(name, words, reading, when.deed, index);
                            self.scope.cwd = cwd;
                            passes
                        }
                        true => {
                            self.elsewhere(|walk| walk.starts_more(name, words, reading, when.deed, index))
                        }
                        false => self.starts_more(name, words, reading, when.deed, index),
                    };
                    read = read.with(self.read);
                    self.read = before;
                    if passes {
                        quiet = true;
                    }
                }
            }
        }
        let carried = read.with(given);
        if (away || sends && !self.stays_here(reading, index)) && carried.has(Origin::SECRET) {
            self.does(Trait::SendsSecret);
        }
        let origin = if fetches { read.with(Origin::FETCHED) } else { read }.without(Origin::TEMPORARY);
        if fetches {
            self.fetched(reading, deeds);
        }
        if !quiet {
            let printed = printed.or_else(|| self.names_printed(name, reading));
            self.out.push(&printed.unwrap_or_else(|| Value::of_sign(UNKNOWN)).from(origin));
        }
        self.mentions(words, reading, index);
        if matches!(name, "cp" | "mv" | "install" | "tee") {
            self.copied(name, reading);
        }
    }

    /// Whether it is known by a name what a value that is not known stands for: what a search for it finds, what it is where it
    /// is not set.
    fn is_named(&self, value: &Value) -> bool {
        match value.stands_for.as_deref() {
            Some(StandsFor::Printed(patterns)) => patterns.iter().all(|path| crate::path::ends_plain(path)),
            Some(_) => true,
            None => {
                let text = value.text.trim_start_matches(UNKNOWN);
                (value.origin.has(Origin::EXPECTED) || value.origin.has(Origin::TEMPORARY) && is_own(text))
                    && value.text.len() == text.len() + UNKNOWN.len_utf8()
                    && !text.contains(UNKNOWN)
                    && !text.contains("..")
            }
        }
    }

    /// Whether what is moved stays in the project, or lies beside what it was.
    fn is_kept(&self, reading: &Reading) -> bool {
        let target = reading.values("-t").next().or(reading.operands.last());
        let (path, unclear) = target.map(|target| self.absolute(target)).unwrap_or_default();
        unclear || crate::path::is_within(&path, self.state.project)
    }

    /// Statements of a database.
    fn statements(&mut self, texts: Vec<Value>, reading: &Reading, index: usize) {
        // What is in memory alone is no loss, unless more is joined to it.
        let joins = |word: &Value| {
            let text = word.text.to_ascii_lowercase();
            text.contains("attach") || text.contains(".open")
        };
        let mut words = reading.given.iter().filter_map(|given| given.value.as_ref());
        let is_kept = reading
            .operands
            .first()
            .is_none_or(|file| file.plain() != Some(":memory:") && !self.is_scratch(file))
            || reading.has("-init")
            || words.any(joins)
            || reading.operands.iter().chain(&self.input).any(joins);
        for text in texts {
            let text = crate::value::spelt(&text.text);
            for line in text.lines().flat_map(super::told::whole_commands) {
                let shell = [".shell ", ".system ", "\\!", "system "];
                self.told_client(&line, index);
                if let Some(command) = shell.iter().find_map(|word| line.strip_prefix(word)) {
                    let command = Value::known(command);
                    self.script(&command, crate::Shell::Sh, Vec::new(), "what a client of a database runs");
                }
            }
            // `COPY t TO PROGRAM 'command'`.
            for command in crate::sql::programs(&text) {
                self.script(&Value::known(command), crate::Shell::Sh, Vec::new(), "what a database runs");
            }
            if self.way.last().is_some_and(|name| name.starts_with("sqlite")) {
                self.told_sqlite(&text, reading, index);
            }
            if is_kept && crate::sql::destroys(&text) {
                self.does(Trait::DestroysData);
            }
            self.analysis.programs[index].texts.push(text);
        }
    }

    /// Notes that operands of a deletion are not known.
    pub(crate) fn unclear_paths(&mut self, reason: &str) {
        self.cannot_tell(Unknown::Paths, reason);
    }
}

/// Whether this is below a folder for temporary files, and where there is none, of no folder of a system.
fn is_own(below: &str) -> bool {
    const OF_SYSTEM: [&str; 29] = [
        "", ".", "Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "data", "dev",
        "etc", "home", "lib", "lib32", "lib64", "media", "mnt", "nix", "opt", "private", "proc", "root",
        "run", "sbin", "srv", "sys", "usr", "var",
    ];
    let first = below.strip_prefix('/').and_then(|below| below.split('/').next());
    first.is_some_and(|name| !OF_SYSTEM.contains(&name) && !crate::value::has_marks(name))
}

fn wraps(deeds: &[&When]) -> bool {
    deeds.iter().any(|when| matches!(when.deed, Deed::Wrap { .. }))
}

/// The words that an effect is about.
pub(crate) fn chosen(reading: &Reading, which: Which) -> Vec<Value> {
    let all = &reading.operands;
    match which {
        Which::AllOrHere if all.is_empty() => vec![Value::known(format!("./{UNKNOWN}"))],
        Which::All | Which::AllOrHere => all.clone(),
        Which::From(number) => all.iter().skip(number - 1).cloned().collect(),
        Which::Only(number) => all.get(number - 1).cloned().into_iter().collect(),
        Which::ButLast => all[..all.len().saturating_sub(1)].to_vec(),
        Which::Last => all.last().filter(|_| all.len() > 1).cloned().into_iter().collect(),
        Which::Value(flag) => reading.values(flag).cloned().collect(),
    }
}

/// The host of `host:path`.
pub(crate) fn host_of(value: &Value) -> Option<&str> {
    let (host, path) = value.text.split_once(':')?;
    if host == "s3" || host == "gs" || path.starts_with("//") {
        return Some(host);
    }
    (!host.is_empty() && !host.contains('/') && value.stands_for.is_none()).then_some(host)
}
