//! Programs whose words are another command in a form of its own: locks, terminals, containers, other machines.

use super::Walk;
use super::behind::{behind_bwrap, behind_cmake, behind_setarch};
use super::modules::unescaped;
use crate::analysis::{Access, Trait, Unknown};
use crate::reading::{self, Reading};
use crate::state::{Shell, Surroundings};
use crate::tables;
use crate::value::{Origin, Value, spelt};

/// Commands of tmux that start a program or a text for a shell.
const RUN_BY_TMUX: [&str; 14] = [
    "new", "new-session", "new-window", "neww", "split-window", "splitw", "respawn-pane", "run-shell",
    "send-keys", "send", "pipe-pane", "if-shell", "popup", "display-popup",
];

impl Walk<'_> {
    /// What a row marks as special; answers whether what is printed is printed by a program that it starts.
    pub(crate) fn special_inside(
        &mut self,
        what: &str,
        words: &[Value],
        reading: &Reading,
        index: usize,
    ) -> bool {
        match what {
            "lock" => {
                let text = reading.values("-c").next().cloned();
                match text.or_else(|| self.behind(reading, "-c")) {
                    Some(text) => {
                        self.exec_program(vec![Value::known("sh"), Value::known("-c"), text], Vec::new());
                    }
                    None => return self.from(words, reading, 1),
                }
            }
            "chroot" => return self.from(words, reading, 1),
            "watch" if reading.has("-x") => return self.from(words, reading, 0),
            "entr" if !reading.has("-s") => return self.from(words, reading, 0),
            "watch" | "entr" | "hatch" => {
                let mut text = super::data::joined(&reading.operands);
                // `hatch run test:pytest`: in front stands an environment.
                if let Some((_, rest)) =
                    text.text.split_once(':').filter(|(name, _)| what == "hatch" && !name.contains(' '))
                {
                    text.text = rest.into();
                }
                if !text.text.is_empty() {
                    self.script(&text, Shell::Sh, Vec::new(), "what is run again and again");
                }
            }
            // Behind the name of a container words begin that are none of its own.
            "ansible" => {
                let module = reading.values("-m").next().and_then(Value::plain).unwrap_or("command");
                let name = module.rsplit('.').next().unwrap_or_default();
                if matches!(name, "command" | "shell" | "raw") {
                    for text in reading.values("-a").cloned().collect::<Vec<_>>() {
                        self.script(&text, Shell::Sh, Vec::new(), "what runs on other machines");
                    }
                }
            }
            "dashes" | "dashes:1" => {
                let at = words.iter().position(|word| word.plain() == Some("--"));
                match at {
                    Some(at) => self.exec_program(words[at + 1..].to_vec(), Vec::new()),
                    None => return self.from(words, reading, usize::from(what != "dashes")),
                }
            }
            // `nix develop -c cmd`, `guix shell x -- cmd`.
            "behind" => {
                let marks = ["--", "-c", "--command", "-x", "--execute", "-e"];
                let at = words.iter().position(|word| word.plain().is_some_and(|text| marks.contains(&text)));
                // `nix run nixpkgs#terraform -- destroy`.
                let run = reading.subcommand.last().filter(|sub| *sub == "run");
                let named = run.and_then(|_| reading.operands.first()?.plain()?.rsplit_once('#'));
                let named = named.map(|(_, name)| Value::known(name));
                let rest = at.map(|at| &words[at + 1..]).unwrap_or_default();
                self.exec_program(named.iter().chain(rest).cloned().collect(), Vec::new());
            }
            // Each operand is a command of its own.
            "each" => {
                for text in reading.operands.clone() {
                    self.script(&text, Shell::Sh, Vec::new(), "what is run several times");
                }
            }
            "expect" => {
                for code in reading.values("-c").cloned().collect::<Vec<_>>() {
                    let text = spelt(&code.text);
                    for call in text.split([';', '\n']).filter_map(|line| {
                        let line = line.trim_start();
                        line.strip_prefix("spawn ").or_else(|| line.strip_prefix("exec ")).map(str::to_owned)
                    }) {
                        self.script(&Value::known(call), Shell::Sh, Vec::new(), "what `expect` starts");
                    }
                }
            }
            "remote-shell" => {
                for text in reading.values("-e").cloned().collect::<Vec<_>>() {
                    if super::wrap::runs_more(&text) {
                        self.script(&text, Shell::Sh, Vec::new(), "what reaches another machine");
                    }
                }
                return true;
            }
            "bwrap" => self.exec_program(behind_bwrap(&words[1..]).to_vec(), Vec::new()),
            // `gcc -wrapper sh,-c,…`.
            "comma" => {
                for given in reading.values("-wrapper").cloned().collect::<Vec<_>>() {
                    let words =
                        given.text.split(',').map(|part| Value { text: part.into(), ..given.clone() });
                    self.exec_program(words.collect(), Vec::new());
                }
            }
            "cmake" => self.exec_program(behind_cmake(words), Vec::new()),
            "setarch" => self.exec_program(behind_setarch(&words[1..]).to_vec(), Vec::new()),
            // `start-stop-daemon --start --exec /bin/x -- words`.
            "daemon" => {
                let program = ["-a", "-x"].into_iter().find_map(|flag| reading.values(flag).next());
                let words = program.into_iter().chain(&reading.operands).cloned().collect();
                self.exec_program(words, Vec::new());
            }
            "invokes" => self.invoked(reading),
            "reads-shell" => self.exec_program(vec![Value::known("sh")], Vec::new()),
            "foreign" => {
                if reading.has("-EncodedCommand") || reading.has("-e") {
                    self.does(Trait::RunsDecoded);
                }
                if !reading.operands.is_empty() || !reading.given.is_empty() {
                    self.unclear_text("the text is for a shell that is not understood");
                }
            }
            "module" => {
                let debugger = self.of_environment("PYTHONBREAKPOINT", index);
                if debugger.is_some_and(|name| !matches!(name.plain(), Some("" | "0" | "pdb.set_trace"))) {
                    self.unclear_text("what `breakpoint()` calls is named by a variable");
                }
                self.module(words, reading, index);
            }
            "eval-node" | "eval-ruby" => {
                if let Some(code) = reading.operands.first() {
                    let code = if reading.has("-p") { super::wrap::printing(code) } else { code.clone() };
                    self.code(&code, &what["eval-".len()..], index);
                }
            }
            "awk" => {
                let files: Vec<Value> = reading.values("-f").chain(reading.values("-E")).cloned().collect();
                let given = reading.operands.first().filter(|_| files.is_empty()).cloned();
                let own: Vec<Value> = files.iter().filter_map(|file| self.script_at(file, index)).collect();
                // `-v name=text` sets a name before the code runs.
                let files = reading.operands.get(1..).unwrap_or_default();
                let set = reading.values("-v").chain(files).filter_map(|given| given.text.split_once('='));
                let set: String = set.map(|(name, text)| format!("{name}=\"{text}\"\n")).collect();
                for code in given.into_iter().chain(own) {
                    let spelt = code.text.replace(' ', "");
                    if spelt.contains(">FILENAME") || spelt.contains(">ARGV") {
                        files.iter().for_each(|file| self.touch(Access::Write, file, false, Some(index)));
                    }
                    let code = Value { text: format!("{set}{}", code.text).into(), ..code };
                    self.code(&code, "awk", index);
                }
            }
            // Modules by their paths, which run before the code.
            "preload" => {
                let given = ["-r", "--import", "--loader"].into_iter().flat_map(|flag| reading.values(flag));
                let given: Vec<Value> = given.cloned().collect();
                for address in given.iter().filter(|given| given.text.starts_with("data:")) {
                    match address.text.split_once(',').filter(|(kind, _)| !kind.contains("base64")) {
                        Some((_, code)) => self.code(&Value::known(unescaped(code)), "node", index),
                        None => self.unclear_text("the code that an interpreter runs was decoded"),
                    }
                }
                let files: Vec<Value> =
                    given.iter().filter(|file| file.text.starts_with(['.', '/'])).cloned().collect();
                let language =
                    if self.way.last().is_some_and(|name| name == "ruby") { "ruby" } else { "node" };
                for file in files {
                    self.touch(Access::Read, &file, false, Some(index));
                    if let Some(code) = self.script_at(&file, index) {
                        self.code(&code, language, index);
                    }
                }
                // What is typed or comes with the input sees what such a file sets.
                let has_file = reading.operands.first().is_some_and(|file| file.plain() != Some("-"));
                if !has_file && !reading.has("-e") && !reading.has("-p") {
                    for file in reading.values("--env-file").cloned().collect::<Vec<_>>() {
                        self.touch(Access::Read, &file, false, Some(index));
                    }
                }
            }
            // `cpio -pl`, `pax -rwl`: the files that its input names get one more name.
            "linked" if reading.has("-l") => {
                let Some(input) = self.input.clone() else { return false };
                match input.literal().filter(|_| input.stands_for.is_none()) {
                    Some(text) => {
                        for name in text.split(['\n', '\0']).filter(|name| !name.is_empty()) {
                            self.touch(Access::Write, &Value::known(name), true, Some(index));
                        }
                    }
                    None => self.touch(Access::Write, &input, true, Some(index)),
                }
            }
            "patched" => self.patched(reading, index),
            "patches" => self.patches(reading, index),
            "package" => self.package_scripts(),
            // `npm pkg set scripts.x='…'`: what it is set to runs later.
            "package-set" => {
                let set = reading.operands.iter().filter(|word| word.text.starts_with("scripts."));
                for text in set
                    .filter_map(|word| word.text.split_once('='))
                    .map(|(_, text)| Value::known(text))
                    .collect::<Vec<_>>()
                {
                    self.script(&text, Shell::Sh, Vec::new(), "a script of `package.json`");
                }
            }
            "passes" => {
                let input = self.input.clone().unwrap_or_else(Value::unknown);
                self.out.push(&input);
                return true;
            }
            "container" => self.container(reading),
            "terminals" => self.terminals(reading),
            "later" => {
                if let Some(text) = self.input.clone() {
                    self.script(&text, Shell::Sh, Vec::new(), "what runs later");
                }
            }
            "proxy" => {
                for option in reading.values("-o").cloned().collect::<Vec<_>>() {
                    let text = spelt(&option.text);
                    let Some((key, command)) = text.split_once(['=', ' ']) else { continue };
                    if matches!(
                        key.to_ascii_lowercase().as_str(),
                        "proxycommand" | "localcommand" | "knownhostscommand"
                    ) && command != "none"
                    {
                        self.script(&Value::known(command), Shell::Sh, Vec::new(), "what `ssh` runs");
                    }
                }
                // A fetched text may come out of it.
                self.read = self.read.with(Origin::default());
            }
            "socat" => {
                for operand in reading.operands.clone() {
                    let text = spelt(&operand.text);
                    let kind = text.split(':').next().unwrap_or_default().to_ascii_uppercase();
                    if matches!(kind.as_str(), "EXEC" | "SYSTEM") {
                        self.does(Trait::RunsFetched);
                    }
                    if let Some((_, path)) =
                        text.split_once(':').filter(|_| matches!(kind.as_str(), "FILE" | "OPEN" | "GOPEN"))
                    {
                        let path = path.split(',').next().unwrap_or_default().to_owned();
                        self.reads_file(&Value::known(path), index);
                    }
                }
            }
            "printenv" => {
                let parts = ["SECRET", "PASSWORD", "CREDENTIALS"];
                let is_secret = |name: &Value| {
                    crate::expand::is_secret_name(&name.text)
                        || name.text.ends_with("_KEY")
                        || parts.iter().any(|part| name.text.contains(part))
                };
                if reading.operands.is_empty() || reading.operands.iter().any(is_secret) {
                    self.does(Trait::ShowsEnvironment);
                    self.read = self.read.with(Origin::SECRET);
                }
            }
            "pass" => {
                let quiet = [
                    "ls", "list", "find", "git", "init", "help", "version", "insert", "generate", "edit",
                    "rm", "mv", "cp", "grep",
                ];
                let first = reading.operands.first().and_then(Value::plain);
                if first.is_some_and(|first| !quiet.contains(&first)) {
                    self.read = self.read.with(Origin::SECRET);
                }
            }
            "names" => return self.prints_names(reading),
            "checkout" => self.checkout(words, reading, index),
            "history" => self.history(words, reading, index),
            "crontab" => self.crontab(reading, index),
            _ => {}
        }
        false
    }

    /// The value behind a word that the row's options end in front of.
    fn behind(&self, reading: &Reading, flag: &str) -> Option<Value> {
        let at = reading.operands.iter().position(|operand| operand.plain() == Some(flag))?;
        reading.operands.get(at + 1).cloned()
    }

    fn from(&mut self, words: &[Value], reading: &Reading, skip: usize) -> bool {
        let Some(place) = reading.places.get(skip) else { return false };
        self.exec_program(words[1 + place..].to_vec(), Vec::new());
        true
    }

    /// `docker run image words`: the program of the words, of `--entrypoint` or of the image.
    fn container(&mut self, reading: &Reading) {
        let [image, words @ ..] = reading.operands.as_slice() else { return };
        let has_row = |name: &str| tables::find(tables::program_name(name)).is_some();
        let entry = reading.values("--entrypoint").next().cloned().or_else(|| {
            let name = image.plain()?.rsplit('/').next()?.split([':', '@']).next()?;
            let name = name.strip_suffix("-cli").unwrap_or(name);
            let first = words.first().and_then(Value::plain);
            (has_row(name) && !first.is_some_and(has_row)).then(|| Value::known(name))
        });
        self.exec_program(entry.iter().chain(words).cloned().collect(), Vec::new());
    }

    /// Does what is done on another machine or in a container, where nothing of this one is known: its programs are listed apart.
    pub(super) fn elsewhere(&mut self, run: impl FnOnce(&mut Self) -> bool) -> bool {
        let state = Surroundings { links: None, variables: &[], inherited: &[], cwd: "/", ..self.state };
        let mut there =
            Walk { input: self.input.clone(), is_elsewhere: true, ..Walk::new(Shell::Sh, &state, None) };
        self.carries_on(&mut there);
        let found = there.trail.as_mut().map(|trail| std::mem::take(&mut trail.found));
        std::mem::swap(self, &mut there);
        run(self);
        std::mem::swap(self, &mut there);
        self.carries_on(&mut there);
        if let (Some(trail), Some(found)) = (&mut self.trail, found) {
            let inner = std::mem::replace(&mut trail.found, found);
            trail.found.elsewhere.extend(inner.programs.into_iter().chain(inner.elsewhere));
        }
        let inner = there.analysis;
        self.analysis.elsewhere.extend(inner.programs.into_iter().chain(inner.elsewhere));
        self.analysis.is_cut |= inner.is_cut;
        // `docker run --env-file .env image env`.
        // In one that runs it is that of what runs there.
        let runs = |program: &crate::CommandProgram| {
            matches!(
                program.known_name(),
                Some("docker" | "podman" | "nerdctl" | "docker-compose" | "kubectl" | "oc")
            ) && program.subcommand.iter().any(|word| word == "exec")
        };
        let is_handed = self.analysis.programs.last().is_some_and(|program| {
            runs(program)
                || program.flags.iter().any(|flag| flag.spellings.iter().any(|name| name == "--env-file"))
        });
        if is_handed && inner.traits.contains(&Trait::ShowsEnvironment) {
            self.does(Trait::ShowsEnvironment);
        }
        if inner.traits.contains(&Trait::DestroysData) {
            self.does(Trait::DestroysData);
        }
        for unclear in inner.unclear.iter().filter(|unclear| unclear.what == Unknown::Program) {
            self.unclear_text(&unclear.reason);
        }
        false
    }

    /// Hands what is counted for the whole command to a walk elsewhere, and takes it back.
    fn carries_on(&mut self, there: &mut Self) {
        use std::mem::swap;
        swap(&mut self.way, &mut there.way);
        swap(&mut self.trail, &mut there.trail);
        swap(&mut self.choice, &mut there.choice);
        swap(&mut self.left, &mut there.left);
        for (one, other) in [
            (&mut self.levels, &mut there.levels),
            (&mut self.nesting, &mut there.nesting),
            (&mut self.words, &mut there.words),
            (&mut self.bytes, &mut there.bytes),
            (&mut self.parsed, &mut there.parsed),
            (&mut self.steps, &mut there.steps),
        ] {
            swap(one, other);
        }
    }

    /// `tmux new-session 'command'`, `tmux send-keys 'command' Enter`, `screen -dmS name command`.
    fn terminals(&mut self, reading: &Reading) {
        let words: Vec<Value> = reading.operands.clone();
        let first = words.first().and_then(Value::plain).unwrap_or_default().to_owned();
        let name = self.way.last().cloned().unwrap_or_default();
        if name == "screen" {
            if reading.has("-X") {
                if let [stuff, text, ..] = words.as_slice()
                    && stuff.plain() == Some("stuff")
                {
                    self.script(&text.clone(), Shell::Sh, Vec::new(), "what a terminal runs");
                }
                return;
            }
            if reading.has("-m") || !reading.has("-d") {
                self.exec_program(words, Vec::new());
            }
            return;
        }
        // `zellij run -f -- command`, `zellij action new-pane -- command`.
        if name == "zellij" {
            let at = words.iter().position(|word| word.plain() == Some("--"));
            return self.exec_program(at.map(|at| words[at + 1..].to_vec()).unwrap_or_default(), Vec::new());
        }
        if !RUN_BY_TMUX.contains(&first.as_str()) {
            return;
        }
        let inner = reading::read("tmux command", &words[1..]);
        let mut operands = inner.operands;
        if first.starts_with("send") {
            operands.retain(|word| !matches!(word.plain(), Some("Enter" | "C-m" | "C-c")));
        }
        let text = super::data::joined(&operands);
        if !text.text.is_empty() {
            self.script(&text, Shell::Sh, Vec::new(), "what a terminal runs");
        }
    }

    /// A table of commands with their times, of a file or of the input.
    fn crontab(&mut self, reading: &Reading, index: usize) {
        let table = match reading.operands.first().filter(|file| file.plain() != Some("-")).cloned() {
            Some(file) => self.content(&file, Some(index)),
            None => self.input.clone().unwrap_or_default(),
        };
        for line in table.literal().unwrap_or_default().lines().map(str::trim_start) {
            let times = if line.starts_with('@') { 1 } else { 5 };
            let command = (0..times)
                .try_fold(line, |rest, _| rest.split_once([' ', '\t']).map(|(_, rest)| rest.trim_start()));
            if let Some(command) = command.filter(|_| !line.starts_with('#')) {
                self.script(&Value::known(command), Shell::Sh, Vec::new(), "what runs later");
            }
        }
    }
}
