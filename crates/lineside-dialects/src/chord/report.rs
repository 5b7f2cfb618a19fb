//! What an automation reports to messages for the context and for the user (CH-39, CH-56 to CH-59).

use lineside_core::{Answer, Append, Notice, NoticeLevel};

use super::output::Reply;
use crate::raw_object::Unreadable;
use crate::text::first_bytes;

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Report {
    /// Whether it is reported at all; as the result asks, when absent.
    pub(super) disposal: Option<Disposal>,
    /// How much of it is reported.
    pub(super) format: Format,
    /// The most lines of a body; not 0.
    pub(super) lines: usize,
    /// The most bytes of a body, and of a summary; not 0.
    pub(super) bytes: usize,
}

/// What becomes of a result, as the key `result` says (CH-56).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposal {
    Ignore,
    NotifyOnly,
    AppendOnFailure,
    AlwaysAppend,
}

/// How much of a result reaches the context, as the key `result_format` says (CH-58).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Format {
    #[default]
    Summary,
    Tail,
    Full,
}

/// The last line of a text that was cut, or the first.
const CUT: &str = "... (truncated)";

/// What an automation has printed.
struct Reported {
    failed: bool,
    summary: String,
    body: String,
    level: NoticeLevel,
    append_context: bool,
    notify: bool,
}

impl Report {
    /// Reads the result of the hook of that name.
    ///
    /// # Errors
    /// A key has a value that it cannot have.
    pub(super) fn answer(&self, name: &str, reply: &Reply) -> Result<Answer, Unreadable> {
        let result = Reported::read(reply)?;
        let mut answer = Answer::default();
        if self.appends(&result) {
            answer.context.push(Append::system(self.text(name, &result)));
        }
        if self.notifies(&result) {
            answer.notices.push(Notice { level: result.level, text: result.notice(name) });
        }
        Ok(answer)
    }

    /// Whether the result reaches the context (CH-56).
    fn appends(&self, result: &Reported) -> bool {
        match self.disposal {
            None => result.append_context,
            Some(Disposal::Ignore | Disposal::NotifyOnly) => false,
            Some(Disposal::AppendOnFailure) => result.failed || result.append_context,
            Some(Disposal::AlwaysAppend) => true,
        }
    }

    /// Whether the user sees the result (CH-56).
    fn notifies(&self, result: &Reported) -> bool {
        match self.disposal {
            None | Some(Disposal::AppendOnFailure | Disposal::AlwaysAppend) => result.notify,
            Some(Disposal::Ignore) => false,
            Some(Disposal::NotifyOnly) => true,
        }
    }

    /// The message in the context (CH-58).
    fn text(&self, name: &str, result: &Reported) -> String {
        let mut text = format!("[hook:{name}] Automated feedback\nstatus: {}", result.status());
        let summary = result.summary.trim();
        if !summary.is_empty() {
            text.push_str("\nsummary: ");
            text.push_str(&self.summary(summary));
        }
        let body = match self.format {
            Format::Summary if !summary.is_empty() => String::new(),
            Format::Summary | Format::Full => self.head(&result.body),
            Format::Tail => self.tail(&result.body),
        };
        if !body.is_empty() {
            text.push_str("\n\n");
            text.push_str(&body);
        }
        text
    }

    fn summary(&self, summary: &str) -> String {
        let line = summary.replace("\r\n", " ").replace(['\n', '\r'], " ");
        let kept = first_bytes(&line, self.bytes);
        if kept.len() < line.len() { format!("{kept} {CUT}") } else { line }
    }

    /// The first lines and bytes of a body, within the limits (CH-59).
    fn head(&self, body: &str) -> String {
        let body = stripped(body);
        let lines = body
            .match_indices('\n')
            .nth(self.lines - 1)
            .map_or(body, |(end, _)| body.get(..end).unwrap_or(body));
        let kept = first_bytes(lines, self.bytes);
        if kept.len() == body.len() {
            return kept.to_owned();
        }
        // Of lines that were left out only their own break goes, so that blank lines within the limit stay.
        let kept = if kept.len() < lines.len() {
            kept.trim_end_matches(BREAKS)
        } else {
            kept.trim_end_matches('\r')
        };
        joined(kept, CUT)
    }

    /// The last lines and bytes of a body, within the limits (CH-59).
    fn tail(&self, body: &str) -> String {
        let body = stripped(body);
        let lines = body
            .rmatch_indices('\n')
            .nth(self.lines - 1)
            .map_or(body, |(end, _)| body.get(end + 1..).unwrap_or(body));
        let kept = last_bytes(lines, self.bytes);
        if kept.len() == lines.len() {
            return kept.to_owned();
        }
        joined(CUT, kept.trim_start_matches(BREAKS))
    }
}

impl Reported {
    /// Reads what an automation printed (CH-39).
    fn read(reply: &Reply) -> Result<Self, Unreadable> {
        let failed = match reply.value("status")? {
            None => false,
            Some(status) => match status.as_str() {
                Some("success") => false,
                Some("failed") => true,
                _ => return Err(Unreadable::of_word("status", &status, "success or failed")),
            },
        };
        let level = match reply.string("severity")?.as_deref() {
            Some("info") => NoticeLevel::Info,
            Some("warning" | "warn") => NoticeLevel::Warning,
            Some("error") => NoticeLevel::Error,
            _ if failed => NoticeLevel::Error,
            _ => NoticeLevel::Info,
        };
        Ok(Self {
            failed,
            summary: reply.string("summary")?.unwrap_or_default(),
            body: reply.string("body")?.unwrap_or_default(),
            level,
            append_context: reply.boolean("append_context")?,
            notify: reply.boolean("notify")?,
        })
    }

    fn status(&self) -> &'static str {
        if self.failed { "failed" } else { "success" }
    }

    /// The message for the user (CH-57).
    fn notice(&self, name: &str) -> String {
        match self.summary.trim() {
            "" => format!("Hook {name} finished with status {}", self.status()),
            summary => summary.to_owned(),
        }
    }
}

const BREAKS: [char; 2] = ['\n', '\r'];

fn stripped(body: &str) -> &str {
    body.trim_start_matches(BREAKS).trim_end()
}

fn joined(first: &str, last: &str) -> String {
    [first, last].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The last `most` bytes, or up to three fewer so that no character is split.
fn last_bytes(text: &str, most: usize) -> &str {
    let start = text.len().saturating_sub(most);
    let start = (start..=text.len()).find(|start| text.is_char_boundary(*start));
    start.and_then(|start| text.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
