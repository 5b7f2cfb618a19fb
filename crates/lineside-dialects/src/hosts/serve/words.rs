//! What was decided, in the words of a host (HO-17 to HO-28).

use lineside_core::json::{Map, Value};
use lineside_core::{Strength, Verdict, context};

use super::call::HostAnswer;
use super::outcome::Outcome;
use crate::hosts::program::Host;
use crate::hosts::table::{Amend, Context, How, Refusal, Say, Scope, Words, unreasoned};

mod shape;
mod template;

use template::{Filling, fill, merge};

/// An event to be answered.
pub(super) struct RenderInput<'a> {
    /// The words.
    pub(super) words: &'a Words,
    /// The point.
    pub(super) point: &'a str,
    /// The host whose words they are.
    pub(super) host: Host,
    /// The name of the event in the answer.
    pub(super) event: &'a str,
    /// Whether the agent was kept working already.
    pub(super) stop_active: bool,
    /// Context of earlier events.
    pub(super) waiting: &'a [String],
}

/// An answer, and what else comes of it.
#[derive(Debug, Default)]
pub(super) struct Put {
    pub(super) answer: HostAnswer,
    /// The later gates that are held, and why.
    pub(super) hold: Option<(Scope, String)>,
    /// What became of the context.
    pub(super) context: ContextFate,
    /// Texts that have become context and that the answer could not carry.
    pub(super) waits: Vec<String>,
    /// The reason of the block that was printed, if one was.
    pub(super) blocked: Option<String>,
    /// What goes to the log, because the host has no words for it.
    pub(super) log: Vec<String>,
}

/// What became of the context of an event and of earlier ones (HO-23).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContextFate {
    /// The answer cannot carry it; all of it waits.
    #[default]
    Waits,
    /// All of it is in the answer.
    Printed,
    /// That of the event is discarded, that of earlier ones waits on.
    Discarded,
}

/// Puts an outcome into words.
pub(super) fn render(telling: &RenderInput<'_>, outcome: &Outcome) -> Put {
    let mut writing = Writing::new(telling, outcome);
    writing.amendments(outcome);
    writing.verdict();
    writing.context();
    writing.finish()
}

/// The refusal that an outcome of what is about to happen comes to, where a host can neither ask nor change it.
pub(super) fn refused(telling: &RenderInput<'_>, outcome: &Outcome) -> Option<Verdict> {
    let is_gate = ["before_tool", "before_permission", "before_prompt"].contains(&telling.point);
    if !is_gate || outcome.is_refused() {
        return None;
    }
    let mut writing = Writing::new(telling, outcome);
    writing.amendments(outcome);
    Some(writing.verdict).filter(|verdict| verdict.strength().is_final())
}

struct Writing<'a> {
    telling: &'a RenderInput<'a>,
    words: &'a Words,
    verdict: Verdict,
    document: Map,
    /// An answer that is no document.
    plain: Option<HostAnswer>,
    context: Vec<String>,
    /// Reasons that have become context, in front of the rest.
    reasons: Vec<String>,
    author: &'a str,
    notices: Vec<String>,
    put: Put,
    output: Option<&'a Value>,
    /// Whether the reason is none of the hook's own.
    is_unreasoned: bool,
}

impl<'a> Writing<'a> {
    fn new(telling: &'a RenderInput<'a>, outcome: &'a Outcome) -> Self {
        let words = telling.words;
        let verdict = match &outcome.verdict {
            // A gate that cannot ask does not let pass; the wish comes before any amendment.
            Verdict::Ask(_) if words.ask.how == How::BlockA => {
                let reason = outcome.reason();
                let text = format!("[approval is needed and {} cannot ask for it here]", telling.host);
                Verdict::block(with_reason(reason, &text))
            }
            other => other.clone(),
        };
        Self {
            telling,
            words,
            verdict,
            document: Map::new(),
            plain: None,
            context: outcome.context.clone(),
            reasons: Vec::new(),
            author: &outcome.author,
            notices: outcome.notices.clone(),
            put: Put::default(),
            output: outcome.before.get("tool_output"),
            is_unreasoned: outcome.is_unreasoned,
        }
    }

    fn reason(&self) -> &str {
        self.verdict.reason().map_or("", |reason| reason.as_str())
    }

