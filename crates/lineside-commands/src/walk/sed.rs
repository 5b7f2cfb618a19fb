//! Scripts of sed: what they run and write, and what they put into the files that they change.

use super::Walk;
use crate::analysis::Access;
use crate::reading::Reading;
use crate::value::Value;

impl Walk<'_> {
    /// The `e` command and the `w` command of sed.
    pub(super) fn sed(&mut self, reading: &Reading, index: usize) {
        let scripts: Vec<Value> = match reading.values("-e").cloned().collect::<Vec<_>>() {
            all if all.is_empty() && !reading.has("-f") => {
                reading.operands.first().cloned().into_iter().collect()
            }
            mut all => {
                for file in reading.values("-f").cloned().collect::<Vec<_>>() {
                    all.extend(self.script_at(&file, index));
                }
                all
            }
        };
        let mut inserts = String::new();
        for script in scripts {
            let Some(text) = script.literal() else {
                if reading.has("-f") {
                    self.unclear_text("the script that `sed` runs is not known");
                }
                continue;
            };
            inserts.push_str(&sed_inserts(&text));
            for command in text.split(['\n', ';']) {
                let command =
                    command.trim_start_matches(|c: char| c.is_ascii_digit() || " \t,$!{".contains(c));
                let command = match command.strip_prefix('/') {
                    Some(rest) => rest.split_once('/').map_or("", |(_, rest)| rest.trim_start()),
                    None => command,
                };
                if let Some(file) = command.strip_prefix("w ").or_else(|| command.strip_prefix("W ")) {
                    self.sed_writes(file, index);
                } else if command.trim_end() == "e" {
                    self.unclear_text("`sed` runs what it reads");
                } else if let Some(program) = command.strip_prefix("e ") {
                    let sh = [Value::known("sh"), Value::known("-c"), Value::known(program.trim())];
                    self.exec_program(sh.to_vec(), Vec::new());
                } else if let Some(rest) = command.strip_prefix('s')
                    && let Some(sign) = rest.chars().next().filter(char::is_ascii_punctuation)
                {
                    let flags = field(field(&rest[sign.len_utf8()..], sign).1, sign).1;
                    if flags.contains('e')
                        && flags.len() < 6
                        && flags.chars().all(|c| "gpeiImM0123456789".contains(c))
                    {
                        self.unclear_text("`sed` runs what it replaces");
                    }
                    if let Some((_, file)) = flags.split_once("w ") {
                        self.sed_writes(file, index);
                    }
                }
            }
        }
        if reading.has("-i") {
            let is_script_given = reading.has("-e") || reading.has("-f");
            for file in reading.operands.iter().skip(usize::from(!is_script_given)) {
                if self.wrote(file) {
                    self.holds_unknown(file);
                } else {
                    self.inserted(&inserts, file);
                }
            }
        }
    }

    fn sed_writes(&mut self, file: &str, index: usize) {
        let file = Value::known(file.trim());
        self.touch(Access::Write, &file, false, Some(index));
        self.holds_unknown(&file);
    }
}

/// The texts that a script of sed puts in, one a line: what it replaces by, and the lines that it adds.
fn sed_inserts(script: &str) -> String {
    let (mut all, mut rest) = (String::new(), script);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t\n;,$!{}~".contains(c));
        let Some(command) = rest.chars().next() else { return all };
        rest = &rest[command.len_utf8()..];
        match command {
            '/' => rest = field(rest, '/').1,
            's' | 'y' => {
                let Some(sign) = rest.chars().next() else { return all };
                let (_, by) = field(&rest[sign.len_utf8()..], sign);
                let (text, behind) = field(by, sign);
                if command == 's' {
                    all.extend([&*text.replace("\\n", "\n").replace('\\', ""), "\n"]);
                }
                rest = behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
            }
            'a' | 'i' | 'c' => {
                let text = rest.trim_start_matches(['\\', '\n', ' ', '\t']);
                let (line, behind) = text.split_once('\n').unwrap_or((text, ""));
                all.extend([line, "\n"]);
                rest = behind;
            }
            _ => {}
        }
    }
}

/// A text up to a sign that no backslash stands before, and what is behind that.
fn field(text: &str, sign: char) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == sign => return (&text[..at], &text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    (text, "")
}
