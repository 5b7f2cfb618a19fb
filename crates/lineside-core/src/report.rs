//! What a run found, and how much of it goes to the agent's context.

use serde::{Deserialize, Serialize};

use crate::context::{Size, cut, tokens};

/// What a run that came to its end has found.
///
/// ```
/// use lineside_core::report::{Found, Report};
///
/// let report = Report::failure("2 tests fail").body("parse::empty\nparse::nested");
/// assert_eq!((report.summary.as_str(), report.found), ("2 tests fail", Found::Failure));
/// assert_eq!(report.body.lines().count(), 2);
/// assert_eq!(Report::success("all pass").found, Found::Success);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// One line.
    pub summary: String,
    /// Everything there is to say beyond that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Whether what it looked at is in order.
    pub found: Found,
}

/// Whether what a run looked at is in order. That it is not is a result, and no reason to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// It is.
    Success,
    /// It is not: tests fail, a linter complains.
    Failure,
}

impl Report {
    /// All is well.
    pub fn success(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), body: String::new(), found: Found::Success }
    }

    /// Something is not in order.
    pub fn failure(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), body: String::new(), found: Found::Failure }
    }

    /// Everything there is to say beyond the summary.
    #[must_use]
    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }
}

/// What becomes of a report.
///
/// ```
/// use lineside_core::report::{Report, ResultRule};
///
/// let rule = ResultRule { lines: 1, ..ResultRule::default() };
/// let report = Report::failure("2 tests fail").body("parse::empty\nparse::nested");
/// assert_eq!(rule.text(&report), "2 tests fail\n… 1 of 2 lines left out\nparse::nested");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ResultRule {
    /// When it goes where.
    pub when: ResultWhen,
    /// How much of it.
    pub format: Format,
    /// At most this many lines of the body; a marker says what is left out.
    pub lines: usize,
    /// At most this many bytes in all.
    pub bytes: usize,
    /// At most this many tokens in all, by the rule of [`tokens`].
    pub tokens: usize,
}

/// When a report goes where.
///
/// ```
/// use lineside_core::report::{Handover, Report, ResultRule, ResultWhen};
///
/// let rule = ResultRule { when: ResultWhen::Notify, ..ResultRule::default() };
/// let handover = rule.hand_over(&Report::success("formatted 2 files"));
/// assert_eq!(handover, Some(Handover::Notify("formatted 2 files".into())));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultWhen {
    /// It is discarded.
    Ignore,
    /// The user receives it as a notice.
    Notify,
    /// It goes to the context if something is not in order, or if all attempts have failed.
    #[default]
    AppendOnFailure,
    /// It goes to the context.
    AppendAlways,
}

/// How much of a report is shown.
///
/// ```
/// use lineside_core::report::{Format, Report, ResultRule};
///
/// let report = Report::failure("2 tests fail").body("parse::empty\nparse::nested");
/// let rule = ResultRule { format: Format::Summary, ..ResultRule::default() };
/// assert_eq!(rule.text(&report), "2 tests fail");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Its summary.
    Summary,
    /// Its summary and the end of its body, where most programmes put what matters.
    #[default]
    Tail,
    /// Its summary and its body from the beginning.
    Full,
}

impl Default for ResultRule {
    /// The end of what is not in order, 50 lines, 8 KiB and as many tokens as those are of plain English: a page, which
    /// is what a model reads at a glance.
    fn default() -> Self {
        let (when, format) = (ResultWhen::default(), Format::default());
        Self { when, format, lines: 50, bytes: 8 << 10, tokens: 2 << 10 }
    }
}

/// Where a text goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Handover {
    /// To the agent's context.
    Append(String),
    /// To the agent's context, before the agent stops.
    Keep(String),
    /// To the user.
    Notify(String),
}

impl ResultRule {
    /// Where the text of a report goes, if anywhere.
    ///
    /// ```
    /// use lineside_core::report::{Handover, Report, ResultRule};
    ///
    /// let rule = ResultRule::default();
    /// assert_eq!(rule.hand_over(&Report::success("all pass")), None);
    /// let handover = rule.hand_over(&Report::failure("1 test fails"));
    /// assert_eq!(handover, Some(Handover::Append("1 test fails".into())));
    /// ```
    #[must_use]
    pub fn hand_over(&self, report: &Report) -> Option<Handover> {
        match (self.when, report.found) {
            (ResultWhen::Ignore, _) | (ResultWhen::AppendOnFailure, Found::Success) => None,
            (ResultWhen::Notify, _) => Some(Handover::Notify(self.text(report))),
            (ResultWhen::AppendAlways, _) | (ResultWhen::AppendOnFailure, Found::Failure) => {
                Some(Handover::Append(self.text(report)))
            }
        }
    }

