//! The words of a program as options, subcommand and operands, by its row.

use std::borrow::Cow;

use compact_str::CompactString;

use crate::analysis::{Flag, Spellings};
use crate::tables::{self, Deed, Opt, Row, Takes};
use crate::value::Value;

/// An option that was given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) spellings: Spellings,
    pub(crate) value: Option<Value>,
}

impl Given {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.spellings.iter().any(|spelling| spelling == name)
    }

    pub(crate) fn flag(&self) -> Flag {
        Flag { spellings: self.spellings.clone(), value: self.value.as_ref().map(Value::argument) }
    }
}

/// What a program is given.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The rows, that of the program first, that of the subcommand last.
    pub(crate) rows: Vec<&'static Row>,
    pub(crate) subcommand: Vec<String>,
    /// Where its first word stands.
    pub(crate) verb: Option<usize>,
    pub(crate) given: Vec<Given>,
    pub(crate) operands: Vec<Value>,
    /// Where each operand stands among the words.
    pub(crate) places: Vec<usize>,
    /// Whether what follows is no option.
    ended: bool,
    /// Whether words up to the next option are values of the last one.
    lists: bool,
}

impl Reading {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.is(name))
    }

    pub(crate) fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r Value> {
        self.given.iter().filter(move |given| given.is(name)).filter_map(|given| given.value.as_ref())
    }
}

/// Reads the words behind a program's name.
pub(crate) fn read(name: &str, words: &[Value]) -> Reading {
    let mut reading = Reading::default();
    let mut key = CompactString::from(name);
    reading.rows.extend(tables::find(name));
    let mut at = 0;
    while at < words.len() {
        let word = &words[at];
        let row = reading.rows.last().copied();
        let text = word.text.as_str();
        let plus = row.is_some_and(|row| row.plus);
        if plus && !reading.ended && text == "-" {
            reading.ended = true;
            at += 1;
            continue;
        }
        let is_option = text.starts_with('-') || plus && text.starts_with('+');
        let is_mode = row.is_some_and(|row| row.modes)
            && text.strip_prefix('-').is_some_and(|mode| mode.bytes().all(|b| b"rwxXst+=,ugoa".contains(&b)));
        if std::mem::take(&mut reading.lists) && !is_option && !reading.ended {
            reading.lists = true;
            at += 1;
            continue;
        }
        if reading.ended || text.len() < 2 || !is_option || is_mode {
            let descends = row.is_some_and(|row| row.subcommands) && !reading.ended;
            if descends
                && row.is_some_and(|row| row.bare)
                && let Some(found) = exact(&reading.rows, text)
            {
                at += 1 + take(found, None, words.get(at + 1), &mut reading);
                continue;
            }
            if let Some(sub) = word.plain().filter(|_| descends) {
                key.push(' ');
                key.push_str(sub);
                reading.subcommand.push(sub.to_owned());
                reading.verb.get_or_insert(at);
                match tables::find(&key) {
                    Some(row) => reading.rows.push(row),
                    // What follows a subcommand without a row are its operands, with the options of its parents.
                    None => reading.rows.push(row_of_operands()),
                }
                at += 1;
                continue;
            }
            reading.operands.push(word.clone());
            reading.places.push(at);
            reading.ended |= row.is_some_and(|row| row.stops > 0 && reading.places.len() >= row.stops);
            at += 1;
            continue;
        }
        at += 1;
        if text == "--" {
            reading.ended = true;
            continue;
        }
        at += match row {
            Some(row) if plus && !text.starts_with("--") => cluster(word, &words[at..], row, &mut reading),
            _ => option(word, &words[at..], &mut reading),
        };
    }
    reading
}

fn row_of_operands() -> &'static Row {
    static EMPTY: std::sync::LazyLock<Row> = std::sync::LazyLock::new(Row::default);
    &EMPTY
}