    /// Adds a document.
    fn add(&mut self, template: &str, value: Option<&Value>) {
        let reason = self.reason().to_owned();
        // A reason that stands where context does is labelled like it.
        let context = labelled(self.telling.host, self.author, &reason);
        let filling = Filling {
            event: self.telling.event,
            reason: &reason,
            context: &context,
            value,
            ..Filling::default()
        };
        merge(&mut self.document, fill(template, &filling));
    }

    fn amendments(&mut self, outcome: &Outcome) {
        if self.verdict.strength().is_final() {
            return;
        }
        let changed = outcome.after.iter().filter(|(field, after)| outcome.before.get(field) != Some(after));
        for (field, after) in changed {
            let how = self.words.amend.iter().find(|(name, _)| *name == field.as_str()).map(|(_, how)| *how);
            match how {
                None => self.dropped(field),
                Some(how) => self.amended(how, outcome, field, after),
            }
            if self.verdict.strength().is_final() {
                return;
            }
        }
        if let Some((_, Amend::Line(text))) = self.words.amend.first()
            && self.plain.is_none()
        {
            self.verdict = Verdict::block(*text);
        }
    }

    fn amended(&mut self, how: Amend, outcome: &Outcome, field: &str, after: &Value) {
        match how {
            Amend::Json(template) => self.add(template, Some(after)),
            Amend::Text(template) => self.add(template, Some(&Value::String(text(after)))),
            Amend::Approved(template, _) if self.verdict.strength() == Strength::Allow => {
                self.add(template, Some(after));
            }
            Amend::Approved(_, refusal) | Amend::Refuse(refusal) => self.refuse(refusal, field, after),
            // A host drops a refusal without a reason, and the result would be read as it was (HO-19, CX-4).
            Amend::Withhold => {
                let after = text(after);
                let is_blank = after.trim().is_empty();
                self.verdict =
                    Verdict::block(if is_blank { unreasoned(&outcome.amenders.join(", ")) } else { after });
            }
            Amend::Fitted(template) => match self.output.and_then(|output| shape::fitted(output, after)) {
                Some(fitted) => self.add(template, Some(&fitted)),
                None => self.dropped(field),
            },
            Amend::Merged(template) => {
                let kept = |before: &Map, after: &Map| before.keys().all(|member| after.contains_key(member));
                match (outcome.before.get(field), after) {
                    (Some(Value::Object(before)), Value::Object(object)) if kept(before, object) => {
                        self.add(template, Some(after));
                    }
                    _ => self.refuse(Refusal::Input, field, after),
                }
            }
            Amend::Asking(template, why) => {
                if self.verdict == Verdict::Continue {
                    self.verdict = Verdict::ask(format!("{why} {}", outcome.amenders.join(", ")));
                }
                self.add(template, Some(after));
            }
            Amend::Line(_) => {
                self.plain = Some(HostAnswer::line(&text(after)));
            }
            // Of several changed fields each gives the same document.
            Amend::Own(template, words) => {
                self.add(template, Some(&words(&outcome.before, &outcome.after)));
            }
        }
    }

    /// B, C and D
    fn refuse(&mut self, refusal: Refusal, field: &str, after: &Value) {
        let host = self.telling.host;
        let after = text(after);
        let fixed = match refusal {
            Refusal::Input => {
                format!(
                    "[the input must change and {host} cannot change it here; repeat the call with this input: {after}]"
                )
            }
            Refusal::Prompt => {
                format!(
                    "[the prompt must change and {host} cannot change it here; send this instead: {after}]"
                )
            }
            Refusal::Output if self.telling.stop_active => return self.dropped(field),
            Refusal::Output => format!("[answer with exactly this instead: {after}]"),
        };
        // An approval says nothing of why this is refused.
        let has_reason = self.verdict.strength() > Strength::Allow && !self.is_unreasoned;
        let reason = if has_reason { self.reason() } else { "" };
        self.verdict = Verdict::block(with_reason(reason, &fixed));
    }

    fn dropped(&mut self, field: &str) {
        self.notices.push(format!(
            "lineside: {} cannot take a changed `{field}` here, so it was dropped",
            self.telling.host
        ));
    }

    fn verdict(&mut self) {
        let words = self.words;
        let word = match self.verdict.strength() {
            Strength::Continue => return,
            Strength::Allow => words.allow,
            Strength::Ask => words.ask,
            Strength::Block => words.block,
            Strength::Stop => words.stop,
        };
        self.say(word);
    }

