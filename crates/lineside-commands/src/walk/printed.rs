//! Names that a program prints: made of those that it is given, or found in a folder.

use std::rc::Rc;

use super::Walk;
use crate::path;
use crate::reading::Reading;
use crate::value::{STAR, StandsFor, UNKNOWN, Value, spelt};

impl Walk<'_> {
    /// `dirname`, `basename`, `realpath`, `which`, `ls`, `git rev-parse`, `git ls-files`; answers that no more is printed.
    pub(super) fn prints_names(&mut self, reading: &Reading) -> bool {
        let name = self.way.last().cloned().unwrap_or_default();
        let operands = &reading.operands;
        let has = |flags: &[&str]| flags.iter().any(|flag| reading.has(flag));
        let lines: Vec<Value> = match name.as_str() {
            "dirname" => operands.iter().map(folder_of).collect(),
            "basename" => {
                let several = has(&["-a", "-s"]);
                let end = reading.values("-s").next().or(operands.get(1).filter(|_| !several));
                let end = end.and_then(Value::plain).unwrap_or_default();
                let given = if several { &operands[..] } else { &operands[..operands.len().min(1)] };
                given.iter().map(|one| name_of(one, end)).collect()
            }
            // The path of a program ends with its name.
            "which" => {
                let told = |one: &Value| {
                    one.plain().map_or_else(Value::unknown, |name| Value::known(format!("{UNKNOWN}/{name}")))
                };
                operands.iter().map(told).collect()
            }
            "realpath" | "readlink" if has(&["--relative-to", "--relative-base"]) => vec![Value::unknown()],
            "readlink" if !has(&["-f", "-e", "-m"]) => vec![Value::unknown()],
            "realpath" | "readlink" => operands.iter().map(|one| self.real(one)).collect(),
            "git" if reading.subcommand.first().is_some_and(|sub| sub == "rev-parse") => {
                vec![self.place_in_project(reading)]
            }
            "git" if has(&["-s", "-t"]) => return false,
            "git" => {
                let hidden = has(&["-o"]) && !has(&["--exclude-standard"]);
                let usual =
                    if has(&["-d"]) { format!("**/{}", super::spread::SOME) } else { "**/*".to_owned() };
                return self.prints_found(operands, &usual, hidden.then_some("**/.*"));
            }
            _ if has(&["-l"]) => return false,
            _ if has(&["-d"]) && !operands.is_empty() => operands.clone(),
            _ => return self.prints_found(operands, "*", has(&["-a", "-A", "-f"]).then_some(".*")),
        };
        for line in lines {
            self.prints_line(line);
        }
        true
    }

    /// Prints the names of files, of the folder at hand where none is given.
    fn prints_found(&mut self, operands: &[Value], usual: &str, hidden: Option<&str>) -> bool {
        let here = [Some(usual), hidden].into_iter().flatten().filter(|_| operands.is_empty());
        let here: Vec<Value> = here.map(Value::known).collect();
        let known =
            operands.iter().chain(&here).map(|one| self.absolute(one)).filter(|(_, unclear)| !unclear);
        let found = StandsFor::Printed(known.map(|(path, _)| path).collect());
        self.out.push(&Value { stands_for: Some(Rc::new(found)), ..Value::unknown() });
        true
    }

    /// `compgen -f .e`, `compgen -G '*'`.
    pub(super) fn completes(&mut self, words: &[Value]) {
        let asks = |flag: &str| words.iter().any(|word| word.plain() == Some(flag));
        let begun = words.last().filter(|word| !word.text.starts_with('-')).map(|word| spelt(&word.text));
        let found: Vec<Value> = match begun {
            Some(glob) if asks("-G") => vec![Value::known(glob)],
            Some(begun) if asks("-f") || asks("-d") => vec![Value::known(format!("{begun}*"))],
            None if asks("-f") || asks("-d") => vec![Value::known("*"), Value::known(".*")],
            _ => return,
        };
        self.prints_found(&found, "", None);
    }

    /// The path without links.
    fn real(&self, value: &Value) -> Value {
        let (path, unclear) = self.absolute(value);
        if unclear || value.plain().is_none() {
            return Value::unknown().from(value.origin);
        }
        let led = self.made(&path, true).into_iter().next();
        let led = led.or_else(|| self.state.links.and_then(|links| links.resolve(&path, true)));
        Value::known(led.unwrap_or(path))
    }

    fn place_in_project(&self, reading: &Reading) -> Value {
        let project = self.state.project.trim_end_matches('/');
        let here = self.scope.cwd.as_deref().filter(|cwd| path::is_within(cwd, project));
        let Some(below) = here.and_then(|cwd| cwd.strip_prefix(project)) else { return Value::unknown() };
        let below = below.trim_matches('/');
        let mut given = reading.given.iter().filter_map(|given| given.spellings.first());
        let text = match given.find(|name| name.starts_with("--")).map(|name| &**name) {
            Some("--show-toplevel") => project.to_owned(),
            Some("--show-cdup" | "--show-prefix") if below.is_empty() => String::new(),
            Some("--show-cdup") => "../".repeat(below.split('/').count()),
            Some("--show-prefix") => format!("{below}/"),
            Some("--git-dir" | "--absolute-git-dir" | "--git-common-dir") => format!("{project}/.git"),
            _ => return Value::unknown(),
        };
        Value::known(text)
    }

    /// What a program prints that hands on names: those of its input which it lets through, or of files in which it finds a text.
    pub(super) fn names_printed(&self, name: &str, reading: &Reading) -> Option<Value> {
        let searches = matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack");
        let asked = searches.then(|| reading.values("-e").next().or(reading.operands.first())).flatten();
        let files = reading.operands.get(usize::from(searches && !reading.has("-e"))..).unwrap_or_default();
        if searches && (reading.has("-l") || reading.has("-L") || reading.has("--files")) {
            let is_input = files.is_empty() && !reading.has("-r") && name.ends_with("grep");
            let here = [Value::known(".")];
            let files = if files.is_empty() && !is_input { &here } else { files };
            let known = files.iter().map(|one| self.absolute(one)).filter(|(_, unclear)| !unclear);
            let found = known.flat_map(|(path, _)| [format!("{}/**/*", path.trim_end_matches('/')), path]);
            let stands_for = Some(Rc::new(StandsFor::Printed(found.collect())));
            return Some(Value { stands_for, ..Value::unknown() });
        }
        let passes = searches || matches!(name, "head" | "tail" | "sort" | "uniq" | "tac" | "shuf");
        let input = self.input.as_ref().filter(|_| passes && files.is_empty())?;
        let Some(StandsFor::Printed(patterns)) = input.stands_for.as_deref() else { return None };
        let fitting = asked.filter(|_| !reading.has("-v")).and_then(Value::literal);
        let fitting =
            fitting.map(|expression| super::sought::name_of(&expression)).filter(|name| name != "*");
        // Some of the names.
        let picks = searches || matches!(name, "head" | "tail");
        let fitting = fitting.or_else(|| picks.then(|| super::spread::SOME.to_owned()));
        let narrowed = |pattern: &String| {
            let (folder, last) = pattern.rsplit_once('/')?;
            let fitting = fitting.as_ref()?;
            let front = match last {
                "" => "**/",
                ".*" if !fitting.starts_with('.') => ".",
                "*" | ".*" => "",
                _ => return None,
            };
            Some(format!("{folder}/{front}{fitting}"))
        };
        let patterns = patterns.iter().map(|pattern| narrowed(pattern).unwrap_or_else(|| pattern.clone()));
        let stands_for = Some(Rc::new(StandsFor::Printed(patterns.collect())));
        Some(Value { stands_for, ..input.clone() })
    }
}

/// The folder that a path names, as `dirname` prints it.
fn folder_of(value: &Value) -> Value {
    let text = value.text.trim_end_matches('/');
    let folder = match text.rsplit_once('/') {
        Some((_, name)) if name.contains(UNKNOWN) => return Value::unknown().from(value.origin),
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None if value.is_unclear() => return Value::unknown().from(value.origin),
        None if value.text.starts_with('/') => "/",
        None => ".",
    };
    Value { text: folder.into(), ..value.clone() }
}

/// The name at the end of a path without an ending, as `basename` prints it.
fn name_of(value: &Value, end: &str) -> Value {
    let text = value.text.trim_end_matches('/');
    let name = text.rsplit('/').next().unwrap_or_default();
    if name.contains(UNKNOWN) && !name.starts_with(STAR) {
        return Value::unknown().from(value.origin);
    }
    let name = name.strip_suffix(end).filter(|name| !name.is_empty()).unwrap_or(name);
    Value { text: name.into(), ..value.clone() }
}
