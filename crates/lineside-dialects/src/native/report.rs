//! What came of a run of an automation to its report.

use lineside_core::Failure;
use lineside_core::invocation::Captured;
use lineside_core::report::{Found, Report};

use super::output::{self, ReadAnswerError};
use crate::ending;
use crate::handler::Returned;

const KEYS: [&str; 3] = ["summary", "body", "found"];

/// Reads what came of a run: an end with status 0 means that all is in order, status 1 that something is not, and any
/// other end is a failure.
///
/// # Errors
/// It came to no result.
pub(super) fn read(returned: &Returned) -> Result<Report, Failure> {
    match returned {
        Returned::Worker(_) => {
            let text = returned.warm()?.trim();
            if text.is_empty() {
                return Ok(of_text("", Found::Success));
            }
            of_json(text, Found::Success).map_err(|error| output::unreadable(&error.to_string()))
        }
        Returned::Post(posted) => of_output(output::body(posted)?, Found::Success)
            .map_err(|error| output::unreadable(&error.unquoted())),
        Returned::Command(_) | Returned::Nothing => {
            let ended = returned.command()?;
            let found = match ending::status(ended)? {
                0 => Found::Success,
                1 => Found::Failure,
                code => return Err(ending::bad_status_of_run(code, ended)),
            };
            // Many programs complain on standard error alone.
            let is_silent = !ended.stdout.is_cut() && ended.stdout.trimmed_text().is_empty();
            let said = if is_silent && found == Found::Failure { &ended.stderr } else { &ended.stdout };
            of_output(said, found).map_err(|error| ending::unreadable(error, ended))
        }
    }
}

fn of_output(output: &Captured, found: Found) -> Result<Report, ReadAnswerError> {
    if output.is_cut() {
        return Err(ReadAnswerError::Cut(output.bytes.len()));
    }
    let text = crate::text::printed(output);
    if text.starts_with('{') { of_json(&text, found) } else { Ok(of_text(&text, found)) }
}

/// The first line is the summary, and the others are the body.
fn of_text(text: &str, found: Found) -> Report {
    let (summary, body) = text.split_once('\n').unwrap_or((text, ""));
    let summary = match (summary.trim_end(), found) {
        ("", Found::Success) => "in order",
        ("", Found::Failure) => "not in order",
        (summary, _) => summary,
    };
    Report { summary: summary.to_owned(), body: body.to_owned(), found }
}

fn of_json(text: &str, found: Found) -> Result<Report, ReadAnswerError> {
    let fields = output::object(text.as_bytes(), &KEYS)?;
    let summary = output::string(&fields, "summary")?.filter(|summary| !summary.trim().is_empty());
    let summary = summary.ok_or(ReadAnswerError::Type("summary", "a text that is not blank"))?;
    let body = output::string(&fields, "body")?.unwrap_or_default();
    let found = match output::string(&fields, "found")? {
        None => found,
        Some("success") => Found::Success,
        Some("failure") => Found::Failure,
        Some(_) => return Err(ReadAnswerError::Type("found", "success or failure")),
    };
    Ok(Report { summary: summary.to_owned(), body: body.to_owned(), found })
}

#[cfg(test)]
mod tests;
