//! Frames: what is written to a worker, and what a line of it means, for those with plugins (OC-70 to OC-80) and for
//! those with hooks (the page `workers.md`). Both are lines with one JSON object each.

use std::borrow::Cow;
use std::time::Duration;

use lineside_core::Propagation;
use lineside_core::json::{self, read_strict_within};
use lineside_core::json::{Fields as _, Map, ObjectText, Value, json};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::ids::Id;

/// What differs between the two kinds of workers in what they say and hear.
#[derive(Debug)]
pub(super) struct Protocol {
    /// The version of the protocol.
    pub(super) version: u64,
    /// Whether its frames bear the token of its `hello`.
    pub(super) has_token: bool,
    max_frame: &'static str,
    grace: &'static str,
}

/// Of workers with plugins (OC-71).
pub(super) const PLUGINS: Protocol =
    Protocol { version: 1, has_token: true, max_frame: "maxFrameBytes", grace: "graceMs" };
/// Of workers with hooks. In version 1 the ids counted up, so that whatever came out among the frames could be an answer.
pub(super) const HOOKS: Protocol =
    Protocol { version: 2, has_token: false, max_frame: "max_frame_bytes", grace: "grace_ms" };

impl Protocol {
    /// Why a worker that speaks this version is none.
    pub(super) fn not_spoken(&self, spoken: Option<u64>) -> String {
        let why = format!("it does not speak version {} of the protocol", self.version);
        match spoken {
            Some(1) if self.version == 2 => {
                format!("{why} but version 1: `lineside kit` prints the kits that do")
            }
            _ => why,
        }
    }
}

/// An answer may be as deep as any JSON, and a frame stands around it.
const DEEPEST: u8 = json::DEEPEST + 4;

/// A frame of the worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    Hello(Map),
    Loaded {
        id: Id,
        frame: Map,
    },
    /// The worker waits for something from outside, and loading takes so much longer.
    Waiting {
        id: Id,
        time: Duration,
    },
    Started {
        id: Id,
    },
    Result {
        id: Id,
        outcome: Outcome,
    },
    /// An answer with an id that no call has.
    Unasked,
    Cancelled {
        id: Id,
    },
    Pong,
    Log {
        level: String,
        plugin: Option<String>,
        text: String,
    },
    Bye,
    /// Of a type that this version does not know.
    Unknown,
}

/// What a result says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Returned(Option<Value>),
    /// What a hook says, unread; empty for nothing.
    Answered(String),
    Failed {
        kind: String,
        message: String,
    },
}

/// Reads a line; nothing if it is not a frame of the worker, which knows the token if there is one.
pub(super) fn read(line: &[u8], token: Option<&str>) -> Option<Frame> {
    if line.first() != Some(&b'{') {
        return None;
    }
    if token.is_none()
        && let Some(frame) = of_hook(line)
    {
        return Some(frame);
    }
    let Ok(Value::Object(mut frame)) = read_strict_within(line, DEEPEST) else {
        return None;
    };
    let said = text(&mut frame, "token");
    if token.is_some() && said.as_deref() != token {
        return None;
    }
    let kind = text(&mut frame, "type")?;
    let id = frame.get("id").and_then(|id| match token {
        Some(_) => id.as_u64().map(Id::Counted),
        None => Id::read_random(&id.to_string()),
    });
    Some(match (kind.as_str(), token) {
        ("hello", _) => Frame::Hello(frame),
        ("cancelled", _) => Frame::Cancelled { id: id? },
        ("log", _) => Frame::Log {
            level: text(&mut frame, "level").unwrap_or_default(),
            plugin: text(&mut frame, "plugin"),
            text: text(&mut frame, "text").unwrap_or_default(),
        },
        ("bye", _) => Frame::Bye,
        ("loaded", Some(_)) => Frame::Loaded { id: id?, frame },
        ("waiting", Some(_)) => {
            Frame::Waiting { id: id?, time: Duration::from_millis(frame.get("ms")?.as_u64()?) }
        }
        ("started", Some(_)) => Frame::Started { id: id? },
        ("result", Some(_)) => Frame::Result { id: id?, outcome: outcome(frame)? },
        ("pong", None) => Frame::Pong,
        // Those that can be read are gone by now.
        ("answer" | "error", None) => return None,
        _ => Frame::Unknown,
    })
}

