//! Frames (OC-70 to OC-80): what is written to a worker, and what a line of it means.

use lineside_core::json::{self, read_strict_within};
use serde_json::{Map, Value, json};

/// The version of the protocol (OC-71).
pub(super) const PROTOCOL: u64 = 1;
/// An answer may be as deep as any JSON, and a frame stands around it.
const DEEPEST: u8 = json::DEEPEST + 4;

/// A frame of the worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    Hello(Map<String, Value>),
    Loaded {
        id: u64,
        frame: Map<String, Value>,
    },
    Started {
        id: u64,
    },
    Result {
        id: u64,
        outcome: Outcome,
    },
    Cancelled {
        id: u64,
    },
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
    Failed { kind: String, message: String },
}

/// Reads a line; nothing if it is not a frame of the worker that knows the token.
pub(super) fn read(line: &[u8], token: &str) -> Option<Frame> {
    if line.first() != Some(&b'{') {
        return None;
    }
    let Ok(Value::Object(mut frame)) = read_strict_within(line, DEEPEST) else {
        return None;
    };
    if text(&mut frame, "token")? != token {
        return None;
    }
    let kind = text(&mut frame, "type")?;
    let id = frame.get("id").and_then(Value::as_u64);
    Some(match kind.as_str() {
        "hello" => Frame::Hello(frame),
        "loaded" => Frame::Loaded { id: id?, frame },
        "started" => Frame::Started { id: id? },
        "result" => Frame::Result { id: id?, outcome: outcome(frame)? },
        "cancelled" => Frame::Cancelled { id: id? },
        "log" => Frame::Log {
            level: text(&mut frame, "level").unwrap_or_default(),
            plugin: text(&mut frame, "plugin"),
            text: text(&mut frame, "text").unwrap_or_default(),
        },
        "bye" => Frame::Bye,
        _ => Frame::Unknown,
    })
}

fn outcome(mut frame: Map<String, Value>) -> Option<Outcome> {
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

fn text(frame: &mut Map<String, Value>, name: &str) -> Option<String> {
    match frame.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// The first frame.
pub(super) fn hello(token: &str, max_frame_bytes: usize, fields: &Map<String, Value>) -> Vec<u8> {
    let mut frame = Map::new();
    frame.insert("type".to_owned(), "hello".into());
    frame.insert("protocol".to_owned(), PROTOCOL.into());
    frame.insert("token".to_owned(), token.into());
    frame.insert("runtime".to_owned(), concat!("lineside ", env!("CARGO_PKG_VERSION")).into());
    frame.extend(fields.clone());
    frame.insert("maxFrameBytes".to_owned(), max_frame_bytes.into());
    line(&Value::Object(frame))
}

pub(super) fn load(id: u64, plugin: &Map<String, Value>) -> Vec<u8> {
    line(&json!({ "type": "load", "id": id, "plugin": plugin }))
}

/// Why a call is over for the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Its time is over.
    Timeout,
    /// Nobody waits for it any more.
    Gone,
}

pub(super) fn cancel(id: u64, reason: Reason) -> Vec<u8> {
    let reason = match reason {
        Reason::Timeout => "timeout",
        Reason::Gone => "gone",
    };
    line(&json!({ "type": "cancel", "id": id, "reason": reason }))
}

pub(super) fn shutdown(grace: std::time::Duration) -> Vec<u8> {
    let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
    line(&json!({ "type": "shutdown", "graceMs": grace }))
}

/// The part of a `call` frame that is the same in each worker, up to its end.
pub(super) fn call_body(hook: &str, class: &str, event: &Value, ctx: &Value) -> Vec<u8> {
    // A value can always be written.
    let json = |value: &Value| serde_json::to_vec(value).unwrap_or_default();
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
pub(super) fn call_head(id: u64, handler: u64) -> String {
    format!("{{\"type\":\"call\",\"id\":{id},\"handler\":{handler},")
}

fn line(frame: &Value) -> Vec<u8> {
    let mut bytes = frame.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "it is written where it is expected")]
    fn check(text: &str, expected: Option<Frame>) {
        assert_eq!(read(text.as_bytes(), "t"), expected, "{text}");
    }

    /// OC-61, OC-70: what lacks the token, or has a key twice, is no frame, whatever it looks like.
    #[test]
    fn only_what_has_the_token_is_a_frame() {
        check("{\"type\":\"started\",\"id\":1,\"token\":\"t\"}", Some(Frame::Started { id: 1 }));
        check("{\"type\":\"started\",\"id\":1}", None);
        check("{\"type\":\"started\",\"id\":1,\"token\":\"other\"}", None);
        check("{\"type\":\"started\",\"id\":1,\"id\":2,\"token\":\"t\"}", None);
        check("{\"type\":1,\"id\":1,\"token\":\"t\"}", None);
        check("[\"t\"]", None);
        check("hello t", None);
        check("{\"type\":\"later\",\"token\":\"t\",\"x\":1}", Some(Frame::Unknown));
    }

    /// OC-77.
    #[test]
    fn a_result_is_a_value_nothing_or_a_failure() {
        let result = |outcome| Some(Frame::Result { id: 7, outcome });
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
        assert!(matches!(read(text.as_bytes(), "t"), Some(Frame::Result { .. })));
    }

    /// OC-72, OC-73, OC-75, OC-78, OC-80.
    #[test]
    fn frames_are_lines_with_a_type() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let fields = json!({ "home": "/h" }).as_object().unwrap().clone();
        let runtime = env!("CARGO_PKG_VERSION");
        assert_eq!(
            text(hello("t", 5, &fields)),
            format!(
                "{{\"type\":\"hello\",\"protocol\":1,\"token\":\"t\",\"runtime\":\"lineside {runtime}\",\
                 \"home\":\"/h\",\"maxFrameBytes\":5}}\n"
            )
        );
        let plugin = json!({ "id": "a" }).as_object().unwrap().clone();
        assert_eq!(text(load(1, &plugin)), "{\"type\":\"load\",\"id\":1,\"plugin\":{\"id\":\"a\"}}\n");
        let body = text(call_body("agent_end", "void", &json!({ "a": 1 }), &json!({})));
        assert_eq!(
            call_head(3, 2) + &body,
            "{\"type\":\"call\",\"id\":3,\"handler\":2,\"hook\":\"agent_end\",\"class\":\"void\",\
             \"event\":{\"a\":1},\"ctx\":{}}\n"
        );
        assert_eq!(text(cancel(3, Reason::Gone)), "{\"type\":\"cancel\",\"id\":3,\"reason\":\"gone\"}\n");
        assert_eq!(
            text(shutdown(std::time::Duration::from_secs(2))),
            "{\"type\":\"shutdown\",\"graceMs\":2000}\n"
        );
    }
}
