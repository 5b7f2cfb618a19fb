//! What a life says of itself, line by line, so that it is known after the life was killed.
//!
//! Each line is one write to the end of a file: what was written is with the operating system, which is not killed. A
//! line that a kill has cut is no line; it can only be the last one of a life.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The name of an event, in the order of its publisher: life, then number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Label {
    /// Who published it; one publisher has one session.
    pub(crate) publisher: String,
    /// In which life.
    pub(crate) life: u32,
    /// Its number there.
    pub(crate) number: u32,
}

impl Label {
    /// The label that this text is; nothing when it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (publisher, rest) = text.split_once('.')?;
        let (life, number) = rest.split_once('.')?;
        Some(Self { publisher: publisher.to_owned(), life: life.parse().ok()?, number: number.parse().ok()? })
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.publisher, self.life, self.number)
    }
}

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A life begins. What ran in the one before has ended with it.
    Born { life: u32 },
    /// The journal is open.
    Opened { findings: Vec<String> },
    /// The journal has said that these events are kept, for every automation that hears them.
    Acknowledged { kind: String, events: Vec<Published> },
    /// A run begins.
    Started(Start),
    /// A run is over.
    Ended { run: u64, how: How },
    /// Two runs of a key were at work in its place at the same time: the second found the first one's mark.
    Clash { key: String, run: u64 },
    /// Messages were handed over; each is named by its event.
    Delivered { session: String, messages: Vec<String> },
    /// Messages were accepted, and that is kept.
    Accepted { session: String, messages: Vec<String> },
    /// How a job rests: when everything is over, or before it is cleared away.
    Rests { job: u64, automation: String, events: Vec<String>, how: Rest, attempts: u32 },
    /// All jobs are settled, and the journal was read once more.
    Drained { up_to: u64, sequences: Vec<u64> },
}

/// An event and its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Published {
    pub(crate) label: Label,
    pub(crate) id: String,
}

/// A run that begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Tells it from the others of its life.
    pub(crate) run: u64,
    pub(crate) automation: String,
    pub(crate) job: u64,
    /// Which attempt it is, from 1.
    pub(crate) attempt: u32,
    pub(crate) fence: u64,
    /// Its concurrency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    /// The events that it is for.
    pub(crate) labels: Vec<Label>,
    /// The one that all other fields are of.
    pub(crate) last: Label,
    /// Its id.
    pub(crate) event: String,
}

/// How a run was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum How {
    /// It came to its end.
    Well,
    /// It failed.
    Badly,
    /// It was dropped before its end.
    Cut,
}

/// How a job rests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rest {
    Done,
    Dead,
    /// Another job has its events.
    Replaced,
    /// Anything else.
    Otherwise(String),
}

/// The file that lines are written to.
pub(crate) struct Log(File);

impl Log {
    /// Opens it, to go on where an earlier life was cut.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::options().create(true).append(true).read(true).open(path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        if text.last().is_some_and(|last| *last != b'\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self(file))
    }

    /// Writes a line. It is there when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn say(&self, line: &Line) -> io::Result<()> {
        let mut text = lineside::json::to_vec(line)?;
        text.push(b'\n');
        (&self.0).write_all(&text)
    }
}

/// The lines of a log. One that a kill has cut is left out; any other that cannot be read is given back.
pub(crate) fn read(text: &str) -> (Vec<Line>, Vec<String>) {
    let read: Vec<Result<Line, &str>> =
        text.lines().map(|line| lineside::json::from_str(line).map_err(|_| line)).collect();
    let (mut lines, mut strange) = (Vec::new(), Vec::new());
    for (index, line) in read.iter().enumerate() {
        let cut = || matches!(read.get(index + 1), None | Some(Ok(Line::Born { .. })));
        match line {
            Ok(line) => lines.push(line.clone()),
            Err(_) if cut() => {}
            Err(text) => strange.push((*text).to_owned()),
        }
    }
    (lines, strange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_read_as_it_was_written() {
        let label = Label { publisher: "s1".to_owned(), life: 3, number: 40 };
        assert_eq!(Label::read(&label.to_string()), Some(label));
        assert_eq!(Label::read("s1.3"), None);
        assert_eq!(Label::read("s1.3.x"), None);
    }

    #[test]
    fn a_life_goes_on_where_the_one_before_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log::open(&path).unwrap();
        log.say(&Line::Born { life: 1 }).unwrap();
        (&log.0).write_all(b"{\"line\":\"ended\",\"ru").unwrap();
        drop(log);
        let log = Log::open(&path).unwrap();
        log.say(&Line::Born { life: 2 }).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lives = vec![Line::Born { life: 1 }, Line::Born { life: 2 }];
        assert_eq!(read(&text), (lives, vec![]));
    }

    #[test]
    fn a_line_that_no_kill_can_have_cut_is_strange() {
        let text = "{\"line\":\"born\",\"life\":1}\nnoise\n{\"line\":\"opened\",\"findings\":[]}\n";
        assert_eq!(read(text).1, ["noise"]);
    }
}