/// The frames that end a call of a hook. What it says is not read here: its dialect does that, from the same text.
#[derive(Deserialize)]
struct OfHook<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    answer: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

fn of_hook(line: &[u8]) -> Option<Frame> {
    let OfHook { kind, id, answer, error } = serde_json::from_slice(line).ok()?;
    if !matches!(&*kind, "answer" | "error") {
        return None;
    }
    let Some(id) = id.and_then(|id| Id::read_random(id.get())) else {
        return Some(Frame::Unasked);
    };
    let outcome = match &*kind {
        "answer" => Outcome::Answered(answer.map_or("", RawValue::get).to_owned()),
        _ => {
            let said = error.map_or("", RawValue::get);
            let message = serde_json::from_str(said).unwrap_or_else(|_| said.to_owned());
            Outcome::Failed { kind: "panic".to_owned(), message }
        }
    };
    Some(Frame::Result { id, outcome })
}

fn outcome(mut frame: Map) -> Option<Outcome> {
    match frame.get("ok")? {
        Value::Bool(true) => Some(Outcome::Returned(frame.remove("value"))),
        Value::Bool(false) => {
            let Some(Value::Object(mut error)) = frame.remove("error") else {
                return None;
            };
            let kind = text(&mut error, "kind")?;
            Some(Outcome::Failed { kind, message: text(&mut error, "message").unwrap_or_default() })
        }
        _ => None,
    }
}

fn text(frame: &mut Map, name: &str) -> Option<String> {
    match frame.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// The first frame.
pub(super) fn hello(protocol: &Protocol, token: Option<&str>, largest: usize, fields: &Map) -> Vec<u8> {
    let mut frame = Map::new();
    frame.insert("type".to_owned(), "hello".into());
    frame.insert("protocol".to_owned(), protocol.version.into());
    if let Some(token) = token {
        frame.insert("token".to_owned(), token.into());
    }
    frame.insert("runtime".to_owned(), concat!("lineside ", env!("CARGO_PKG_VERSION")).into());
    frame.extend(fields.clone());
    frame.insert(protocol.max_frame.to_owned(), largest.into());
    line(&Value::Object(frame))
}

pub(super) fn load(id: Id, plugin: &Map) -> Vec<u8> {
    let plugin = Value::Object(plugin.clone());
    format!("{{\"type\":\"load\",\"id\":{id},\"plugin\":{plugin}}}\n").into_bytes()
}

/// Why a call is over for the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Its time is over.
    Timeout,
    /// Its caller no longer waits.
    Gone,
}

pub(super) fn cancel(id: Id, reason: Reason) -> Vec<u8> {
    let reason = match reason {
        Reason::Timeout => "timeout",
        Reason::Gone => "gone",
    };
    format!("{{\"type\":\"cancel\",\"id\":{id},\"reason\":\"{reason}\"}}\n").into_bytes()
}

pub(super) fn shutdown(protocol: &Protocol, grace: Duration) -> Vec<u8> {
    line(&json!({ "type": "shutdown", (protocol.grace): millis(grace) }))
}

/// A hook of the worker is asked no more.
pub(super) fn released(hook: &str) -> Vec<u8> {
    line(&json!({ "type": "released", "hook": hook }))
}

