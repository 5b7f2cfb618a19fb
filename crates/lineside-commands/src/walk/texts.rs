//! Programs whose words need more than a row: shells, editors, and options with a small language of their own.

use super::Walk;
use crate::analysis::{Access, Trait};
use crate::reading::Reading;
use crate::state::Shell;
use crate::value::{Origin, StandsFor, Value, spelt};

impl Walk<'_> {
    /// What a row marks as special; answers whether what is printed is printed by a program that it starts.
    pub(crate) fn special(&mut self, what: &str, words: &[Value], reading: &Reading, index: usize) -> bool {
        match what {
            "shell" => {
                let kept = (self.scope.finds_dots, self.scope.finds_any_case);
                let prints = self.a_shell(words, reading, index);
                (self.scope.finds_dots, self.scope.finds_any_case) = kept;
                return prints;
            }
            "find" => return self.find(words, index),
            "fd" => return self.fd(words),
            "xargs" => return self.xargs(words, reading),
            "becomes-shell" => return self.becomes_shell(reading),
            "multi-call" => return self.multi_call(words),
            "environment" => self.shows_environment(reading),
            "copies-bytes" => self.copies_bytes(reading, index),
            "sends-files" => self.sends_files(reading, index),
            "link" => {
                if let [target, name] = reading.operands.as_slice() {
                    let (target, name) = (target.clone(), name.clone());
                    self.linked(&name, &target);
                }
            }
            "git" => self.git(reading, index),
            "sed" => self.sed(reading, index),
            "unpacks" => self.unpacks(reading, index),
            "checkpoint" => self.checkpoint(reading, index),
            "editor" => self.editor(reading, index),
            "ed" => self.ed(reading, index),
            "makefile" => self.makefile(reading, index),
            "asks" => {
                // Data that goes along is sent; a program of a person's own machine reads it otherwise.
                if self.reads_input().has(Origin::SECRET) {
                    self.does(Trait::SendsSecret);
                }
            }
            "download" => self.download(reading, index),
            "listens" => self.listens(reading),
            "transfers" => self.transfers(reading, index),
            // `--value file://x`.
            "file-values" => {
                let given = reading.given.iter().filter_map(|given| given.value.as_ref());
                let given = given.chain(&reading.operands);
                let named = |value: &Value| {
                    let path =
                        value.text.strip_prefix("fileb://").or_else(|| value.text.strip_prefix("file://"))?;
                    Some(Value { text: path.into(), ..value.clone() })
                };
                for file in given.filter_map(named).collect::<Vec<_>>() {
                    self.gives(&file, index);
                }
            }
            "parted" => self.parts(reading, index),
            // Of `NAME=value` lines, the names alone are no secret; another line is printed whole.
            "fields" => {
                let is_cut = self.way.last().is_some_and(|name| name == "cut");
                let is = |flag, text| reading.values(flag).next().and_then(Value::plain) == Some(text);
                let names = is_cut && is("-d", "=") && is("-f", "1") && !reading.has("--complement");
                let files = reading.operands.iter().skip(usize::from(!is_cut));
                let files = files.filter(|_| !self.is_awk_of_names(reading));
                let files: Vec<&Value> = files.filter(|file| !names || !file.text.contains(".env")).collect();
                for file in files {
                    self.reads_file(file, index);
                }
            }
            "archive" => self.archive(words, reading, index),
            "filter" | "search" => self.filter(what == "search", reading, index),
            _ => return self.special_inside(what, words, reading, index),
        }
        false
    }

    fn a_shell(&mut self, _words: &[Value], reading: &Reading, index: usize) -> bool {
        let name = self.way.last().cloned().unwrap_or_default();
        for file in reading.values("--rcfile").cloned().collect::<Vec<_>>() {
            self.begins_with(&file);
        }
        for name in reading.values("-O").filter_map(Value::plain).map(str::to_owned).collect::<Vec<_>>() {
            self.has_option(&name);
        }
        if reading.has("-i") || reading.has("-l") || name == "zsh" {
            self.of_home(index);
        }
        // A shell that takes itself for one of a person runs what it reads in any case.
        if reading.has("-n") && !reading.has("-i") {
            if let Some(file) = reading.operands.first().filter(|_| !reading.has("-c")) {
                let file = file.clone();
                self.reads_file(&file, index);
            }
            return false;
        }
        if reading.has("-c") {
            let Some(text) = reading.operands.first().cloned() else { return false };
            let arguments = reading.operands[1..].to_vec();
            self.shell_text(&text, Shell::named(&name), &arguments, index);
            return true;
        }
        self.starts_more(&name, &[], reading, crate::tables::Deed::Script("shell"), index)
    }

    /// `sudo -s`, `sudo -i`, `su`: a shell that reads its input.
    fn becomes_shell(&mut self, reading: &Reading) -> bool {
        let text: Vec<Value> = reading.operands.clone();
        if text.is_empty() {
            self.exec_program(vec![Value::known("sh")], Vec::new());
            return true;
        }
        false
    }

    /// `busybox rm`.
    fn multi_call(&mut self, words: &[Value]) -> bool {
        if words.len() > 1 && !words[1].text.starts_with('-') {
            self.exec_program(words[1..].to_vec(), Vec::new());
        }
        true
    }

    fn shows_environment(&mut self, reading: &Reading) {
        if reading.operands.iter().all(|operand| operand.text.contains('=')) && !reading.has("-i") {
            self.does(Trait::ShowsEnvironment);
            self.read = self.read.with(Origin::SECRET);
        }
    }

    /// `dd if=… of=…`.
    fn copies_bytes(&mut self, reading: &Reading, index: usize) {
        let from =
            reading.operands.iter().find_map(|operand| operand.text.strip_prefix("if=").map(Value::known));
        let content = match from {
            Some(file) if !file.text.starts_with("/dev/") => self.written_at(&file),
            Some(_) => None,
            None => self.input.clone(),
        };
        for operand in reading.operands.clone() {
            let Some((key, path)) = operand.text.split_once('=') else { continue };
            // The shell reads `of=~/x` as a setting, in which `~` is the home.
            let path = match path.strip_prefix("~/") {
                Some(rest) => &format!("{}/{rest}", self.state.home),
                None => path,
            };
            let value = Value { text: path.into(), ..operand.clone() };
            match key {
                "if" if !path.starts_with("/dev/zero") && !path.starts_with("/dev/null") => {
                    self.reads_file(&value, index);
                }
                "of" if path != "/dev/null" => {
                    self.touch(Access::Write, &value, false, Some(index));
                    let (path, unclear) = self.absolute(&value);
                    if !unclear {
                        self.written(path, content.clone().unwrap_or_else(Value::unknown));
                    }
                }
                _ => {}
            }
        }
    }

    /// `curl -d @file`, `curl -F name=@file`, `curl -T file`.
    fn sends_files(&mut self, reading: &Reading, index: usize) {
        self.curl_config(reading, index);
        // `curl file:///path`.
        for operand in reading.operands.clone() {
            let front = operand.text.get(..7).filter(|front| front.eq_ignore_ascii_case("file://"));
            if let Some(at) = front.and_then(|_| operand.text[7..].find('/')) {
                let file = Value { text: operand.text[7 + at..].into(), ..operand.clone() };
                self.reads_file(&file, index);
            }
        }
        for given in &reading.given {
            let Some(value) = given.value.clone() else { continue };
            // `-b FILE`, `-H @FILE`.
            let headers = value.text.strip_prefix('@').filter(|_| given.is("-H"));
            if let Some(path) =
                headers.or((given.is("-b") && !value.text.contains('=')).then_some(&value.text))
            {
                let origin = self.reads_file(&Value { text: path.into(), ..value.clone() }, index);
                if origin.has(Origin::SECRET) && !self.stays_here(reading, index) {
                    self.does(Trait::SendsSecret);
                }
            }
            let data =
                ["-d", "-F", "--data-binary", "--data-urlencode", "--json", "--post-file", "--body-file"];
            let uploads = given.is("-T") || given.is("--post-file") || given.is("--body-file");
            if !uploads && !data.iter().any(|name| given.is(name)) {
                continue;
            }
            let path = match value.text.rfind(['@', '<']) {
                _ if uploads => value.text.clone(),
                Some(at)
                    if at == 0
                        || value.text[..at].ends_with('=')
                        || given.is("--data-urlencode") && !value.text[..at].contains('=') =>
                {
                    value.text[at + 1..].into()
                }
                _ => continue,
            };
            let path = path.split(';').next().unwrap_or_default().to_owned();
            let file = Value { text: path.into(), ..value };
            let origin =
                if file.plain() == Some("-") { self.reads_input() } else { self.reads_file(&file, index) };
            if origin.has(Origin::SECRET) && !self.stays_here(reading, index) {
                self.does(Trait::SendsSecret);
            }
        }
        // `http POST host @file`, `name=@file`, `name@file`.
        let is_httpie = self.way.last().is_some_and(|name| super::hosts::is_httpie(name));
        let named = |text: &'_ str| text.split_once('@').map(|(_, path)| path.to_owned());
        for operand in reading.operands.clone() {
            let given = operand.text.strip_prefix('@').or_else(|| Some(operand.text.split_once("=@")?.1));
            let given = given.map(str::to_owned).or_else(|| named(&operand.text).filter(|_| is_httpie));
            if let Some(path) = given {
                self.reads_file(&Value { text: path.into(), ..operand.clone() }, index);
            }
        }
    }

    /// `curl -O URL`, `wget URL`: the file has the name of the address.
    fn download(&mut self, reading: &Reading, index: usize) {
        for operand in reading.operands.clone() {
            let text = spelt(&operand.text);
            let path = text.split(['?', '#']).next().unwrap_or_default();
            let name = path.split_once("://").map_or(path, |(_, rest)| rest);
            let name = match name.rsplit_once('/') {
                Some((_, name)) if !name.is_empty() => name,
                _ => "index.html",
            };
            let folder = reading.values("-P").chain(reading.values("--output-dir")).next();
            let folder = folder.map(|folder| format!("{}/", folder.text)).unwrap_or_default();
            let file = Value::known(format!("{folder}{name}"));
            self.touch(Access::Write, &file, false, Some(index));
            let (path, unclear) = self.absolute(&file);
            if !unclear {
                self.written(path, Value::unknown().from(Origin::FETCHED));
            }
        }
    }

    /// `nc -e sh`: who calls gets a shell.
    fn listens(&mut self, reading: &Reading) {
        for flag in ["-e", "-c"] {
            if reading.values(flag).next().is_some() {
                self.does(Trait::RunsFetched);
            }
        }
    }

    /// `gunzip x.gz`, `gzip -d x`: the file has the name without its suffix.
    fn unpacks(&mut self, reading: &Reading, index: usize) {
        let unpacks = reading.has("-d") || self.way.last().is_some_and(|name| name.contains("un"));
        for operand in reading.operands.iter().filter(|_| unpacks).cloned().collect::<Vec<_>>() {
            let packed = [".gz", ".bz2", ".xz", ".zst", ".lz4", ".lzma", ".br", ".Z"];
            let text = packed.iter().find_map(|end| operand.text.strip_suffix(end)).unwrap_or(&operand.text);
            let file = Value { text: text.into(), ..operand.clone() };
            self.touch(Access::Write, &file, false, Some(index));
            self.holds_unknown(&file);
        }
    }

    /// `tar --checkpoint-action=exec=…`, `--to-command`, `-I`.
    fn checkpoint(&mut self, reading: &Reading, index: usize) {
        let options = self.of_environment("TAR_OPTIONS", index).unwrap_or_default();
        if let Some((_, text)) = options.text.split_once("exec=") {
            let text = Value { text: text.replace("\\ ", " ").into(), ..options.clone() };
            self.script(&text, Shell::Sh, Vec::new(), "what `tar` runs");
        } else if options.text.contains("-command") || options.text.contains("-program") {
            self.unclear_text("what `TAR_OPTIONS` has `tar` run is not known");
        }
        for flag in ["--checkpoint-action", "--to-command", "--use-compress-program", "-F"] {
            for value in reading.values(flag).cloned().collect::<Vec<_>>() {
                let text = match (flag, value.text.strip_prefix("exec=")) {
                    ("--checkpoint-action", None) => continue,
                    (_, text) => text.unwrap_or(&value.text).to_owned(),
                };
                self.script(&Value { text: text.into(), ..value }, Shell::Sh, Vec::new(), "what `tar` runs");
            }
        }
    }

    /// `make -f -` with known rules: every recipe may run.
    fn makefile(&mut self, reading: &Reading, index: usize) {
        for value in reading.values("--eval").cloned().collect::<Vec<_>>() {
            self.recipes(&value);
        }
        for name in ["MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS"] {
            let flags = self.of_environment(name, index).and_then(|flags| flags.literal());
            if let Some((_, rules)) = flags.as_deref().and_then(|flags| flags.split_once("--eval=")) {
                self.recipes(&Value::known(rules));
            }
        }
        self.of_built_in_rules(reading, index);
        let usual = ["GNUmakefile", "makefile", "Makefile"].map(Value::known);
        let usual = || usual.into_iter().find(|file| self.written_at(file).is_some());
        let Some(file) = reading.values("-f").next().cloned().or_else(usual) else { return };
        if matches!(file.plain(), Some("-" | "/dev/stdin")) {
            let rules = self.input.clone().unwrap_or_else(Value::unknown);
            self.unclear_text("`make` runs rules that are not in a file");
            self.recipes(&rules);
        } else if let Some(StandsFor::Content(rules)) = file.stands_for.as_deref() {
            self.unclear_text("`make` runs rules that are not in a file");
            self.recipes(rules);
        } else if let Some(rules) = self.written_at(&file) {
            self.recipes(&rules);
        }
    }

    pub(super) fn recipes(&mut self, rules: &Value) {
        let Some(text) = rules.literal() else { return };
        self.shell_of_rules(&text);
        for line in text.lines() {
            let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
            if let Some(recipe) = recipe {
                let recipe = recipe.trim_start_matches(['@', '-', '+']).replace("$$", "$");
                self.script(&Value::known(recipe), Shell::Sh, Vec::new(), "a rule of `make`");
            }
        }
    }

    /// `tar czf FILE …`: letters without a dash, and what they do with which words.
    fn archive(&mut self, words: &[Value], reading: &Reading, index: usize) {
        let bundled =
            words.get(1).and_then(Value::plain).filter(|word| !word.starts_with('-')).map(str::to_owned);
        let letters = bundled.clone().unwrap_or_default();
        let does = |letter: char, long: &str| {
            letters.contains(letter) || reading.has(&format!("-{letter}")) || reading.has(long)
        };
        let mut operands = reading.operands.clone();
        let mut file = reading.values("-f").next().cloned();
        let mut folder = reading.values("-C").next().cloned();
        if bundled.is_some() && !operands.is_empty() {
            operands.remove(0);
            for letter in letters.chars() {
                let slot = match letter {
                    'f' => &mut file,
                    'C' => &mut folder,
                    _ => continue,
                };
                if !operands.is_empty() {
                    *slot = Some(operands.remove(0));
                }
            }
        }
        let (creates, extracts) = (
            does('c', "--create") || does('r', "--append") || does('u', "--update"),
            does('x', "--extract") || reading.has("--get"),
        );
        if let Some(file) = file.filter(|file| !matches!(file.plain(), Some("-" | "/dev/null"))) {
            if creates {
                self.touch(Access::Write, &file, false, Some(index));
                let origin =
                    operands.iter().fold(Origin::default(), |all, operand| all.with(self.origin_at(operand)));
                let (path, unclear) = self.absolute(&file);
                if !unclear && origin.has(Origin::SECRET) {
                    self.written(path, Value::unknown().from(origin));
                }
            } else {
                self.reads_file(&file, index);
            }
        }
        if creates {
            for operand in &operands {
                self.reads_file(operand, index);
            }
            if reading.has("--remove-files") {
                for operand in &operands {
                    let front = folder.as_ref().map(|folder| format!("{}/", folder.text)).unwrap_or_default();
                    let file = Value { text: format!("{front}{}", operand.text).into(), ..operand.clone() };
                    self.touch(Access::Delete, &file, true, Some(index));
                }
            }
        }
        if extracts && !does('O', "--to-stdout") {
            let folder = folder.unwrap_or_else(|| Value::known("."));
            self.touch(Access::Write, &folder, true, Some(index));
        }
    }

    /// Whether awk does no more with its files than to read them: its code writes nothing and starts nothing.
    pub(super) fn is_awk_that_reads(&self, reading: &Reading) -> bool {
        let code = reading.operands.first().and_then(Value::plain);
        self.way.last().is_some_and(|name| name.ends_with("awk"))
            && reading.given.iter().all(|given| given.is("-F"))
            && code.is_some_and(|code| !code.contains(['>', '|', '@']) && !code.contains("system"))
    }

    /// `awk -F= '{print $1}' .env`.
    fn is_awk_of_names(&self, reading: &Reading) -> bool {
        let words = reading.operands.iter().map(Value::plain);
        self.is_awk_that_reads(reading)
            && words.eq([Some("{print $1}"), Some(".env")])
            && reading.values("-F").next().and_then(Value::plain) == Some("=")
    }

    /// `grep PATTERN FILES`, `sed SCRIPT FILES`: the first operand is no file unless an option has its place.
    /// A search of folders without files reads the folder at hand, unless it has an input.
    fn filter(&mut self, searches: bool, reading: &Reading, index: usize) {
        let has_pattern = ["-e", "-f", "--files", "--expression"].iter().any(|flag| reading.has(flag));
        let mut files: Vec<Value> =
            reading.operands.iter().skip(usize::from(!has_pattern)).cloned().collect();
        if searches && files.is_empty() && (self.input.is_none() || reading.has("-r")) {
            files.push(Value::known("."));
        }
        // `yq -p props .env`: a lone operand without an input is a file as well.
        if !searches && files.is_empty() && self.input.is_none() && !reading.has("-n") {
            files.extend(reading.operands.first().cloned());
        }
        if searches {
            self.found_secrets(reading, &files, index);
        }
        let names = is_of_names(reading);
        for file in files.into_iter().filter(|file| !names || !file.text.contains(".env")) {
            self.reads_file(&file, index);
        }
    }
}

/// Whether of lines such as `NAME=value` names alone are shown: `sed 's/=.*/=/' .env`, `grep -oE '^[A-Z_]+' .env`.
fn is_of_names(reading: &Reading) -> bool {
    const CUT: [&str; 5] = ["s/=.*//", "s/=.*/=/", "s/=.*$//", "s/=.*$/=/", "s/=.*/=***/"];
    const NAMES: [&str; 7] =
        ["[^=]", "[A-Z_]", "[A-Z0-9_]", "[A-Z_0-9]", "[A-Za-z_]", "[A-Za-z0-9_]", "[a-zA-Z_]"];
    let given =
        |allowed: &[&str]| reading.given.iter().all(|given| allowed.iter().any(|flag| given.is(flag)));
    let Some(asked) = reading.operands.first().and_then(Value::plain) else { return false };
    let sought = || Some(asked.strip_prefix('^')?.trim_end_matches(['=', '+', '*']));
    CUT.contains(&asked) && given(&["-E", "-r"])
        || reading.has("-o")
            && given(&["-o", "-E", "-P", "-h"])
            && sought().is_some_and(|class| NAMES.contains(&class))
}
