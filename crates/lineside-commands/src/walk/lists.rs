//! Statements: lists, pipes, branches and loops.

use super::Walk;
use crate::analysis::{CommandProgram, Flag, Trait};
use crate::expand::is_arithmetic;
use crate::limits;
use crate::parse::{Command, Statement};
use crate::value::Value;

impl Walk<'_> {
    pub(crate) fn list(&mut self, statements: &[Statement<'_>]) {
        for statement in statements {
            if self.is_full() {
                if self.analysis.programs.len() >= limits::PROGRAMS {
                    self.cut("it starts more than 256 programs");
                }
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        self.nesting += 1;
        if self.nesting > limits::NESTING {
            self.cut("the command is nested too deeply");
        } else if statement.background && !matches!(statement.command, Command::Simple { .. }) {
            let scope = self.scope.clone();
            self.command(statement);
            self.scope = scope;
        } else {
            self.command(statement);
        }
        self.nesting -= 1;
    }

    fn command(&mut self, statement: &Statement<'_>) {
        if let Command::Simple { assignments, words } = &statement.command {
            self.simple(assignments, words, &statement.redirections);
            return;
        }
        let before = self.input.clone();
        let redirected = self.redirect(&statement.redirections);
        if let Some(input) = redirected.input {
            self.input = Some(input);
        }
        let outer = std::mem::take(&mut self.out);
        self.compound(&statement.command);
        let printed = std::mem::replace(&mut self.out, outer);
        self.deliver(printed, &redirected.out);
        self.input = before;
    }

    fn compound(&mut self, command: &Command<'_>) {
        match command {
            Command::Simple { .. } => {}
            Command::And(left, right) => self.each_if_the_last(left, right),
            Command::Or(left, right) => {
                self.statement(left);
                let kept = self.scope.clone();
                self.statement(right);
                // What stands behind runs where the left side did its part, or the right one did not end it.
                let other = std::mem::replace(&mut self.scope, kept);
                if !ends(right) && other != self.scope {
                    let cwd = self.scope.cwd.clone();
                    self.scope.merge(&other);
                    self.scope.cwd = cwd;
                }
            }
            Command::Pipe(left, right) => self.pipe(left, right),
            Command::Group(list) => self.list(list),
            Command::Subshell(list) => self.in_copy(|walk| walk.list(list)),
            Command::If { branches, otherwise } => {
                let mut after: Option<super::Scope> = None;
                for (condition, body) in branches {
                    self.list(condition);
                    let start = self.scope.clone();
                    self.list(body);
                    let end = std::mem::replace(&mut self.scope, start);
                    merge(&mut after, end, body);
                }
                if let Some(list) = otherwise {
                    self.list(list);
                }
                let end = self.scope.clone();
                merge(&mut after, end, otherwise.as_deref().unwrap_or_default());
                self.scope = after.unwrap_or_else(|| self.scope.clone());
            }
            Command::Loop { texts, condition, body } => {
                for text in texts {
                    self.only_substitutions(text);
                    self.evaluates(text);
                }
                let start = self.scope.clone();
                self.list(condition);
                self.list(body);
                self.again(&start, |walk| {
                    walk.list(condition);
                    walk.list(body);
                });
            }
            Command::For { names, words, body } => self.for_each(names, words.as_deref(), body),
            Command::Select { name, words, body } => {
                let values = self.words(words);
                self.counted(name, &values);
                let one = if values.len() == 1 { values } else { vec![Value::unknown()] };
                self.scope.set(name, one);
                self.list(body);
            }
            Command::Case { word, arms } => {
                let word = self.one(word);
                let start = self.scope.clone();
                let mut after = None;
                for (patterns, body) in arms {
                    let mut known = false;
                    for pattern in patterns {
                        let pattern = self.words(&[pattern]).pop().unwrap_or_default();
                        known |= match word.plain() {
                            Some(text) => self.pattern_fits(&crate::expand::pattern_of(&pattern), text),
                            None => true,
                        };
                    }
                    // Each arm may run; that of a known word is the one that does.
                    self.scope = start.clone();
                    self.list(body);
                    if known {
                        let end = self.scope.clone();
                        merge(&mut after, end, body);
                    }
                }
                self.scope = after.unwrap_or(start);
            }
            // `(( a ); ( b ))` holds two subshells.
            Command::Text(text) if text.strip_prefix("((").is_some_and(|rest| !is_arithmetic(rest)) => {
                self.text(&format!("( {}", &text[1..]));
            }
            Command::Text(text) => {
                self.only_substitutions(text);
                self.evaluates(text);
                self.assigned_in_arithmetic(text);
            }
            Command::Function { names, body } => {
                for name in names {
                    self.scope.functions.insert((*name).to_owned(), (*body).to_owned());
                }
            }
        }
    }

    /// `a && b && c`: what stands behind sees that all have run, or that one has failed.
    fn each_if_the_last(&mut self, left: &Statement<'_>, right: &Statement<'_>) {
        let mut chain = vec![right];
        let mut at = left;
        while let Command::And(left, right) = &at.command
            && at.redirections.is_empty()
            && !at.background
        {
            chain.push(&**right);
            at = &**left;
        }
        self.statement(at);
        let mut before = at;
        let mut failed: Vec<super::Scope> = Vec::new();
        for statement in chain.into_iter().rev() {
            if may_fail(before) && failed.last() != Some(&self.scope) {
                failed.push(self.scope.clone());
            }
            self.statement(statement);
            before = statement;
        }
        if !ends(right) {
            failed.iter().for_each(|scope| self.scope.doubt(scope));
        }
    }

    /// `(( x = 1 ))` sets variables to what is not computed here.
    fn assigned_in_arithmetic(&mut self, text: &str) {
        let Some(inner) = text.strip_prefix("((") else { return };
        let names: Vec<String> = self.scope.variables.keys().cloned().collect();
        for name in names {
            if inner.contains(&name) && inner.contains(['=', '+', '-']) {
                self.scope.set(&name, vec![Value::of_sign(crate::value::FRESH)]);
            }
        }
    }

    /// RunsFilter it in a copy of the shell.
    pub(crate) fn in_copy(&mut self, run: impl FnOnce(&mut Self)) {
        let scope = self.scope.clone();
        run(self);
        self.scope = scope;
    }

    /// RunsFilter the body of a loop once more where the first time has changed what it sees.
    fn again(&mut self, start: &super::Scope, run: impl FnOnce(&mut Self)) {
        if *start == self.scope || self.is_full() {
            return;
        }
        self.scope.merge(start);
        // What it is after further turns is none of these two.
        self.scope.either.retain(|name, all| start.either.get(name) == Some(all));
        let (programs, touches) = (self.analysis.programs.len(), self.analysis.touches.len());
        let unclear = self.analysis.unclear.len();
        let before = self.analysis.clone();
        run(self);
        // What is the same as the first time is not listed twice; nor is what the first time knew better.
        if self.analysis.programs[programs..].iter().all(|p| before.programs.iter().any(|q| p.name == q.name))
        {
            self.analysis.programs.truncate(programs);
            self.analysis.touches.truncate(touches);
            self.analysis.unclear.truncate(unclear);
            self.forget_places();
        }
    }

    fn for_each(&mut self, names: &[&str], words: Option<&[&str]>, body: &[Statement<'_>]) {
        let values = match words {
            Some(words) => self.words(words),
            None => self.scope.positional.clone().unwrap_or_else(|| vec![Value::many()]),
        };
        let Some(name) = names.first() else { return };
        if names.len() > 1 {
            for name in names {
                self.scope.set(name, vec![Value::unknown()]);
            }
            self.list(body);
            return;
        }
        if values.is_empty() {
            // An empty list starts nothing.
            return;
        }
        for value in values {
            let stands_for = value.stands_for.clone();
            let one = || Value { stands_for, ..Value::unknown().from(value.origin) };
            let value = if value.is_many() { one() } else { value };
            self.counted(name, std::slice::from_ref(&value));
            self.scope.set(name, vec![value]);
            self.list(body);
            if self.is_full() {
                return;
            }
        }
    }

    /// The words of a plain command, unless the command itself gives its name a meaning.
    fn own_words<'s, 't>(&self, statement: &'s Statement<'t>) -> Option<&'s [&'t str]> {
        let Command::Simple { assignments, words } = &statement.command else { return None };
        let is_plain = assignments.is_empty() && statement.redirections.is_empty() && self.aliases.is_none();
        let is_own = words.first().is_some_and(|name| self.scope.functions.contains_key(*name))
            || self.scope.variables.contains_key("PATH");
        (is_plain && !is_own).then_some(words)
    }

    fn pipe(&mut self, left: &Statement<'_>, right: &Statement<'_>) {
        let outer = std::mem::take(&mut self.out);
        let scope = self.scope.clone();
        let shows = self.analysis.traits.contains(&Trait::ShowsEnvironment);
        let known = self.analysis.programs.len();
        self.statement(left);
        self.scope.clone_from(&scope);
        let mut printed = std::mem::replace(&mut self.out, outer);
        let words = (self.own_words(left), self.own_words(first_of(right)));
        if let (Some(left), Some(right)) = words {
            if passes_names(left, right) {
                self.analysis.traits.retain(|one| shows || *one != Trait::ShowsEnvironment);
                printed.origin = crate::value::Origin::default();
            }
            // What takes the secret stands as an option of what prints it.
            if let [program] = &mut self.analysis.programs[known..]
                && logs_in(program, right)
            {
                program.flags.push(Flag { spellings: vec!["--password-stdin".into()].into(), value: None });
            }
        }
        let before = self.input.replace(printed);
        self.statement(right);
        self.input = before;
        // The last part runs in the shell itself in zsh alone; what it sets there is rarely used afterwards.
        if self.shell != crate::Shell::Zsh {
            self.scope = scope;
        }
    }
}

/// The first part of a pipe.
fn first_of<'s, 't>(statement: &'s Statement<'t>) -> &'s Statement<'t> {
    if let Command::Pipe(first, _) = &statement.command { first } else { statement }
}

/// Whether of the environment names alone go on, one value that is no secret, or how much it is.
fn passes_names(left: &[&str], right: &[&str]) -> bool {
    let is_plain = |text: &str| {
        let signs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'^' | b'=' | b'.');
        !text.is_empty() && text.bytes().all(signs)
    };
    let is_open = |pattern: &str| {
        let name = pattern.trim_matches('\'').strip_prefix('^').and_then(|name| name.strip_suffix('='));
        let parts = ["KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH"];
        name.is_some_and(|name| {
            is_plain(name)
                && !name.contains(['^', '=', '.'])
                && !crate::expand::is_secret_name(name)
                && !parts.iter().any(|part| name.to_ascii_uppercase().contains(part))
        })
    };
    match (left, right) {
        (["printenv", name], ["wc", "-c"]) => is_plain(name),
        (["env" | "printenv"], ["cut", "-d=" | "-d'='", "-f1"] | ["cut", "-d", "=" | "'='", "-f", "1"])
        | (["env" | "printenv"], ["awk", "-F=", "'{print $1}'"] | ["wc", "-l"]) => true,
        (["env" | "printenv"], ["grep", "-c" | "-q", pattern]) => is_plain(pattern.trim_matches('\'')),
        (["env" | "printenv"], ["grep", pattern]) => is_open(pattern),
        _ => false,
    }
}

/// What prints a secret that a login takes: its name, its subcommand and the machine that is logged in to.
const LOGINS: [(&str, [&str; 2], &str); 2] =
    [("gh", ["auth", "token"], "ghcr.io"), ("aws", ["ecr", "get-login-password"], "")];

/// `gh auth token | docker login ghcr.io --password-stdin`.
fn logs_in(program: &CommandProgram, taker: &[&str]) -> bool {
    let [taker @ ("docker" | "podman"), words @ ..] = taker else { return false };
    let fits = |(name, subcommand, _): &&(&str, [&str; 2], &str)| {
        program.known_name() == Some(name) && program.subcommand == subcommand
    };
    LOGINS.iter().find(fits).is_some_and(|(_, _, host)| {
        let words: Vec<Value> = words.iter().map(|word| Value::known(*word)).collect();
        let reading = crate::reading::read(taker, &words);
        reading.subcommand == ["login"]
            && reading.has("--password-stdin")
            && (host.is_empty() || matches!(&reading.operands[..], [one] if one.text == *host))
    })
}

fn merge(after: &mut Option<super::Scope>, end: super::Scope, body: &[Statement<'_>]) {
    if body.last().is_some_and(ends) {
        return;
    }
    match after {
        Some(after) => after.merge(&end),
        None => *after = Some(end),
    }
}

/// Whether a statement may fail; to enter a folder and to make one are taken to succeed.
fn may_fail(statement: &Statement<'_>) -> bool {
    const SUCCEED: &[&str] = &[
        "true", ":", "echo", "printf", "cd", "pushd", "popd", "mkdir", "export", "declare", "local",
        "readonly", "set", "unset", "shift", "trap",
    ];
    match &statement.command {
        Command::Simple { words, .. } => words.first().is_some_and(|name| !SUCCEED.contains(name)),
        _ => true,
    }
}

/// Whether nothing behind the statement runs.
fn ends(statement: &Statement<'_>) -> bool {
    match &statement.command {
        Command::Simple { words, .. } => {
            matches!(words.first(), Some(&("exit" | "return" | "break" | "continue" | "exec")))
        }
        Command::Group(list) => list.last().is_some_and(ends),
        Command::And(_, right) => ends(right),
        _ => false,
    }
}