    fn say(&mut self, word: Say) {
        let reason = self.reason().to_owned();
        if let Some(scope) = word.hold {
            self.put.hold = Some((scope, reason.clone()));
        }
        let refuses = self.verdict.strength().is_final();
        match word.how {
            How::Silent => return,
            How::Json(template) => self.add(template, None),
            How::JsonAndBlock(template) => {
                self.add(template, None);
                return self.say(self.words.block);
            }
            How::Block | How::BlockA => return self.say(self.words.block),
            How::Exit2 => {
                self.plain = Some(HostAnswer::refusal(&reason));
            }
            How::Fitted(template) => {
                self.add(template, None);
                self.withheld(&reason);
            }
            How::Context => {
                self.reasons.push(reason.clone());
                self.put.log.push(format!("the result stays, and its reason stands beside it: {reason}"));
            }
            How::Beside(template) => {
                self.add(template, None);
                self.notices.push(format!("lineside: the error stays visible beside this: {reason}"));
            }
            How::Notice => self.notices.push(reason.clone()),
        }
        if refuses {
            self.put.blocked = Some(reason);
        }
    }

    /// The reason in place of the result.
    fn withheld(&mut self, reason: &str) {
        let fitted = self.output.and_then(|output| shape::fitted(output, &Value::String(reason.to_owned())));
        let template = self.words.amend.iter().find_map(|(_, how)| match how {
            Amend::Fitted(template) => Some(*template),
            _ => None,
        });
        match (fitted, template) {
            (Some(fitted), Some(template)) => self.add(template, Some(&fitted)),
            _ => self.not_withheld(),
        }
    }

    fn not_withheld(&mut self) {
        self.notices.push("lineside: the result has no text that could be replaced; it stays".to_owned());
    }

    fn context(&mut self) {
        let is_prompt = self.telling.point == "before_prompt";
        let strength = self.verdict.strength();
        // Context of a refused prompt is discarded; what waited goes on waiting.
        if is_prompt && strength.is_final() {
            self.put.context = ContextFate::Discarded;
            return;
        }
        // A stop with a word of its own carries its reason alone.
        let stopped = strength == Strength::Stop && self.words.stop.how != How::Block;
        let (waiting, own) =
            if stopped { (&[][..], &[][..]) } else { (self.telling.waiting, &self.context[..]) };
        let reasons: Vec<String> =
            self.reasons.iter().map(|reason| labelled(self.telling.host, self.author, reason)).collect();
        let texts = waiting.iter().chain(&reasons).chain(own);
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        let (is_empty, context) = (texts.is_empty(), texts.join("\n\n"));
        self.put.context = if stopped { ContextFate::Waits } else { ContextFate::Printed };
        match self.words.context {
            _ if is_empty => {}
            Context::Plain if self.plain.is_none() => self.plain = Some(HostAnswer::line(&context)),
            Context::Json(template) if self.plain.is_none() => self.add_context(template, &context),
            Context::BesideBlock(template) if strength == Strength::Block => {
                self.add_context(template, &context);
            }
            _ => {
                self.put.context = ContextFate::Waits;
                self.put.waits = std::mem::take(&mut self.reasons);
            }
        }
    }

    fn add_context(&mut self, template: &str, context: &str) {
        let filling = Filling { event: self.telling.event, context, ..Filling::default() };
        merge(&mut self.document, fill(template, &filling));
    }

    fn finish(mut self) -> Put {
        if let (Some(template), [_, ..], None) = (self.words.notices, &self.notices[..], &self.plain) {
            let notices = self.notices.join("\n");
            let filling = Filling { notices: &notices, ..Filling::default() };
            merge(&mut self.document, fill(template, &filling));
        } else {
            self.put.log.append(&mut self.notices);
        }
        self.put.answer = match self.plain {
            Some(plain) => plain,
            None if !self.document.is_empty() => HostAnswer::line(&self.document.to_string()),
            None if self.words.quiet.is_empty() => HostAnswer::default(),
            None => HostAnswer::line(self.words.quiet),
        };
        self.put
    }
}

/// A text as it is, anything else as compact JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A text of a hook as it reaches the model of a host: with the name of the hook where the host does not say that it is a
/// hook's.
#[must_use]
pub fn labelled(host: Host, hook: &str, text: &str) -> String {
    let hook = if hook.is_empty() { "lineside" } else { hook };
    if host.labels_context() { text.to_owned() } else { context::labelled(hook, text) }
}

fn with_reason(reason: &str, text: &str) -> String {
    if reason.trim().is_empty() { text.to_owned() } else { format!("{reason} {text}") }
}

#[cfg(test)]
mod tests;
