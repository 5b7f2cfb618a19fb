//! What a hook without a process says of the events that its filters let through.

use lineside_core::json::{Map, Value};
use lineside_core::tool_class::is_ambiguous;
use lineside_core::{Amendment, Answer, AnyEvent, Append, Strength, Verdict};
use regex::Regex;

use crate::acts::Acts;
use crate::found::Found;
use crate::limit::Limit;
use crate::wording::Wording;

/// The longest reason, in characters.
const LONGEST: usize = 10_000;

/// The answer of a hook that needs no process.
#[derive(Debug)]
pub struct Ruling {
    /// Its verdict. What is ambiguous is not allowed: where an input names several commands, or several files where a tool
    /// takes one, the filters may have been met by one and the tool take another.
    pub strength: Strength,
    /// Why; a sentence that names the hook, when absent.
    pub reason: Option<Wording>,
    /// What goes to the agent's context.
    pub context: Option<Wording>,
    /// New values for fields of the payload, each by its path from the payload on.
    pub amend: Vec<(Vec<String>, Change)>,
    /// How often it may happen before all this is said of it.
    pub limit: Option<Limit>,
    /// The filter over what a call does, for what it names in its texts.
    pub acts: Option<Acts>,
}

/// What becomes of a field.
#[derive(Debug, Clone)]
pub enum Change {
    /// It has this text.
    Set(Wording),
    /// Each match in its texts is replaced.
    Redact {
        /// What is replaced.
        pattern: Regex,
        /// By what.
        with: String,
    },
}

impl Ruling {
    /// The answer to an event that the filters of its hook let through.
    #[must_use]
    pub fn answer(&self, event: &AnyEvent) -> Answer {
        if self.limit.as_ref().is_some_and(|limit| limit.hears_end(event) || !limit.is_past(event)) {
            return Answer::default();
        }
        if self.strength == Strength::Allow && event.payload().value("tool_input").is_some_and(is_ambiguous) {
            const WHY: &str = "allows nothing: the call names several commands or files, and which one the tool takes is \
                               not known";
            return Answer { remarks: vec![WHY.into()], ..Answer::default() };
        }
        let found = self.acts.as_ref().and_then(|acts| acts.find(event));
        let found = found.as_ref();
        // What was in doubt stands in the receipt already.
        let certain = found.filter(|found| found.doubt.is_none()).map(ToString::to_string);
        let remark = certain.filter(|found| !found.is_empty()).map(Into::into);
        let context = self.context.iter().map(|text| text.render(event, found));
        Answer {
            verdict: Verdict::of(self.strength, self.because(event, found)),
            amendment: self.amendment(event, found),
            context: context.filter(|text| !text.trim().is_empty()).map(Append::system).collect(),
            remarks: remark.into_iter().collect(),
            ..Answer::default()
        }
    }

    /// The reason, with what made the filter match where the text does not name it.
    fn because(&self, event: &AnyEvent, found: Option<&Found>) -> String {
        let mut reason = self.reason.as_ref().map(|reason| reason.render(event, found)).unwrap_or_default();
        let told = |wording: &Wording, found: &Found| match &found.doubt {
            Some(_) => wording.names_why(),
            None => wording.names_what_matched(),
        };
        if let Some(found) = found.filter(|found| !self.reason.as_ref().is_some_and(|text| told(text, found)))
        {
            let short = found.to_string();
            match (reason.is_empty(), short.is_empty()) {
                (_, true) => {}
                (true, false) => reason = short,
                (false, false) => reason = format!("{reason} ({short})"),
            }
        }
        match reason.char_indices().nth(LONGEST) {
            Some((end, _)) => reason[..end].to_owned(),
            None => reason,
        }
    }

    fn amendment(&self, event: &AnyEvent, found: Option<&Found>) -> Amendment {
        let mut fields = Map::new();
        for (path, change) in &self.amend {
            let Some((field, below)) = path.split_first() else { continue };
            let now = fields.get(field).or_else(|| event.payload_json().get(field)).cloned();
            let mut value = now.unwrap_or(Value::Null);
            match (below_of(&mut value, below), change) {
                (Some(place), Change::Set(text)) => *place = text.render(event, found).into(),
                (Some(place), Change::Redact { pattern, with }) => redact(place, pattern, with),
                (None, _) => {}
            }
            fields.insert(field.clone(), value);
        }
        fields.retain(|field, value| event.payload_json().get(field) != Some(value));
        Amendment::from_json(fields)
    }
}

/// What lies below a value at this path; a value that is null becomes an object on the way.
fn below_of<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    let Some((key, below)) = path.split_first() else { return Some(value) };
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    below_of(value.as_object_mut()?.get_or_insert_with(key, || Value::Null), below)
}

fn redact(value: &mut Value, pattern: &Regex, with: &str) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(redacted) = pattern.replace_all(text, regex::NoExpand(with)) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, pattern, with)),
        Value::Object(fields) => fields.into_iter().for_each(|(_, item)| redact(item, pattern, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
