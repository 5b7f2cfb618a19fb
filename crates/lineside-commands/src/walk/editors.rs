//! Commands of editors and debuggers: what they start, read and write.

use super::Walk;
use crate::analysis::Access;
use crate::reading::{Given, Reading};
use crate::state::Shell;
use crate::value::Value;

/// Commands by which an editor saves the files that it has.
const SAVES: [&str; 11] = ["w", "write", "wq", "wa", "wall", "wqa", "wqall", "x", "xa", "xit", "up"];

impl Walk<'_> {
    /// `vim -c ':!…'`, `vim '+!…'`.
    pub(super) fn editor(&mut self, reading: &Reading, index: usize) {
        let is_command = |given: &&Given| ["-c", "--cmd", "-ex"].iter().any(|flag| given.is(flag));
        let given = reading.given.iter().filter(is_command).filter_map(|given| given.value.clone());
        let behind = reading.operands.iter().filter_map(|operand| {
            let text = operand.text.strip_prefix('+')?;
            Some(Value { text: text.into(), ..operand.clone() })
        });
        // In a mode for scripts it reads commands.
        let reads = ["-s", "-e", "-es"].iter().any(|flag| reading.has(flag));
        let input = self.input.clone().filter(|_| reads).and_then(|input| Some((input.literal()?, input)));
        let lines = input
            .iter()
            .flat_map(|(text, input)| text.lines().map(|line| Value { text: line.into(), ..input.clone() }));
        for value in
            given.chain(behind).chain(lines).flat_map(|value| commands_of(&value)).collect::<Vec<_>>()
        {
            let text = value.text.trim_start_matches(|c: char| c.is_ascii_digit() || ":%$. ".contains(c));
            let scripts = ["python ", "py ", "pi ", "python-interactive ", "script "];
            if let Some(code) = scripts.iter().find_map(|front| text.strip_prefix(front)) {
                let code = Value { text: code.into(), ..value.clone() };
                self.code(&code, "python", index);
                continue;
            }
            let runs = ["!", "silent !", "silent! !", "r !", "w !", "write !", "shell "];
            match (runs.iter().find_map(|front| text.strip_prefix(front)), told_file(text)) {
                (Some(text), _) => {
                    let text = Value { text: text.into(), ..value.clone() };
                    self.script(&text, Shell::Sh, Vec::new(), "what an editor runs");
                }
                // `set makeprg=…`, `w! FILE`, `r FILE`.
                (None, _) if text.starts_with("set ") && text.contains("prg=") => {
                    let program = text.split_once('=').map(|(_, program)| program.replace("\\ ", " "));
                    let program = Value { text: program.unwrap_or_default().into(), ..value.clone() };
                    self.script(&program, Shell::Sh, Vec::new(), "what an editor runs");
                }
                (None, Some((access, file))) => {
                    let file = match file.strip_prefix("~/") {
                        Some(file) => format!("{}/{file}", self.state.home),
                        None => file.to_owned(),
                    };
                    let file = Value { text: file.into(), ..value.clone() };
                    self.touch(access, &file, false, Some(index));
                    if access == Access::Write {
                        self.holds_unknown(&file);
                    }
                }
                // `wq`: the files that it was given.
                (None, None) if SAVES.contains(&text.trim_end().trim_end_matches('!')) => {
                    let is_file = |operand: &&Value| !operand.text.starts_with('+');
                    for file in reading.operands.iter().filter(is_file).cloned().collect::<Vec<_>>() {
                        self.touch(Access::Write, &file, false, Some(index));
                    }
                }
                // `call system('…')`.
                (None, None) if !value.is_unclear() => self.code(&value, "vim", index),
                (None, None) => {}
            }
        }
    }

    /// Commands of `ed` with `!`, the lines in front of them read or not, and such a file.
    pub(super) fn ed(&mut self, reading: &Reading, index: usize) {
        let text = self.input.as_ref().and_then(Value::literal).unwrap_or_default();
        let named = reading.operands.first().and_then(Value::literal).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| line.trim_start_matches(|sign: char| !sign.is_alphabetic() && sign != '!'));
        for line in lines.chain([named.as_str()].into_iter().filter(|name| name.starts_with('!'))) {
            let program = line.trim_start_matches(['r', 'e', 'E', 'w', 'W', 'f', ' ']);
            if let Some(program) = program.strip_prefix('!') {
                self.script(&Value::known(program), Shell::Sh, Vec::new(), "what `ed` runs");
            } else if let Some((access, file)) = told_file(line) {
                self.touch(access, &Value::known(file), false, Some(index));
                self.holds_unknown(&Value::known(file));
            }
        }
    }
}

/// Whether a command of an editor hands all behind it to a program: `!x`, `silent !x`, `w !x`.
fn runs_program(command: &str) -> bool {
    command.match_indices('!').any(|(at, _)| {
        let before = command[..at].trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        before.is_empty() || before.ends_with(' ') || before == "r"
    })
}

/// The commands of a line of an editor: one that runs a program has all behind it.
fn commands_of(value: &Value) -> Vec<Value> {
    let of = |text: String| Value { text: text.into(), ..value.clone() };
    // `pipe x | program` and `| program` of a debugger.
    let piped = value.text.strip_prefix("pipe ").and_then(|line| line.split_once('|'));
    match piped.map(|(_, program)| program).or(value.text.strip_prefix('|')) {
        Some(program) => vec![of(format!("!{program}"))],
        None => {
            let (mut all, mut rest) = (Vec::new(), value.text.as_str());
            while let Some((part, behind)) = rest.split_once('|').filter(|(part, _)| !runs_program(part)) {
                all.push(of(part.to_owned()));
                rest = behind;
            }
            all.push(of(rest.to_owned()));
            all
        }
    }
}

/// The file that a command of an editor or a debugger reads or writes.
fn told_file(command: &str) -> Option<(Access, &str)> {
    const WRITES: [&str; 20] = [
        "w", "W", "write", "wq", "x", "sav", "saveas", "up", "update", "mks", "mksession", "mkview",
        "mkvimrc", "mkexrc", "redir", "wundo", "wviminfo", "profile", "set logging file", "dump",
    ];
    const READS: [&str; 9] = ["r", "read", "e", "edit", "E", "sp", "split", "so", "source"];
    let (front, file) = command.trim_end().rsplit_once([' ', '>'])?;
    let verb = front.trim_end_matches([' ', '>', '!']).trim_end_matches(" start");
    let access = match () {
        () if WRITES.contains(&verb) => Access::Write,
        () if READS.contains(&verb) => Access::Read,
        () => return None,
    };
    (!file.is_empty() && !file.starts_with(['!', '+'])).then_some((access, file))
}
