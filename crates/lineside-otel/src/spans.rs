//! Signals as spans and records: a session, its turns, its calls of tools, the decisions about these, the hooks asked.
//!
//! A span has its end when it is sent, so that those of a session and a turn come last. Ids follow from those of events and
//! sessions: what comes later finds the span above it without anything being kept for it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use lineside_bus::{JobNews, Signal};
use lineside_core::envelope::Source;
use lineside_core::{EventId, Outcome, Receipt, SessionId, Strength, Timestamp, Traceparent};
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use crate::queue::Queue;
use crate::weight::{Place, Room, content, name, named, weight};

/// How many sessions, calls of tools in one, and jobs are followed at once, as far as there is [`Room`]; further ones have no
/// span of their own.
const SESSIONS: usize = 16_384;
const CALLS: usize = 64;
const JOBS: usize = 4_096;

/// Something for the logs.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) at: SystemTime,
    pub(crate) is_wrong: bool,
    pub(crate) text: String,
    pub(crate) attributes: Vec<KeyValue>,
    /// The span that it belongs to.
    pub(crate) of: Option<(u128, u64)>,
}

/// A span that has begun.
#[derive(Debug)]
struct Begun {
    id: u64,
    above: u64,
    begin: SystemTime,
    name: String,
    attributes: Vec<KeyValue>,
    /// Where it is kept; given back when this is dropped.
    #[expect(dead_code, reason = "what counts is when it is dropped")]
    place: Option<Place>,
}

impl Begun {
    /// Itself with a place, if there is one.
    fn kept(self, room: &Room) -> Option<Self> {
        let place = Some(room.place(weight(&self.name, &self.attributes))?);
        Some(Self { place, ..self })
    }
}

/// A session that is open.
#[derive(Debug)]
struct Open {
    /// What its processes have; nothing is sent of one that is not sampled.
    context: Traceparent,
    span: Begun,
    is_below_others: bool,
    turn: Option<(u64, Begun)>,
    calls: HashMap<String, Begun>,
    last: SystemTime,
}

/// Everything that has begun, and what is to be sent.
#[derive(Debug)]
pub(crate) struct Spans {
    content: bool,
    scope: InstrumentationScope,
    sessions: HashMap<SessionId, Open>,
    jobs: HashMap<u64, (u128, bool, Begun)>,
    room: Room,
    pub(crate) spans: Queue<SpanData>,
    pub(crate) notes: Queue<Note>,
}

impl Spans {
    pub(crate) fn new(content: bool) -> Self {
        Self {
            content,
            scope: InstrumentationScope::builder("lineside").with_version(env!("CARGO_PKG_VERSION")).build(),
            sessions: HashMap::new(),
            jobs: HashMap::new(),
            room: Room::default(),
            spans: Queue::default(),
            notes: Queue::default(),
        }
    }

    pub(crate) fn hear(
        &mut self,
        signal: &Signal,
        at: Timestamp,
        source: impl FnOnce(&SessionId) -> Option<Arc<Source>>,
    ) {
        let at = time(at);
        match signal {
            Signal::SessionOpened { session, .. } => {
                if let Some(source) = source(session) {
                    self.open(&source, at);
                }
            }
            Signal::SessionClosed { session, .. } => self.close(session, at),
            Signal::Decided(receipt) => self.decided(receipt, at),
            Signal::DetachedFinished { event, session, hook, outcome, took, .. } => {
                let Some((trace, true)) = self.trace(session) else { return };
                let id = Traceparent::span_of(&[&bytes(*event), hook.name.as_bytes(), b"detached"]);
                let mut span =
                    begun(id, of_event(*event), at.checked_sub(*took).unwrap_or(at), "hook", &hook.name);
                let status = of_outcome(outcome, &mut span.attributes);
                self.end(span, (trace, at), status);
            }
            Signal::Automation { hook, job: Some(job), event, session, news } => {
                self.job(*job, news, (hook, *event, session), at);
            }
            Signal::Notified { notice, .. } | Signal::Announced { notice } if self.content => {
                self.note(at, false, content(&notice.text), Vec::new(), None);
            }
            _ => {}
        }
    }

