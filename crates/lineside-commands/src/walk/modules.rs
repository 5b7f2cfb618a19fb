//! Modules that an interpreter runs as programs, and code in an address.

use super::Walk;
use crate::analysis::Access;
use crate::reading::{self, Reading};
use crate::value::Value;

impl Walk<'_> {
    /// `python -m …`: a module is a program of its own name.
    pub(super) fn module(&mut self, words: &[Value], reading: &Reading, index: usize) {
        let Some(module) = reading.values("-m").next().and_then(|module| module.plain().map(str::to_owned))
        else {
            return;
        };
        for file in
            [format!("{}.py", module.replace('.', "/")), format!("{}/__main__.py", module.replace('.', "/"))]
        {
            let file = Value::known(file);
            if self.wrote(&file)
                && let Some(code) = self.script_at(&file, index)
            {
                self.code(&code, "python", index);
            }
        }
        let behind =
            words.iter().position(|word| word.plain() == Some(&module)).map_or(words.len(), |at| at + 1);
        // Modules that a module runs.
        for word in plain(&words[behind..]) {
            let file = self.with_suffix(&Value { text: word.text.replace('.', "/").into(), ..word.clone() });
            if file.text.ends_with(".py")
                && self.wrote(&file)
                && let Some(code) = self.script_at(&file, index)
            {
                self.code(&code, "python", index);
            }
        }
        match module.as_str() {
            // Each word is code, and what is set up before it.
            "timeit" => {
                for word in plain(&words[behind..]) {
                    self.code(word, "python", index);
                }
            }
            // A program that runs a program.
            "trace" | "cProfile" | "profile" | "pdb" | "coverage" | "runpy" | "bdb" | "memory_profiler"
            | "kernprof" | "viztracer" => {
                let file = plain(&words[behind..]).find(|word| word.plain() != Some("run"));
                if let Some(code) = file.and_then(|file| self.script_at(&file.clone(), index)) {
                    self.code(&code, "python", index);
                }
                // `python -m pdb -c 'command'`: what is no command of it is code.
                let told = words[behind..].windows(2).filter(|two| matches!(two[0].plain(), Some("-c")));
                for two in told.filter(|_| module == "pdb") {
                    let code = two[1].text.trim_start_matches(['!', ' ', 'p']);
                    self.code(&Value { text: code.into(), ..two[1].clone() }, "python", index);
                }
            }
            "code" | "asyncio" | "IPython" | "ptpython" => {
                if let Some(input) = self.input.clone() {
                    self.code(&input, "python", index);
                }
            }
            "doctest" => {
                for file in plain(&words[behind..]) {
                    let Some(text) = self.script_at(file, index) else { continue };
                    let lines = text.text.lines().map(str::trim_start);
                    let lines = lines
                        .filter_map(|line| line.strip_prefix(">>> ").or_else(|| line.strip_prefix("... ")));
                    let code = lines.collect::<Vec<_>>().join("\n");
                    self.code(&Value { text: code.into(), ..text.clone() }, "python", index);
                }
            }
            "venv" | "virtualenv" => {
                for folder in plain(&reading.operands) {
                    self.touch(Access::Write, folder, false, Some(index));
                }
            }
            "json.tool" => {
                let is_number = |word: &Value| word.text.bytes().all(|byte| byte.is_ascii_digit());
                let files =
                    reading.operands.iter().filter(|word| !word.text.starts_with("--") && !is_number(word));
                let files: Vec<Value> = files.cloned().collect();
                for (file, access) in files.iter().zip([Access::Read, Access::Write]) {
                    self.touch(access, file, false, Some(index));
                }
            }
            "pprint" | "tabnanny" | "base64" | "gzip" | "zipfile" | "tarfile" => {
                for file in plain(&reading.operands) {
                    self.reads_file(file, index);
                }
            }
            // `python -m pip install …` is `pip install …`, whose words count for policies.
            "pip" | "twine" | "pipx" => {
                let at = words
                    .iter()
                    .position(|word| word.plain() == Some(&module))
                    .map_or(words.len(), |at| at + 1);
                let inner = reading::read(&module, &words[at..]);
                let program = &mut self.analysis.programs[index];
                program.subcommand = inner.subcommand;
                program.subcommand.insert(0, module);
                program.flags.extend(inner.given.iter().map(reading::Given::flag));
                program.operands = inner.operands.iter().map(Value::argument).collect();
            }
            // `python -m alembic …` is `alembic …`.
            module => {
                let name = if module == "django" { "django-admin" } else { module };
                let mut inner = vec![Value::known(name)];
                inner.extend_from_slice(&reading.operands);
                self.by_name(&inner);
            }
        }
    }
}

/// The words that look like no option.
fn plain(words: &[Value]) -> impl Iterator<Item = &Value> {
    words.iter().filter(|word| !word.text.starts_with('-'))
}

/// A text of an address: `%20` is a blank.
pub(super) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let code =
            (*first == b'%').then(|| behind.get(..2)).flatten().and_then(|two| str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