/// Reads an option; answers how many words more it took.
fn option(word: &Value, next: &[Value], reading: &mut Reading) -> usize {
    let text = word.text.as_str();
    let words =
        reading.rows.last().is_some_and(|row| row.words) || reading.rows.first().is_some_and(|row| row.words);
    let (name, attached) = match text.split_once('=') {
        Some((name, value)) if text.starts_with("--") || words => {
            (name, Some(Value { text: value.into(), ..word.clone() }))
        }
        _ => (text, None),
    };
    // `-TT` of `zip`.
    if text.len() > 2
        && !words
        && !text.starts_with("--")
        && let Some(found) = exact(&reading.rows, text)
    {
        return take(found, None, next.first(), reading);
    }
    if text.starts_with("--") || words {
        return match known(&reading.rows, name) {
            Some(found) => take(found, attached, next.first(), reading),
            None => {
                give_back(name, reading);
                // Of an interpreter and a wrapper, what stands in front of another option is the value of one that is not known.
                let of_code = |row: &&Row| {
                    row.deeds.iter().any(|when| matches!(when.deed, Deed::Code(..) | Deed::Wrap { .. }))
                };
                let is_option = |word: &Value| word.text.starts_with('-');
                let takes = attached.is_none()
                    && reading.rows.last().is_some_and(of_code)
                    && matches!(next, [value, then, ..] if !is_option(value) && is_option(then));
                reading.given.push(Given { spellings: alone(name), value: attached });
                usize::from(takes)
            }
        };
    }
    let mut rest = &text[1..];
    // `-19` of `nice` and `head`.
    if rest.bytes().all(|b| b.is_ascii_digit()) {
        reading.given.push(Given { spellings: alone(text), value: None });
        return 0;
    }
    if reading.rows.is_empty() {
        reading.given.push(Given { spellings: alone(text), value: None });
    }
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let mut name = CompactString::const_new("-");
        name.push(letter);
        match known(&reading.rows, name.as_str()) {
            Some(found) if !matches!(found.takes, Takes::Nothing | Takes::Digits) => {
                let value = (!rest.is_empty()).then(|| Value { text: rest.into(), ..word.clone() });
                return take(found, value, next.first(), reading);
            }
            Some(found) => {
                // `-0777` and `-CSD` of perl.
                let is_of_it = |c: char| c.is_ascii_digit() || name == "-C" && "IOEioADSLa".contains(c);
                if found.takes == Takes::Digits {
                    rest = rest.trim_start_matches(is_of_it);
                }
                reading.given.push(Given { spellings: spellings(found), value: None });
            }
            None => reading.given.push(Given { spellings: alone(&name), value: None }),
        }
    }
    0
}

/// Reads letters of a shell behind `-` or `+`; answers how many words more they took.
fn cluster(word: &Value, next: &[Value], row: &'static Row, reading: &mut Reading) -> usize {
    let text = word.text.as_str();
    // `-norc` of bash.
    if row.apart
        && text.starts_with('-')
        && let Some(found) = exact(&reading.rows, &format!("-{text}"))
    {
        return take(found, None, next.first(), reading);
    }
    let mut used = 0;
    let mut rest = &text[1..];
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let name = format!("-{letter}");
        match known(&reading.rows, &name) {
            Some(found) if found.takes != Takes::Nothing => {
                let attached = (!row.apart && !rest.is_empty()).then(|| std::mem::take(&mut rest));
                let attached = attached.map(|value| Value { text: value.into(), ..word.clone() });
                used += take(found, attached, next.get(used), reading);
            }
            // A text is one with either sign.
            Some(found) if text.starts_with('-') || letter == 'c' => {
                reading.given.push(Given { spellings: spellings(found), value: None });
            }
            None if text.starts_with('-') => {
                reading.given.push(Given { spellings: alone(&name), value: None });
            }
            _ => reading.given.retain(|given| !given.is(&name)),
        }
    }
    used
}

fn spellings(found: &'static Opt) -> Spellings {
    Cow::Borrowed(&found.spellings)
}

/// The one spelling of an option that no row has.
fn alone(name: &str) -> Spellings {
    Cow::Owned(vec![Cow::Owned(name.to_owned())])
}

fn take(found: &'static Opt, attached: Option<Value>, next: Option<&Value>, reading: &mut Reading) -> usize {
    let is_dashless = reading.rows.first().is_some_and(|row| row.dashless);
    let next = next.filter(|next| !is_dashless || next.text.len() < 2 || !next.text.starts_with('-'));
    let (value, used) = match (found.takes, attached, next) {
        (_, Some(value), _) => (Some(value), 0),
        (Takes::Value | Takes::Last | Takes::List, None, Some(next)) => (Some(next.clone()), 1),
        _ => (None, 0),
    };
    reading.ended |= found.takes == Takes::Last;
    reading.lists = found.takes == Takes::List;
    reading.given.push(Given { spellings: spellings(found), value });
    used
}

fn exact(rows: &[&'static Row], name: &str) -> Option<&'static Opt> {
    let mut all = rows.iter().rev().flat_map(|row| &row.options);
    all.find(|option| option.spellings.iter().any(|spelling| spelling == name))
}

/// The option of a name, or of a beginning that only one has.
fn known(rows: &[&'static Row], name: &str) -> Option<&'static Opt> {
    if let Some(exact) = exact(rows, name) {
        return Some(exact);
    }
    let all = || rows.iter().rev().flat_map(|row| &row.options);
    if !name.starts_with("--") || name.len() < 3 {
        return None;
    }
    let begins =
        || all().filter_map(|option| Some((option, option.spellings.iter().find(|s| s.starts_with(name))?)));
    // Of `--force` and `--force-with-lease`, the one is a beginning of the other.
    let (first, shortest) = begins().min_by_key(|(_, spelling)| spelling.len())?;
    begins()
        .all(|(option, spelling)| std::ptr::eq(option, first) || spelling.starts_with(&**shortest))
        .then_some(first)
}

/// `--no-force` takes `--force` back.
fn give_back(name: &str, reading: &mut Reading) {
    if let Some(taken) = name.strip_prefix("--no-") {
        let taken = format!("--{taken}");
        reading.given.retain(|given| !given.is(&taken));
    }
}
