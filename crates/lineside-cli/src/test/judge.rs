//! Expectations against what was seen. It reports every difference, not only the first.

use std::collections::BTreeMap;
use std::path::Path;

use lineside::core::failure::seconds;
use lineside::core::{Outcome, Receipt, Severity, SkipReason};
use lineside::json::{Number, Value};

use super::excerpt::{parted, shown};
use super::expect::{Expect, FileMatch, Finding, Printed};
use super::layout::object;
use super::observed::Observed;
use super::outcome::Mismatch;
use super::text_match::TextMatch;

/// What is not as expected.
pub(super) fn judge(expect: &Expect, observed: &Observed, directory: &Path) -> Vec<Mismatch> {
    let mut faults = Vec::new();
    answer(expect, observed, &mut faults);
    verdict(expect, observed, &mut faults);
    runs(expect, observed, &mut faults);
    texts("context", expect.context.as_deref(), &observed.context(), &mut faults);
    texts("notices", expect.notices.as_deref(), &observed.notices(), &mut faults);
    faults.extend(expect.files.iter().filter_map(|(path, file)| judge_file(path, file, directory)));
    loaded(expect, observed, &mut faults);
    if let Some(within) = expect.within
        && observed.took > within
    {
        let time = |time| format!("{} s", seconds(time));
        faults.push(Mismatch::new("within_ms", format!("at most {}", time(within)), time(observed.took)));
    }
    faults
}

fn answer(expect: &Expect, observed: &Observed, faults: &mut Vec<Mismatch>) {
    let Some(answer) = &observed.answer else { return };
    if let Some(expected) = expect.exit
        && expected != answer.exit
    {
        faults.push(Mismatch::new("exit", expected.to_string(), answer.exit.to_string()));
    }
    faults.extend(printed("stdout", expect.stdout.as_ref(), &answer.stdout));
    faults.extend(printed("stderr", expect.stderr.as_ref(), &answer.stderr));
}

fn printed(what: &'static str, expected: Option<&Printed>, got: &str) -> Option<Mismatch> {
    let (fields, exact) = match expected? {
        Printed::Text(expected) => return text(what, expected, got),
        Printed::Json(fields) => (fields, false),
        Printed::ExactJson(fields) => (fields, true),
    };
    let is_right = object(got).is_ok_and(|object| {
        fields.iter().all(|(name, value)| object.get(name).is_some_and(|got| equal(value, got)))
            && (!exact || object.len() == fields.len())
    });
    let expected = || Value::Object(fields.clone()).to_string();
    (!is_right).then(|| {
        let (expected, got) = parted(&expected(), got);
        Mismatch::new(what, expected, got)
    })
}

fn verdict(expect: &Expect, observed: &Observed, faults: &mut Vec<Mismatch>) {
    let Some(receipt) = observed.decisive() else { return };
    let got = receipt.verdict.strength();
    if let Some(expected) = expect.verdict
        && got != expected
    {
        let why = receipt.verdict.reason().map(|reason| format!(": {}", shown(reason.as_str())));
        faults.push(Mismatch::new("verdict", expected.as_str(), format!("{got}{}", why.unwrap_or_default())));
    }
    if let Some(expected) = &expect.reason {
        match receipt.verdict.reason() {
            None => {
                faults.push(Mismatch::new("reason", expected.describe(), format!("none, as it is {got}")));
            }
            Some(reason) => faults.extend(text("reason", expected, reason.as_str())),
        }
    }
    if let Some(fields) = &expect.payload {
        let payload = receipt.event.payload_json();
        let extra = receipt.event.envelope().extra.as_deref();
        for (field, expected) in fields {
            // A field that the point does not know is kept beside the payload.
            let beside = || extra?.get(&format!("payload.{field}")).or_else(|| extra?.get(field));
            let got = payload.get(field).or_else(beside).unwrap_or(&Value::Null);
            if !equal(expected, got) {
                let (expected, got) = parted(&expected.to_string(), &got.to_string());
                faults.push(Mismatch::new(format!("payload.{field}"), expected, got));
            }
        }
    }
}

fn runs(expect: &Expect, observed: &Observed, faults: &mut Vec<Mismatch>) {
    let ran = observed.ran();
    if let Some(expected) = &expect.ran
        && *expected != ran
    {
        faults.push(Mismatch::new("ran", list(expected), list(&ran)));
    }
    if let Some(expected) = &expect.ran_set {
        let (mut expected, mut got): (Vec<&str>, _) = (expected.iter().map(String::as_str).collect(), ran);
        expected.sort_unstable();
        got.sort_unstable();
        if expected != got {
            faults.push(Mismatch::new("ran_set", list(&expected), list(&got)));
        }
    }
    for (hook, expected) in &expect.skipped {
        let mut fates: Vec<String> =
            observed.receipts.iter().flat_map(|receipt| fates(receipt, hook)).collect();
        let later = observed.background.skipped.iter().filter(|(name, _)| name == hook);
        fates.extend(later.map(|(_, why)| skip(*why)));
        if !fates.contains(&skip(*expected)) {
            let got =
                if fates.is_empty() { "no such hook at this point".to_owned() } else { fates.join(", ") };
            faults.push(Mismatch::new(format!("skipped.{hook}"), skip(*expected), got));
        }
    }
    if let Some(expected) = &expect.failed {
        let failures = observed.failures();
        let got: BTreeMap<&str, _> = failures.iter().map(|(hook, failure)| (*hook, failure.kind)).collect();
        let named =
            |(hook, failure): &(&str, &lineside::core::Failure)| expected.get(*hook) == Some(&failure.kind);
        if got.len() != expected.len() || !failures.iter().all(named) {
            let expected = expected.iter().map(|(hook, kind)| format!("{hook}: {kind}"));
            let got = failures.iter().map(|(hook, failure)| format!("{hook}: {} ({failure})", failure.kind));
            faults.push(Mismatch::new("failed", list(expected), list(got)));
        }
    }
}

