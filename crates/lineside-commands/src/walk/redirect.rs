//! Redirections.

use super::{Out, Walk};
use crate::analysis::{Access, Trait};
use crate::parse::{Redirect, Redirection};
use crate::value::{Origin, StandsFor, Value};

/// Where a command reads and prints after its redirections.
#[derive(Default)]
pub(crate) struct Redirected {
    pub(crate) input: Option<Value>,
    pub(crate) out: Out,
}

impl Walk<'_> {
    pub(crate) fn redirect(&mut self, all: &[Redirection<'_>]) -> Redirected {
        let mut done = Redirected::default();
        self.count_words(all.len());
        for redirection in all {
            if self.is_full() {
                break;
            }
            let descriptor = redirection.descriptor;
            match &redirection.kind {
                Redirect::Out(word)
                | Redirect::Append(word)
                | Redirect::Both(word)
                | Redirect::InOut(word) => {
                    let inner = word.strip_prefix(">(").and_then(|inner| inner.strip_suffix(')'));
                    let out = match inner {
                        Some(inner) => Out::Command(inner.to_owned()),
                        None => {
                            let target = self.one(word);
                            let out = self.target(&target);
                            self.opens(descriptor.unwrap_or(1), &target);
                            match out {
                                Out::File(path) if matches!(redirection.kind, Redirect::Append(_)) => {
                                    Out::Behind(path)
                                }
                                out => out,
                            }
                        }
                    };
                    let number = descriptor.unwrap_or(1);
                    match number {
                        1 => done.out = out,
                        2 => {}
                        number => {
                            if out == Out::Away {
                                self.descriptors.insert(number, Value::unknown().from(Origin::FETCHED));
                            }
                            self.outs.insert(number, out);
                        }
                    }
                    if matches!(redirection.kind, Redirect::InOut(_))
                        && descriptor.is_none_or(|number| number == 0)
                    {
                        done.input = Some(Value::unknown());
                    }
                }
                Redirect::In(word) => {
                    let source = self.one(word);
                    self.opens(descriptor.unwrap_or(0), &source);
                    let content = self.content(&source, None);
                    self.input_of(descriptor, content, &mut done);
                }
                Redirect::Text(word) => {
                    let mut text = self.one(word);
                    text.text.push('\n');
                    if text.origin.has(Origin::SECRET) {
                        text.origin = text.origin.with(Origin::SHOWN);
                    }
                    self.input_of(descriptor, text, &mut done);
                }
                Redirect::Document { body, expands, strips } => {
                    let stripped: String;
                    let mut body = *body;
                    if *strips {
                        let lines: Vec<&str> =
                            body.split('\n').map(|line| line.trim_start_matches('\t')).collect();
                        stripped = lines.join("\n");
                        body = &stripped;
                    }
                    let mut text = if *expands {
                        self.quoted(body)
                    } else {
                        Value { place: self.place(body), ..Value::known(body) }
                    };
                    if text.origin.has(Origin::SECRET) {
                        text.origin = text.origin.with(Origin::SHOWN);
                    }
                    self.input_of(descriptor, text, &mut done);
                }
                Redirect::Duplicate { target, input } => {
                    let value = self.one(target);
                    if let Some(number) = value.plain().and_then(|text| text.parse::<u32>().ok()) {
                        if let Some(file) = self.opened.get(&number).cloned() {
                            self.opened.insert(descriptor.unwrap_or(u32::from(!input)), file);
                        }
                        match (descriptor.unwrap_or(u32::from(!input)), number) {
                            (0, number) => {
                                if let Some(content) = self.descriptors.get(&number) {
                                    done.input = Some(content.clone());
                                }
                            }
                            (1, 2) => done.out = Out::Seen,
                            (1, number) => done.out = self.outs.get(&number).cloned().unwrap_or_default(),
                            _ => {}
                        }
                    }
                }
            }
        }
        done
    }

    fn input_of(&mut self, descriptor: Option<u32>, content: Value, done: &mut Redirected) {
        match descriptor.unwrap_or(0) {
            0 => done.input = Some(content),
            number => {
                self.descriptors.insert(number, content);
            }
        }
    }

    /// Notes which file a descriptor is opened to.
    fn opens(&mut self, descriptor: u32, file: &Value) {
        let is_named = file.stands_for.is_none() && descriptor_of(file).is_none() && !file.text.is_empty();
        // Every program writes to its output and to that of its errors.
        if is_named && !matches!(descriptor, 1 | 2) && !file.text.starts_with("/dev/") {
            let (path, unclear) = self.absolute(file);
            let known = if unclear { file.clone() } else { Value { text: path.into(), ..file.clone() } };
            self.opened.insert(descriptor, known);
        }
    }

    /// The file that the name of a descriptor leads to, as `/dev/fd/3`.
    pub(crate) fn opened_at(&self, value: &Value) -> Option<Value> {
        self.opened.get(&descriptor_of(value)?).cloned()
    }

    fn target(&mut self, target: &Value) -> Out {
        if let Some(text) = target.plain() {
            if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
                return Out::Away;
            }
            if let Some(file) = self.opened_at(target) {
                return self.target(&file);
            }
            if matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
                || text.starts_with("/dev/fd/")
            {
                return match text {
                    "/dev/stdout" => Out::On,
                    "/dev/stderr" | "/dev/tty" | "/dev/fd/2" => Out::Seen,
                    _ => Out::Elsewhere,
                };
            }
        } else if target.text.is_empty() {
            return Out::Elsewhere;
        } else if target.stands_for.is_some() {
            self.touch(Access::Write, target, false, None);
            return Out::Elsewhere;
        }
        self.touch(Access::Write, target, false, None);
        let (path, unclear) = self.absolute(target);
        if unclear { Out::Elsewhere } else { Out::File(path) }
    }

    /// Takes what was printed to where it goes.
    pub(crate) fn deliver(&mut self, printed: Value, out: &Out) {
        match out {
            Out::On => {
                self.count_bytes(printed.text.len());
                // What a search finds keeps that meaning for the command that reads it; a file of another command stands for nothing there.
                let found = self.out.text.is_empty() && printed.is_any();
                let found = found.then(|| printed.stands_for.clone()).flatten();
                let found = found.filter(|found| matches!(**found, StandsFor::Printed(_)));
                self.out.push(&Value { stands_for: found, ..printed });
            }
            Out::File(path) => self.written(path.clone(), printed),
            Out::Behind(path) => self.appended(path, printed),
            Out::Away => {
                if printed.origin.has(Origin::SECRET) {
                    self.does(Trait::SendsSecret);
                }
            }
            Out::Command(text) => {
                let before = self.input.replace(printed);
                let printed = self.substitute(text);
                self.input = before;
                self.out.push(&printed);
            }
            Out::Seen => {
                if printed.origin.has(Origin::SHOWN) {
                    self.does(Trait::ShowsEnvironment);
                }
            }
            Out::Elsewhere => {}
        }
    }
}

/// The descriptor of `/dev/fd/3`, `/proc/self/fd/3` and the like.
fn descriptor_of(value: &Value) -> Option<u32> {
    let text = value.text.as_str();
    if text == "/dev/stdin" {
        return Some(0);
    }
    let number = text.strip_prefix("/dev/fd/").or_else(|| {
        let (_, behind) = text.strip_prefix("/proc/")?.split_once('/')?;
        behind.rsplit_once("fd/").map(|(_, number)| number)
    });
    number?.parse().ok()
}