    /// The trace of a session, and whether it is sampled.
    fn trace(&self, session: &SessionId) -> Option<(u128, bool)> {
        self.sessions.get(session).map(|open| (open.context.trace, open.context.sampled))
    }

    fn open(&mut self, source: &Source, at: SystemTime) {
        if self.sessions.contains_key(&source.session) || self.sessions.len() >= SESSIONS {
            return;
        }
        let Some(context) = source.traceparent.as_deref().and_then(Traceparent::read) else { return };
        let session = source.session.as_str();
        let above = source.parent_session.as_ref().and_then(|parent| self.sessions.get(parent));
        let root = Traceparent { span: 0, ..context };
        let (id, parent, is_below_others) = match above {
            Some(above) if above.context.of_session(session) == context => {
                (context.span, above.span.id, false)
            }
            None if root.of_session(session) == context => (context.span, 0, false),
            // It was given, by a program that has a span of that id itself.
            _ => (context.of_session(session).span, context.span, true),
        };
        let label = name(source.agent.role.as_deref().unwrap_or(&source.agent.id));
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            named("gen_ai.agent.id", &source.agent.id),
            named("gen_ai.agent.name", label),
            named("gen_ai.conversation.id", session),
        ];
        let model =
            source.model.as_ref().and_then(|model| model.running.as_ref().or(model.selected.as_ref()));
        attributes.extend(model.map(|model| named("gen_ai.request.model", model)));
        let host = source.host.as_ref();
        attributes.extend(host.map(|host| named("lineside.host", host)));
        let name = format!("invoke_agent {label}");
        let span = Begun { id, above: parent, begin: at, name, attributes, place: None };
        let Some(span) = span.kept(&self.room) else { return };
        let open = Open { context, span, is_below_others, turn: None, calls: HashMap::new(), last: at };
        self.sessions.insert(source.session.clone(), open);
    }

    /// What has not ended ends with its session.
    fn close(&mut self, session: &SessionId, at: SystemTime) {
        let Some(open) = self.sessions.remove(session) else { return };
        if !open.context.sampled {
            return;
        }
        let trace = open.context.trace;
        for (_, mut call) in open.calls {
            call.attributes.push(KeyValue::new("lineside.end", "not known"));
            self.end(call, (trace, open.last), Status::Unset);
        }
        if let Some((_, turn)) = open.turn {
            self.end(turn, (trace, open.last), Status::Unset);
        }
        self.end_as(open.span, (trace, at), Status::Unset, open.is_below_others);
    }

    fn decided(&mut self, receipt: &Receipt, at: SystemTime) {
        let envelope = receipt.event.envelope();
        let source = &envelope.source;
        let begin = time(envelope.time).min(at);
        self.open(source, begin);
        let Some(open) = self.sessions.get_mut(&source.session) else { return };
        let own = source.traceparent.as_deref().and_then(Traceparent::read);
        // An event may have a trace of its own.
        let given = own.filter(|own| *own != open.context);
        let context = given.unwrap_or(open.context);
        if !context.sampled {
            return;
        }
        let end = begin + receipt.took;
        open.last = open.last.max(end);
        let (mut ended, mut above) = (Vec::new(), open.span.id);
        if let Some(number) = envelope.turn {
            if open.turn.as_ref().is_none_or(|(last, _)| *last != number) {
                ended.extend(open.turn.take().map(|(_, turn)| (turn, begin, Status::Unset)));
                let id = Traceparent::span_of(&[
                    source.session.as_str().as_bytes(),
                    &number.to_be_bytes(),
                    b"turn",
                ]);
                let mut turn = begun(id, open.span.id, begin, "turn", &number.to_string());
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                turn.attributes.push(KeyValue::new("lineside.turn", number));
                open.turn = Some((envelope.turn.unwrap_or_default(), turn));
            }
            above = open.turn.as_ref().map_or(above, |(_, turn)| turn.id);
        }
        let payload = receipt.event.payload();
        let point = receipt.event.point().name;
        let tool = payload.text("tool_name").map(name);
        let call = payload.text("tool_call_id").map(name).or(tool).unwrap_or_default().to_owned();
        match (point, tool) {
            ("before_tool", Some(tool)) => {
                ended.extend(open.calls.remove(&call).map(|before| (before, begin, Status::Unset)));
                let id = Traceparent::span_of(&[&bytes(envelope.id), b"tool"]);
                let mut span = begun(id, above, begin, "execute_tool", tool);
                span.attributes.push(KeyValue::new("gen_ai.operation.name", "execute_tool"));
                span.attributes.push(named("gen_ai.tool.name", tool));
                let known = payload.text("tool_call_id");
                span.attributes.extend(known.map(|id| named("gen_ai.tool.call.id", id)));
                if self.content {
                    let input = payload.value("tool_input").map(|input| content(&input.to_string()));
                    span.attributes
                        .extend(input.map(|input| KeyValue::new("gen_ai.tool.call.arguments", input)));
                }
                above = id;
                if receipt.verdict.strength().is_final() {
                    span.attributes.push(KeyValue::new("error.type", "refused"));
                    ended.push((span, end, Status::error("refused")));
                } else if open.calls.len() < CALLS
                    && let Some(span) = span.kept(&self.room)
                {
                    open.calls.insert(call, span);
                }
            }
            ("after_tool" | "after_tool_error", _) => {
                if let Some(span) = open.calls.remove(&call) {
                    above = span.id;
                    let is_error = point == "after_tool_error";
                    let status = if is_error { Status::error("the tool has failed") } else { Status::Unset };
                    ended.push((span, end, status));
                }
            }
            _ => {}
        }
        let above = given.map_or(above, |given| given.span);
        let trace = context.trace;
        let of_session = open.context.trace;
        for (span, at, status) in ended {
            self.end(span, (of_session, at), status);
        }
        self.decision(receipt, (trace, above), (begin, end));
    }

    fn decision(
        &mut self,
        receipt: &Receipt,
        (trace, above): (u128, u64),
        (begin, end): (SystemTime, SystemTime),
    ) {
        let (envelope, point) = (receipt.event.envelope(), receipt.event.point().name);
        let verdict = receipt.verdict.strength();
        let mut span = begun(of_event(envelope.id), above, begin, "decide", point);
        span.attributes.extend([
            KeyValue::new("lineside.event.id", envelope.id.to_string()),
            KeyValue::new("lineside.point", point),
            KeyValue::new("lineside.verdict", verdict.as_str()),
            named("gen_ai.conversation.id", envelope.source.session.as_str()),
        ]);
        let by = receipt.author().map(|hook| name(&hook.name).to_owned());
        span.attributes.extend(by.clone().map(|by| KeyValue::new("lineside.by", by)));
        let reason = receipt.verdict.reason().filter(|_| self.content);
        let reason = reason.map(|reason| content(reason.as_str()));
        span.attributes.extend(reason.clone().map(|reason| KeyValue::new("lineside.reason", reason)));
        let (id, mut failed, mut from, mut place) = (span.id, Vec::new(), begin, 0_u32);
        let mut hooks = Vec::new();
        // Their begins are not known: those that have run one after another stand so.
        receipt.runs.each(|hook, took, outcome| {
            place += 1;
            if outcome.verdict().is_none() {
                return;
            }
            let name = name(receipt.name(hook));
            let hook = Traceparent::span_of(&[&bytes(envelope.id), &place.to_be_bytes(), b"hook"]);
            let mut span = begun(hook, id, from, "hook", name);
            let status = of_outcome(outcome, &mut span.attributes);
            if let Outcome::Failed { failure, .. } = outcome {
                failed.push((name.to_owned(), failure.kind.as_str()));
            }
            let until = (from + took).min(end.max(from));
            hooks.push((span, until, status));
            from = until;
        });
        for (span, at, status) in hooks {
            self.end(span, (trace, at), status);
        }
        let attributes = span.attributes.clone();
        self.end(span, (trace, end), Status::Unset);
        let tool = name(receipt.event.payload().text("tool_name").unwrap_or_default());
        if verdict >= Strength::Ask {
            let by = by.unwrap_or_default();
            let mut text = format!("{point} {tool}: {verdict} by {by}");
            text.extend(reason.iter().flat_map(|reason| [": ", reason.as_str()]));
            self.note(end, true, text, attributes.clone(), Some((trace, id)));
        }
        for (hook, kind) in failed {
            let text = format!("{point} {tool}: {hook} could not answer: {kind}");
            self.note(end, true, text, attributes.clone(), Some((trace, id)));
        }
    }

    fn job(
        &mut self,
        job: u64,
        news: &JobNews,
        (hook, event, session): (&str, EventId, &SessionId),
        at: SystemTime,
    ) {
        let status = match news {
            JobNews::Started { attempt } => {
                let Some((trace, sampled)) = self.trace(session).filter(|_| self.jobs.len() < JOBS) else {
                    return;
                };
                let id = Traceparent::span_of(&[&job.to_be_bytes(), &attempt.to_be_bytes(), &bytes(event)]);
                let mut span = begun(id, of_event(event), at, "automation", hook);
                span.attributes.push(KeyValue::new("lineside.attempt", i64::from(*attempt)));
                if let Some(span) = span.kept(&self.room) {
                    self.jobs.insert(job, (trace, sampled, span));
                }
                return;
            }
            JobNews::Finished | JobNews::Cancelled(_) => Status::Unset,
            JobNews::Retried { .. } | JobNews::Dead(_) => Status::error("the attempt has failed"),
            _ => return,
        };
        if let Some((trace, true, span)) = self.jobs.remove(&job) {
            self.end(span, (trace, at), status);
        }
    }

    fn end(&mut self, span: Begun, at: (u128, SystemTime), status: Status) {
        self.end_as(span, at, status, false);
    }

    fn end_as(
        &mut self,
        span: Begun,
        (trace, end): (u128, SystemTime),
        status: Status,
        parent_span_is_remote: bool,
    ) {
        let Begun { id, above, begin, name, attributes, place: _ } = span;
        let weight = weight(&name, &attributes);
        self.spans.push(
            weight,
            SpanData {
                span_context: SpanContext::new(
                    TraceId::from(trace),
                    SpanId::from(id),
                    TraceFlags::SAMPLED,
                    false,
                    TraceState::NONE,
                ),
                parent_span_id: SpanId::from(above),
                parent_span_is_remote,
                span_kind: SpanKind::Internal,
                name: Cow::Owned(name),
                start_time: begin,
                end_time: end.max(begin),
                attributes,
                dropped_attributes_count: 0,
                events: SpanEvents::default(),
                links: SpanLinks::default(),
                status,
                instrumentation_scope: self.scope.clone(),
            },
        );
    }

    fn note(
        &mut self,
        at: SystemTime,
        is_wrong: bool,
        text: String,
        attributes: Vec<KeyValue>,
        of: Option<(u128, u64)>,
    ) {
        self.notes.push(weight(&text, &attributes), Note { at, is_wrong, text, attributes, of });
    }
}

fn begun(id: u64, above: u64, begin: SystemTime, kind: &str, of: &str) -> Begun {
    let of = name(of);
    let attributes = match kind {
        "hook" | "automation" => vec![named("lineside.hook", of)],
        _ => Vec::new(),
    };
    Begun { id, above, begin, name: format!("{kind} {of}"), attributes, place: None }
}

/// What became of a hook, as attributes.
fn of_outcome(outcome: &Outcome, attributes: &mut Vec<KeyValue>) -> Status {
    if let Some(verdict) = outcome.verdict() {
        attributes.push(KeyValue::new("lineside.verdict", verdict.strength().as_str()));
    }
    let Outcome::Failed { failure, .. } = outcome else { return Status::Unset };
    attributes.push(KeyValue::new("error.type", failure.kind.as_str()));
    Status::error("the hook could not answer")
}

/// The span of the decision about an event: of its id what is random.
fn of_event(event: EventId) -> u64 {
    u64::try_from(event.as_u128() & u128::from(u64::MAX)).unwrap_or_default() | 1
}

fn bytes(event: EventId) -> [u8; 16] {
    event.as_u128().to_be_bytes()
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(at.as_microsecond().unsigned_abs())
}
