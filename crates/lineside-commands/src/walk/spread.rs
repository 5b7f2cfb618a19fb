//! Programs that start another one over names: `find`, `fd`, `xargs`, `parallel`.

use std::rc::Rc;

use super::Walk;
use super::sought::{Names, name_of, name_of_path, paths_of};
use crate::analysis::{Access, Trait};
use crate::reading::Reading;
use crate::state::Shell;
use crate::value::{StandsFor, UNKNOWN, Value, spelt};

/// Names of which it is not known which: not all of a folder, as `*` is.
pub(super) const SOME: &str = "*?*";

impl Walk<'_> {
    /// `find`: its roots, and what its predicates do with what they find.
    pub(crate) fn find(&mut self, words: &[Value], index: usize) -> bool {
        let begins =
            |word: &Value| word.text.starts_with('-') || matches!(word.plain(), Some("(" | "!" | ")"));
        let mut from = 1;
        while let Some(word) = words.get(from) {
            from += match word.plain() {
                Some("-L" | "-H" | "-P" | "--") => 1,
                Some("-D") => 2,
                Some(level) if level.starts_with("-O") => 1,
                _ => break,
            };
        }
        from = from.min(words.len());
        let end = words[from..].iter().position(begins).map_or(words.len(), |at| from + at);
        let mut roots = words[from..end].to_vec();
        if roots.is_empty() {
            roots.push(Value::known("."));
        }
        let tests = &words[end..];
        let mut names = Names::default();
        let mut at = 0;
        let mut prints = true;
        let mut hides = false;
        while at < tests.len() {
            let test = spelt(&tests[at].text);
            let negated = at > 0 && matches!(tests[at - 1].plain(), Some("!" | "-not"));
            at += 1;
            match test.as_str() {
                "(" | "\\(" => names.begin(negated),
                ")" | "\\)" => names.end(),
                "-o" | "-or" | "," => names.or(),
                "-empty" if !negated => names.little(),
                "-type" | "-xtype"
                    if !negated && tests.get(at).is_some_and(|kind| kind.plain() == Some("l")) =>
                {
                    names.little();
                }
                "-name" | "-iname" | "-path" | "-wholename" if !negated => {
                    let pattern = tests.get(at).map(|value| spelt(&value.text)).unwrap_or_default();
                    // Every name is no condition.
                    if pattern != "*" {
                        let small = pattern.to_lowercase();
                        if test == "-iname" && small != pattern {
                            names.and((true, small));
                        }
                        names.and((test.ends_with("name") && test != "-wholename", pattern));
                    }
                }
                // `-not -path '*/.*'`.
                "-name" | "-iname" | "-path" | "-wholename" => {
                    let pattern = tests.get(at).map(|value| spelt(&value.text).replace('\\', ""));
                    let is_name = test.ends_with("name") && test != "-wholename";
                    hides |= pattern.is_some_and(|pattern| {
                        is_name && pattern.starts_with('.') || pattern.ends_with("/.*")
                    });
                }
                "-regex" | "-iregex" if !negated => {
                    let asked = tests.get(at).map(|value| spelt(&value.text)).unwrap_or_default();
                    names.and((true, name_of_path(&asked).unwrap_or_else(|| "*".to_owned())));
                }
                "-printf" | "-ls" => prints = false,
                "-delete" => {
                    prints = false;
                    let found = self.found(&roots, &names.now(), hides);
                    self.touch(Access::Delete, &found, true, Some(index));
                    if roots.iter().any(Value::is_unclear) {
                        self.does(Trait::DeletesUnclear);
                        self.unclear_paths("`find` deletes below a folder that is not known");
                    }
                }
                "-fprint" | "-fprintf" | "-fls" => {
                    prints = false;
                    if let Some(file) = tests.get(at) {
                        self.touch(Access::Write, file, false, Some(index));
                        self.holds_unknown(file);
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    prints = false;
                    let names = names.now();
                    let found = self.found(&roots, &names, hides);
                    let stop = |word: &Value| matches!(word.plain(), Some(";" | "+"));
                    let stop = tests[at..].iter().position(stop).map_or(tests.len(), |end| at + end);
                    let many = tests.get(stop).is_some_and(|word| word.plain() == Some("+"));
                    let command: Vec<Value> =
                        tests[at..stop].iter().map(|word| self.filled(word, &found, &names, many)).collect();
                    at = stop;
                    if roots.iter().any(Value::is_unclear) {
                        self.unclear_paths("`find` searches below a folder that is not known");
                    }
                    let here = self.scope.cwd.clone();
                    if test.ends_with("dir")
                        && let [root] = roots.as_slice()
                    {
                        let (path, unclear) = self.absolute(root);
                        self.scope.cwd = (!unclear).then(|| format!("{}/**", path.trim_end_matches('/')));
                    }
                    self.exec_program(command, Vec::new());
                    self.scope.cwd = here;
                }
                _ => {}
            }
        }
        if prints {
            let patterns = self.patterns(&roots, &names.all(), hides);
            let stands_for = Some(Rc::new(StandsFor::Printed(patterns)));
            self.out.push(&Value { stands_for, ..Value::unknown() });
        }
        prints
    }

    /// `grep -r --include=.env`, `rg -g .env`: files of secrets that a search asks for by their names.
    pub(crate) fn found_secrets(&mut self, reading: &Reading, roots: &[Value], index: usize) {
        let asked = ["--include", "-g", "--iglob"].into_iter().flat_map(|flag| reading.values(flag));
        let patterns = asked.filter_map(Value::literal).filter(|name| !name.starts_with('!'));
        let expressions = reading.values("-G").filter_map(Value::literal).map(|asked| name_of(&asked));
        for pattern in patterns.chain(expressions).collect::<Vec<_>>() {
            let pattern = pattern.trim_start_matches('/');
            let found = self.found(roots, &[(true, pattern.to_owned())], true);
            // What other names a glob may mean is said of the folder.
            if self.is_secret(&format!("/{pattern}")) {
                self.reads_file(&found, index);
            }
        }
    }

    fn found(&self, roots: &[Value], names: &[(bool, String)], hides: bool) -> Value {
        let stands_for = Some(Rc::new(StandsFor::Found(self.patterns(roots, names, hides))));
        Value { stands_for, ..Value::unknown() }
    }

    /// What is found below the roots, as patterns: one that ends with a slash is for all names, which `hides` may leave out
    /// that begin with a dot.
    fn patterns(&self, roots: &[Value], names: &[(bool, String)], hides: bool) -> Vec<String> {
        let mut patterns = Vec::new();
        for root in roots {
            let (path, unclear) = self.absolute(root);
            if unclear {
                continue;
            }
            if names.is_empty() {
                let end = if hides || path.ends_with('/') { "" } else { "/" };
                patterns.push(format!("{path}{end}"));
            }
            for (is_name, pattern) in names {
                if *is_name {
                    patterns.push(format!("{}/**/{pattern}", path.trim_end_matches('/')));
                } else if pattern.starts_with('*') {
                    patterns.extend(paths_of(&path, pattern));
                } else {
                    let within = crate::path::normal(self.scope.cwd.as_deref().unwrap_or_default(), pattern);
                    patterns.push(within.replace('*', "**"));
                }
            }
        }
        patterns
    }

    /// A word of the command with what was found in place of `{}`.
    fn filled(&self, word: &Value, found: &Value, names: &[(bool, String)], many: bool) -> Value {
        let Some(text) = word.literal().filter(|text| text.contains("{}")) else { return word.clone() };
        if text != "{}" {
            return Value { text: text.replace("{}", &UNKNOWN.to_string()).into(), ..word.clone() };
        }
        let text = match names {
            _ if many => crate::value::MANY.to_string(),
            [(true, name)] => {
                let name = name.trim_start_matches('*');
                format!("{UNKNOWN}{}", name.replace(['*', '?'], &UNKNOWN.to_string()))
            }
            _ => UNKNOWN.to_string(),
        };
        Value { text: text.into(), ..found.clone() }
    }

    /// `fd -x`, `fd -X`, and the names that it prints without.
    pub(crate) fn fd(&mut self, words: &[Value]) -> bool {
        let runs = |word: &Value| matches!(word.plain(), Some("-x" | "-X" | "--exec" | "--exec-batch"));
        let at = words.iter().position(runs).unwrap_or(words.len());
        let mut command = words.get(at + 1..).unwrap_or_default().to_vec();
        if let Some(end) = command.iter().position(|word| word.plain() == Some(";")) {
            command.truncate(end);
        }
        let reading = crate::reading::read("fd", &words[1..at]);
        let mut roots = reading.operands.get(1..).unwrap_or_default().to_vec();
        roots.extend(reading.values("--search-path").cloned());
        if roots.is_empty() {
            roots.extend(reading.values("--base-directory").next().cloned());
        }
        if roots.is_empty() {
            roots.push(Value::known("."));
        }
        let mut names: Vec<(bool, String)> = reading
            .values("-e")
            .filter_map(Value::literal)
            .map(|end| (true, format!("*.{}", end.trim_start_matches('.'))))
            .collect();
        let asked = reading.operands.first().and_then(Value::literal).filter(|asked| asked != ".");
        if let Some(asked) = asked.filter(|asked| names.is_empty() && !asked.is_empty()) {
            names.push((true, if reading.has("-g") { asked } else { name_of(&asked) }));
        }
        // Names that begin with a dot are left out unless it is asked for them.
        let hides = !reading.has("-H") && !reading.has("-u");
        if at == words.len() {
            let stands_for = Some(Rc::new(StandsFor::Printed(self.patterns(&roots, &names, hides))));
            self.out.push(&Value { stands_for, ..Value::unknown() });
            return true;
        }
        let found = self.found(&roots, &names, hides);
        let many = matches!(words[at].plain(), Some("-X" | "--exec-batch"));
        let named = command.iter().any(|word| word.text.contains("{}"));
        let mut command: Vec<Value> =
            command.iter().map(|word| self.filled(word, &found, &names, many)).collect();
        if !named {
            command.push(self.filled(&Value::known("{}"), &found, &names, true));
        }
        self.exec_program(command, Vec::new());
        true
    }

    /// `xargs` and `parallel`: the words of the input behind those of the command.
    pub(crate) fn xargs(&mut self, words: &[Value], reading: &Reading) -> bool {
        let mut command = reading.places.first().map_or_else(Vec::new, |place| words[1 + place..].to_vec());
        let mut given: Option<Vec<Value>> = None;
        // `parallel rm ::: a b`.
        if let Some(at) = command.iter().position(|word| matches!(word.plain(), Some(":::" | ":::+"))) {
            given = Some(command.split_off(at).split_off(1));
        }
        if self.way.last().is_some_and(|name| name == "parallel") {
            // Parts of what is put in.
            for part in ["{.}", "{/}", "{//}", "{/.}", "{#}", "{%}"] {
                for word in command.iter_mut().filter(|word| word.text.contains(part)) {
                    word.text = word.text.replace(part, &UNKNOWN.to_string()).into();
                }
            }
        }
        let zero = reading.has("-0") || reading.has("-d");
        let is_parallel = self.way.last().is_some_and(|name| name == "parallel");
        let holder =
            ["-I", "-J", "-i"].iter().find_map(|flag| reading.values(flag).next()).and_then(Value::literal);
        let holder = holder.or_else(|| {
            let braces = reading.has("-i")
                || command.iter().any(|word| word.text.contains("{}")) && (given.is_some() || is_parallel);
            braces.then(|| "{}".to_owned())
        });
        let origin = self.reads_input();
        let from_file = reading.has("-a");
        let input = self.input.clone().filter(|_| !from_file);
        let items = given.or_else(|| {
            let text = input?.literal()?;
            let parts: Vec<&str> = if zero {
                text.split(['\0']).collect()
            } else if holder.is_some() || is_parallel {
                text.lines().collect()
            } else {
                text.split_ascii_whitespace().collect()
            };
            let parts = parts.into_iter().map(|part| part.trim_matches('\n')).filter(|part| !part.is_empty());
            Some(parts.map(|part| Value::known(unquoted(part)).from(origin)).collect())
        });
        if command.is_empty() && is_parallel {
            // Each line is a command.
            let lines = items.unwrap_or_else(|| vec![Value::unknown().from(origin)]);
            for line in lines {
                self.script(&line, Shell::Sh, Vec::new(), "what is run several times");
            }
            return true;
        }
        if command.is_empty() {
            self.out.push(&Value::unknown().from(origin));
            return true;
        }
        let Some(items) = items else {
            let deletes = command.first().and_then(Value::plain).is_some_and(|name| name.ends_with("rm"));
            if deletes {
                self.unclear_paths("which names are handed on is not known");
            }
            match &holder {
                Some(holder) => {
                    let found = self.input.as_ref().and_then(|input| input.stands_for.clone());
                    for word in command.iter_mut().filter(|word| word.text.contains(holder.as_str())) {
                        word.stands_for = found.clone().filter(|_| word.text == *holder);
                        word.text = word.text.replace(holder.as_str(), &UNKNOWN.to_string()).into();
                        word.origin = word.origin.with(origin);
                    }
                }
                None => {
                    let found = self.input.as_ref().filter(|_| !from_file);
                    // With `-0` names are not split.
                    let stands_for =
                        found.and_then(|input| input.stands_for.clone()).map(|found| match &*found {
                            StandsFor::Printed(patterns) if zero => {
                                Rc::new(StandsFor::Found(patterns.clone()))
                            }
                            _ => found,
                        });
                    command.push(Value { stands_for, ..Value::many().from(origin) });
                }
            }
            self.exec_spread(command, is_parallel);
            return true;
        };
        if items.is_empty() {
            self.exec_program(command, Vec::new());
            return true;
        }
        let each = match &holder {
            Some(_) => 1,
            None => {
                let count = ["-n", "-N", "-L"].iter().find_map(|flag| reading.values(flag).next());
                let all =
                    if is_parallel && !reading.has("-X") && !reading.has("-m") { 1 } else { items.len() };
                count.and_then(|count| count.plain()?.parse().ok()).unwrap_or(all).max(1)
            }
        };
        for part in items.chunks(each) {
            let mut words = command.clone();
            match &holder {
                Some(holder) => {
                    for word in &mut words {
                        word.text = word.text.replace(holder.as_str(), &part[0].text).into();
                        word.origin = word.origin.with(origin);
                    }
                }
                None => words.extend(part.iter().cloned()),
            }
            self.exec_spread(words, is_parallel);
            if self.is_full() {
                break;
            }
        }
        true
    }
}

impl Walk<'_> {
    /// Starts the words of `xargs`, or those of `parallel`, which a shell reads once more.
    fn exec_spread(&mut self, words: Vec<Value>, is_parallel: bool) {
        let is_text = |word: &Value| word.text.contains([' ', ';', '|', '&', '$', '`', '\n']);
        if is_parallel && words.iter().any(is_text) {
            let text = super::data::joined(&words);
            // What is put in is quoted, so that it is a word and no text of the shell.
            if text.is_unclear()
                && !text.text.starts_with(UNKNOWN)
                && !text.text.contains([';', '|', '&', '$', '`', '\n'])
            {
                return self.in_copy(|walk| walk.run_partly(&text));
            }
            self.script(&text, Shell::Sh, Vec::new(), "what is run several times");
        } else {
            self.exec_program(words, Vec::new());
        }
    }
}

fn unquoted(part: &str) -> String {
    let inner = part.strip_prefix(['\'', '"']).and_then(|part| part.strip_suffix(['\'', '"']));
    inner.unwrap_or(part).to_owned()
}