/// What became of a hook of that name, each time.
fn fates(receipt: &Receipt, hook: &str) -> Vec<String> {
    let runs = receipt.runs.iter().filter(|run| receipt.name(run.hook) == hook);
    runs.map(|run| match &run.outcome {
        Outcome::Skipped(why) => skip(*why),
        Outcome::Answered(verdict) => format!("ran and said {}", verdict.strength()),
        Outcome::Failed { failure, .. } => format!("failed: {failure}"),
        Outcome::Detached => "ran in background".to_owned(),
        Outcome::Offered(taken) => taken.as_str().to_owned(),
    })
    .collect()
}

fn skip(why: SkipReason) -> String {
    why.as_str().to_owned()
}

fn texts(what: &str, expected: Option<&[TextMatch]>, got: &[&str], faults: &mut Vec<Mismatch>) {
    let Some(expected) = expected else { return };
    if expected.len() != got.len() {
        let expected = expected.iter().map(TextMatch::describe);
        faults.push(Mismatch::new(what, list(expected), list(got.iter().map(|text| shown(text)))));
        return;
    }
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        faults.extend(text(&format!("{what}[{index}]"), expected, got));
    }
}

fn text(what: &str, expected: &TextMatch, got: &str) -> Option<Mismatch> {
    if expected.fits(got) {
        return None;
    }
    let (expected, got) = match expected {
        TextMatch::Equal(equal) => parted(equal, got),
        other => (other.describe(), shown(got)),
    };
    Some(Mismatch::new(what, expected, got))
}

fn judge_file(path: &str, expected: &FileMatch, directory: &Path) -> Option<Mismatch> {
    let fault = |expected: String, got: String| Some(Mismatch::new(format!("files.{path}"), expected, got));
    let file = directory.join(path);
    if expected.absent {
        let there = std::fs::symlink_metadata(&file).is_ok();
        return if there { fault("absent".to_owned(), "it is there".to_owned()) } else { None };
    }
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => bytes,
        Err(error) => return fault("a file".to_owned(), error.to_string()),
    };
    let got = String::from_utf8_lossy(&bytes);
    if let Some(text) = &expected.text
        && **text != *got
    {
        let (expected, got) = parted(text, &got);
        return fault(expected, got);
    }
    if let Some(part) = &expected.contains
        && !got.contains(part.as_str())
    {
        return fault(format!("a text with {}", shown(part)), shown(&got));
    }
    if let Some(lines) = expected.lines
        && got.lines().count() != lines
    {
        return fault(format!("{lines} lines"), format!("{} lines: {}", got.lines().count(), shown(&got)));
    }
    let fields = expected.json.as_ref()?;
    let object = match object(&got) {
        Ok(object) => object,
        Err(error) => return fault("a JSON object".to_owned(), format!("{error:#}: {}", shown(&got))),
    };
    let wrong = fields.iter().find(|(name, value)| !equal(value, object.get(name).unwrap_or(&Value::Null)));
    let (name, value) = wrong?;
    fault(
        format!("{name}: {value}"),
        format!("{name}: {}", object.get(name).map_or("absent".to_owned(), Value::to_string)),
    )
}

fn loaded(expect: &Expect, observed: &Observed, faults: &mut Vec<Mismatch>) {
    let Some(report) = &observed.loaded else { return };
    let hooks = observed.hooks();
    if let Some(expected) = &expect.hooks
        && *expected != hooks
    {
        faults.push(Mismatch::new("hooks", list(expected), list(&hooks)));
    }
    let Some(expected) = &expect.diagnostics else { return };
    let got: Vec<_> = report.diagnostics.iter().map(|found| (found.severity, found.to_string())).collect();
    let occurs = |wanted: &&Finding| {
        got.iter().any(|(severity, text)| *severity == wanted.severity && text.contains(&wanted.contains))
    };
    let missing: Vec<_> = expected.iter().filter(|wanted| !occurs(wanted)).collect();
    let is_clean = got.iter().all(|(severity, _)| *severity == Severity::Note);
    if missing.is_empty() && (!expected.is_empty() || is_clean) {
        return;
    }
    let wanted =
        missing.iter().map(|wanted| format!("{} with {}", wanted.severity.as_str(), shown(&wanted.contains)));
    let found = got.iter().map(|(severity, text)| format!("{} {}", severity.as_str(), shown(text)));
    faults.push(Mismatch::new("diagnostics", list(wanted), list(found)));
}

/// Deep equality. Numbers are equal by value, not by how they are written.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || same_value(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether two numbers that are written differently have one value. Integers beyond 64 bits are compared as written.
fn same_value(a: &Number, b: &Number) -> bool {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a == b;
    }
    let whole =
        |number: &Number| number.to_string().bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    !(whole(a) && whole(b)) && a.as_f64().is_some() && a.as_f64() == b.as_f64()
}

fn list<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.as_ref().to_owned()).collect();
    if items.is_empty() { "none".to_owned() } else { format!("[{}]", items.join(", ")) }
}

#[cfg(test)]
mod tests;