    /// The text of a report within the limits.
    #[must_use]
    pub fn text(&self, report: &Report) -> String {
        let most = Size { bytes: self.bytes, tokens: self.tokens };
        // Without a marker: a summary that is too long for its limits has little to say at its end.
        let mut text =
            cut(&report.summary, most, |_| "…".to_owned()).unwrap_or_else(|| report.summary.clone());
        let body = report.body.trim_end();
        if self.format == Format::Summary || body.is_empty() {
            return text;
        }
        let room = most - Size::of(&text);
        let all = body.lines().count();
        let left_out = |kept: usize| format!("\n… {} of {all} lines left out", all - kept);
        let whole = Size::of(body) + Size { bytes: 1, tokens: 1 };
        let is_whole = all <= self.lines && whole.bytes <= room.bytes && whole.tokens <= room.tokens;
        let mut spare = if is_whole { room } else { room - Size::of(&left_out(0)) };
        let mut take = |line: &'_ str| {
            // With the end of the line before it.
            let size = Size { bytes: line.len() + 1, tokens: tokens(line) + 1 };
            let fits = size.bytes <= spare.bytes && size.tokens <= spare.tokens;
            spare = spare - size;
            fits
        };
        let mut kept: Vec<&str> = Vec::new();
        match self.format {
            _ if is_whole => kept.extend(body.lines()),
            Format::Full => kept.extend(body.lines().take(self.lines).take_while(|line| take(line))),
            Format::Tail | Format::Summary => {
                kept.extend(body.lines().rev().take(self.lines).take_while(|line| take(line)));
                kept.reverse();
            }
        }
        let marker = (kept.len() < all).then(|| left_out(kept.len()));
        let marker = marker.filter(|marker| {
            let marker = Size::of(marker);
            marker.bytes <= room.bytes && marker.tokens <= room.tokens
        });
        if self.format == Format::Tail {
            text.push_str(marker.as_deref().unwrap_or_default());
        }
        for line in &kept {
            text.push('\n');
            text.push_str(line);
        }
        if self.format == Format::Full {
            text.push_str(marker.as_deref().unwrap_or_default());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(format: Format, lines: usize, bytes: usize) -> ResultRule {
        ResultRule { format, lines, bytes, ..ResultRule::default() }
    }

    #[test]
    fn the_tail_says_what_it_leaves_out() {
        let report = Report::failure("2 errors").body("a\nb\nc\nd\n");
        assert_eq!(rule(Format::Tail, 2, 100).text(&report), "2 errors\n… 2 of 4 lines left out\nc\nd");
        assert_eq!(rule(Format::Full, 2, 100).text(&report), "2 errors\na\nb\n… 2 of 4 lines left out");
        assert_eq!(rule(Format::Summary, 2, 100).text(&report), "2 errors");
        assert_eq!(rule(Format::Tail, 4, 100).text(&report), "2 errors\na\nb\nc\nd");
    }

    #[test]
    fn no_text_is_longer_than_its_bytes() {
        let report = Report::failure("zwölf Fehler").body("äöü äöü äöü\n".repeat(50));
        for format in [Format::Summary, Format::Tail, Format::Full] {
            for bytes in 0..200 {
                let text = rule(format, 10, bytes).text(&report);
                assert!(text.len() <= bytes, "{format:?} {bytes} {text:?}");
            }
        }
    }

    #[test]
    fn no_text_is_longer_than_its_tokens() {
        let body = ["你好 世界", "plain text", "🦀🦀", "", "х"].join("\n").repeat(9);
        let report = Report::failure("двенадцать ошибок").body(body);
        for format in [Format::Summary, Format::Tail, Format::Full] {
            let mut longest = 0;
            for most in 0..300 {
                let rule = ResultRule { tokens: most, ..rule(format, 100, usize::MAX) };
                let text = rule.text(&report);
                assert!(tokens(&text) <= most, "{format:?} {most} {text:?}");
                longest = text.len();
            }
            assert_eq!(longest > 100, format != Format::Summary, "and all of it when there is room");
        }
    }

    #[test]
    fn a_report_that_fits_is_shown_whole() {
        let report = Report::failure("2 errors").body("one\n\nзвено\nthree\n");
        let whole = "2 errors\none\n\nзвено\nthree";
        for format in [Format::Tail, Format::Full] {
            for bytes in 0..2 * whole.len() {
                let text = rule(format, 4, bytes).text(&report);
                assert_eq!(text == whole, bytes >= whole.len(), "{format:?} {bytes} {text:?}");
                assert!(text.len() <= bytes, "{format:?} {bytes} {text:?}");
            }
            // The end of the line between summary and body counts as a token of its own.
            let needed = tokens("2 errors") + tokens("one\n\nзвено\nthree") + 1;
            for most in 0..2 * needed {
                let text = ResultRule { tokens: most, ..rule(format, 4, usize::MAX) }.text(&report);
                assert_eq!(text == whole, most >= needed, "{format:?} {most} {text:?}");
            }
            assert_ne!(rule(format, 3, usize::MAX).text(&report), whole);
        }
    }

    #[test]
    fn success_goes_to_the_context_only_when_asked_for() {
        let (good, bad) = (Report::success("ok"), Report::failure("no"));
        let rule = |when| ResultRule { when, ..ResultRule::default() };
        assert_eq!(rule(ResultWhen::AppendOnFailure).hand_over(&good), None);
        assert_eq!(
            rule(ResultWhen::AppendOnFailure).hand_over(&bad),
            Some(Handover::Append("no".to_owned()))
        );
        assert_eq!(rule(ResultWhen::AppendAlways).hand_over(&good), Some(Handover::Append("ok".to_owned())));
        assert_eq!(rule(ResultWhen::Notify).hand_over(&good), Some(Handover::Notify("ok".to_owned())));
        assert_eq!(rule(ResultWhen::Ignore).hand_over(&bad), None);
    }
}