pub(super) fn ping() -> Vec<u8> {
    line(&json!({ "type": "ping" }))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The part of a `call` frame that is the same in each worker, up to its end.
pub(super) fn call_body(hook: &str, class: &str, event: &Value, ctx: &Value) -> Vec<u8> {
    // A value can always be written.
    let json = |value: &Value| lineside_core::json::to_vec(value).unwrap_or_default();
    let (hook, event, ctx) = (json(&hook.into()), json(event), json(ctx));
    let parts: [&[u8]; 9] = [
        b"\"hook\":",
        &hook,
        b",\"class\":\"",
        class.as_bytes(),
        b"\",\"event\":",
        &event,
        b",\"ctx\":",
        &ctx,
        b"}\n",
    ];
    parts.concat()
}

/// The part of a `call` frame before that.
pub(super) fn call_head(id: Id, handler: u64) -> String {
    format!("{{\"type\":\"call\",\"id\":{id},\"handler\":{handler},")
}

/// The call of a hook, up to its end. The event is JSON already, in one line.
pub(super) fn hook_body(hook: &str, event: &str, environment: &Propagation) -> Vec<u8> {
    let variables: usize = environment.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
    let mut body = ObjectText::with_capacity(hook.len() + event.len() + variables + 64);
    body.put("hook", hook);
    if !environment.is_empty() {
        let mut variables = ObjectText::with_capacity(variables + 8);
        environment.iter().for_each(|(name, value)| variables.put(name, value));
        body.put_json("environment", &variables.end());
    }
    body.put_json("event", event.trim_end());
    let mut text = body.end();
    text.push('\n');
    // The head opens the object.
    text.remove(0);
    text.into_bytes()
}

/// The part of such a call before that, with the time that is left for it.
pub(super) fn hook_head(id: Id, rest: Duration) -> String {
    format!("{{\"type\":\"call\",\"id\":{id},\"deadline_ms\":{},", millis(rest))
}

fn line(frame: &Value) -> Vec<u8> {
    let mut bytes = frame.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it stands in a frame.
    const SEVEN: &str = "\"00000000000000000000000000000007\"";

    #[allow(clippy::needless_pass_by_value, reason = "it is written where it is expected")]
    fn check(text: &str, expected: Option<Frame>) {
        assert_eq!(read(text.as_bytes(), Some("t")), expected, "{text}");
    }

    /// OC-61, OC-70: what lacks the token, or has a key twice, is no frame, whatever it looks like.
    #[test]
    fn only_what_has_the_token_is_a_frame() {
        check("{\"type\":\"started\",\"id\":1,\"token\":\"t\"}", Some(Frame::Started { id: Id::Counted(1) }));
        check("{\"type\":\"started\",\"id\":1}", None);
        check("{\"type\":\"started\",\"id\":1,\"token\":\"other\"}", None);
        check("{\"type\":\"started\",\"id\":1,\"id\":2,\"token\":\"t\"}", None);
        check("{\"type\":1,\"id\":1,\"token\":\"t\"}", None);
        check("[\"t\"]", None);
        check("hello t", None);
        check("{\"type\":\"later\",\"token\":\"t\",\"x\":1}", Some(Frame::Unknown));
    }

    // OC-77.
    #[test]
    fn a_result_is_a_value_nothing_or_a_failure() {
        let result = |outcome| Some(Frame::Result { id: Id::Counted(7), outcome });
        let text = |rest: &str| format!("{{\"type\":\"result\",\"token\":\"t\",\"id\":7,{rest}}}");
        check(&text("\"ok\":true,\"ms\":0.1"), result(Outcome::Returned(None)));
        let value = Some(json!({ "block": true }));
        check(&text("\"ok\":true,\"value\":{\"block\":true}"), result(Outcome::Returned(value)));
        let failed = Outcome::Failed { kind: "panic".to_owned(), message: "boom".to_owned() };
        let error = "\"ok\":false,\"error\":{\"kind\":\"panic\",\"message\":\"boom\"}";
        check(&text(error), result(failed));
        check(&text("\"ok\":1"), None);
        check(&text("\"ok\":false"), None);
    }

    /// OC-68, OC-70: an answer as deep as an answer may be is not too deep for its frame.
    #[test]
    fn the_deepest_answer_fits_into_a_frame() {
        let deepest = format!("{}{}", "[".repeat(64), "]".repeat(64));
        let text =
            format!("{{\"type\":\"result\",\"token\":\"t\",\"id\":1,\"ok\":true,\"value\":{deepest}}}");
        assert!(matches!(read(text.as_bytes(), Some("t")), Some(Frame::Result { .. })));
    }

    // OC-72, OC-73, OC-75, OC-78, OC-80.
    #[test]
    fn frames_are_lines_with_a_type() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let fields = json!({ "home": "/h" }).as_object().unwrap().clone();
        let runtime = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text(hello(&PLUGINS, Some("t"), 5, &fields)),
            format!(
                "{{\"type\":\"hello\",\"protocol\":1,\"token\":\"t\",\"runtime\":\"lineside {runtime}\",\
                 \"home\":\"/h\",\"maxFrameBytes\":5}}\n"
            )
        );
        let plugin = json!({ "id": "a" }).as_object().unwrap().clone();
        assert_eq!(
            text(load(Id::Counted(1), &plugin)),
            "{\"type\":\"load\",\"id\":1,\"plugin\":{\"id\":\"a\"}}\n"
        );
        let body = text(call_body("agent_end", "void", &json!({ "a": 1 }), &json!({})));
        assert_eq!(
            call_head(Id::Counted(3), 2) + &body,
            "{\"type\":\"call\",\"id\":3,\"handler\":2,\"hook\":\"agent_end\",\"class\":\"void\",\
             \"event\":{\"a\":1},\"ctx\":{}}\n"
        );
        assert_eq!(
            text(cancel(Id::Counted(3), Reason::Gone)),
            "{\"type\":\"cancel\",\"id\":3,\"reason\":\"gone\"}\n"
        );
        assert_eq!(
            text(shutdown(&PLUGINS, Duration::from_secs(2))),
            "{\"type\":\"shutdown\",\"graceMs\":2000}\n"
        );
    }

    #[test]
    fn frames_of_hooks_are_lines_too() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let runtime = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text(hello(&HOOKS, None, 5, &Map::new())),
            format!(
                "{{\"type\":\"hello\",\"protocol\":2,\"runtime\":\"lineside {runtime}\",\"max_frame_bytes\":5}}\n"
            )
        );
        let call = hook_head(Id::Random(3), Duration::from_millis(1500))
            + &text(hook_body("a \"b\"", "{\"x\": 1}\n", &Propagation::none()));
        assert_eq!(
            call,
            "{\"type\":\"call\",\"id\":\"00000000000000000000000000000003\",\"deadline_ms\":1500,\"hook\":\"a \\\"b\\\"\",\"event\":{\"x\": 1}}\n"
        );
        assert_eq!(text(ping()), "{\"type\":\"ping\"}\n");
        assert_eq!(
            text(shutdown(&HOOKS, Duration::from_secs(2))),
            "{\"type\":\"shutdown\",\"grace_ms\":2000}\n"
        );
    }

    /// What a hook says goes on as it was written: its dialect reads a key that stands there twice in its own way.
    #[test]
    fn an_answer_of_a_hook_is_not_read_here() {
        let said = |text: &str| read(text.replace("ID", SEVEN).as_bytes(), None);
        let result = |outcome| Some(Frame::Result { id: Id::Random(7), outcome });
        let answered = |text: &str| result(Outcome::Answered(text.to_owned()));
        let twice = "{\"decision\":\"deny\",\"decision\":\"allow\"}";
        assert_eq!(said(&format!("{{\"type\":\"answer\",\"id\":ID,\"answer\":{twice}}}")), answered(twice));
        assert_eq!(said("{\"id\":ID,\"type\":\"answer\",\"answer\":null,\"later\":1}"), answered(""));
        assert_eq!(said("{\"type\":\"answer\",\"id\":ID}"), answered(""));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(said(&format!("{{\"type\":\"answer\",\"id\":ID,\"answer\":{deep}}}")), answered(&deep));
        let failed = result(Outcome::Failed { kind: "panic".to_owned(), message: "boom".to_owned() });
        assert_eq!(said("{\"type\":\"error\",\"id\":ID,\"error\":\"boom\"}"), failed);
        assert_eq!(said("{\"type\":\"cancelled\",\"id\":ID}"), Some(Frame::Cancelled { id: Id::Random(7) }));
        assert_eq!(said("{\"type\":\"pong\"}"), Some(Frame::Pong));
        for none in [
            "{\"type\":\"answer\",\"id\":ID,\"id\":ID}",
            "{\"type\":\"answer\",\"id\":ID,\"answer\":{]}}",
            "{\"type\":\"answer\",\"id\":ID} {}",
            "{\"type\":\"cancelled\",\"id\":7}",
            "[7]",
        ] {
            assert_eq!(said(none), None, "{none}");
        }
        assert_eq!(said("{\"type\":\"result\",\"id\":7,\"ok\":true}"), Some(Frame::Unknown), "of plugins");
    }

    #[test]
    fn an_answer_with_an_id_that_no_call_can_have_was_not_asked_for() {
        for id in ["", ",\"id\":7", ",\"id\":\"7\"", ",\"id\":null", ",\"id\":-1", ",\"id\":[]"] {
            for kind in ["answer", "error"] {
                let text = format!("{{\"type\":\"{kind}\"{id}}}");
                assert_eq!(read(text.as_bytes(), None), Some(Frame::Unasked), "{text}");
            }
        }
    }
}
