//! What a hook prints on standard output when it exits with 0 (AH-48 to AH-52).
//!
//! A `deny` is looked for before anything else is judged: the fields are read one by one from their source, so that
//! nothing beside it, however odd, can undo it.

use lineside_core::invocation::Captured;
use lineside_core::json::{Map, Value};

use crate::raw_object::{self, RawObject, ReadObjectError, Unreadable, string};
use crate::text::{may_decide, printed};

/// What was printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stdout {
    /// Nothing.
    Nothing,
    /// Text that is not JSON; it goes to the debug log.
    Plain,
    /// A JSON object.
    Reply(Reply),
}

/// The fields of a JSON object that count (AH-50).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reply {
    /// What was decided.
    pub(super) decision: Decision,
    /// Why; never blank.
    pub(super) reason: Option<String>,
    /// The new tool input.
    pub(super) modified_input: Option<Map>,
    /// What is appended to the context; never blank.
    pub(super) additional_context: Option<String>,
    /// For the debug log.
    pub(super) log: Option<Value>,
}

/// What the key `decision` of an answer asks for (AH-49).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Decision {
    /// No objection: absent, null or `allow`, which is no approval (AH-51).
    #[default]
    None,
    /// `deny`
    Deny,
    /// `ask`
    Ask,
}

/// Reads the output of a hook that has exited with 0.
pub(super) fn read(stdout: &Captured) -> Result<Stdout, Unreadable> {
    let text = printed(stdout);
    if text.is_empty() && !stdout.is_cut() {
        return Ok(Stdout::Nothing);
    }
    if stdout.is_cut() {
        // Text is none either way; what begins like an object, or has not begun yet, may have been an objection.
        let may_answer = text.is_empty() || text.starts_with('{');
        return if may_answer { Err(Unreadable::cut(stdout)) } else { Ok(Stdout::Plain) };
    }
    match raw_object::read(&text) {
        Ok(object) => reply(&object).map(Stdout::Reply),
        Err(ReadObjectError::Broken(_)) if !text.starts_with('{') => Ok(Stdout::Plain),
        Err(error) => Err(error.into()),
    }
}

/// Whether an answer that decides may stand within text.
pub(super) fn is_buried(stdout: &Captured) -> bool {
    let text = printed(stdout);
    !text.starts_with('{') && may_decide(&text)
}

/// Reads the fields of an object. A field that is there twice could mean either.
fn reply(object: &RawObject) -> Result<Reply, Unreadable> {
    let text = |name| object.all(name).next_back().and_then(string).filter(|text| !text.trim().is_empty());
    let log = object.all("log").next_back().and_then(|log| lineside_core::json::from_str(log.get()).ok());
    let reply = Reply { reason: text("reason"), log, ..Reply::default() };
    // A deny counts whatever else is there, and however often (AH-52).
    if object.all("decision").any(|decision| string(decision).as_deref() == Some("deny")) {
        let additional_context = text("additional_context");
        return Ok(Reply { decision: Decision::Deny, additional_context, ..reply });
    }
    let decision =
        object.one("decision")?.map_or(Ok(Decision::None), |decision| match string(decision).as_deref() {
            Some("allow") => Ok(Decision::None),
            Some("ask") => Ok(Decision::Ask),
            _ => Err(Unreadable::of_word("decision", decision, "allow, deny or ask")),
        })?;
    object.one("reason")?;
    if let Some(context) = object.one("additional_context")?
        && string(context).is_none()
    {
        return Err(Unreadable::of_type("additional_context", "a string"));
    }
    let modified_input = object.one("modified_input")?.map(|input| match input.get() {
        text if text.starts_with('{') => raw_object::strict("modified_input", text, "an object"),
        _ => Err(Unreadable::of_type("modified_input", "an object")),
    });
    let modified_input = modified_input.transpose()?;
    Ok(Reply { decision, modified_input, additional_context: text("additional_context"), ..reply })
}

#[cfg(test)]
mod tests {
    use lineside_core::invocation::Captured;
    use proptest::prelude::*;

    use super::{Decision, Reply, Stdout, read};

    fn captured(bytes: impl Into<Vec<u8>>) -> Captured {
        Captured { bytes: bytes.into(), dropped: 0 }
    }

    fn check(stdout: &str, expected: Result<Stdout, &str>) {
        match (read(&captured(stdout)), expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{stdout}"),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{stdout}: {error}"),
            (got, expected) => panic!("{stdout}: {got:?} instead of {expected:?}"),
        }
    }

    fn denied(reason: Option<&str>, context: Option<&str>) -> Result<Stdout, &'static str> {
        Ok(Stdout::Reply(Reply {
            decision: Decision::Deny,
            reason: reason.map(str::to_owned),
            additional_context: context.map(str::to_owned),
            ..Reply::default()
        }))
    }

    #[test]
    fn text_with_an_answer_in_it_is_told_from_other_text() {
        for text in ["warning: x\n{\"decision\": \"deny\"}", "x {\"decision\":\"deny\"} y"] {
            assert!(super::is_buried(&captured(text)), "{text}");
        }
        for text in ["", "a decision", "{\"decision\": \"deny\"}", " {\"decision\": 1} x"] {
            assert!(!super::is_buried(&captured(text)), "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_nothing_or_text_or_an_object() {
        // AH-48
        check("", Ok(Stdout::Nothing));
        check(" \n\u{feff}\n", Ok(Stdout::Nothing));
        check("All good\n[INFO] done", Ok(Stdout::Plain));
        check("[INFO] done", Ok(Stdout::Plain));
        check("NaN", Ok(Stdout::Plain));
        check("{} {}", Err("not a JSON object"));
        check("\u{feff} {}\n", Ok(Stdout::Reply(Reply::default())));
        check("{\"decision\": null, \"reason\": null}", Ok(Stdout::Reply(Reply::default())));
        for other in ["[{\"decision\": \"deny\"}]", "\"x\"", "5", "true", "null", "[]"] {
            check(other, Err("not an object"));
        }
        check("{\"decision\": \"deny\", \"reason\": \"open}", Err("not a JSON object"));
        check("{decision: deny}", Err("not a JSON object"));
        let cut = |text: &str| read(&Captured { bytes: text.into(), dropped: 1 });
        assert!(cut("{\"decision\": \"deny\"}").is_err());
        for text in ["", " \n"] {
            assert!(cut(text).is_err(), "{text:?}");
        }
        assert_eq!(cut("yyy").unwrap(), Stdout::Plain);
        assert_eq!(cut("[1]").unwrap(), Stdout::Plain);
    }

    #[test]
    fn fields_of_a_wrong_type_make_it_unreadable() {
        // AH-49, AH-50
        check("{\"decision\": \"block\"}", Err("`decision` is \"block\""));
        check("{\"decision\": \"Deny\"}", Err("`decision`"));
        check("{\"decision\": true}", Err("`decision` is true"));
        check("{\"decision\": \"\"}", Err("`decision`"));
        check("{\"modified_input\": \"ls\"}", Err("`modified_input` is not an object"));
        check("{\"modified_input\": {\"a\": 1, \"a\": 2}}", Err("duplicate key `a`"));
        check("{\"additional_context\": 5}", Err("`additional_context` is not a string"));
        check("{\"decision\": \"ask\", \"decision\": \"allow\"}", Err("`decision` occurs twice"));
        check(
            "{\"reason\": 5, \"log\": 1, \"log\": 2, \"x\": 1, \"x\": 2, \"additional_context\": \" \\n\"}",
            Ok(Stdout::Reply(Reply { log: Some(2.into()), ..Reply::default() })),
        );
    }

    #[test]
    fn deny_outranks_everything_beside_it() {
        // AH-52
        check("{\"decision\": \"deny\"}", denied(None, None));
        check("{\"decision\": \"deny\", \"reason\": \" \"}", denied(None, None));
        check("{\"decision\": \"deny\", \"reason\": [1]}", denied(None, None));
        check(
            "{\"decision\": \"deny\", \"reason\": \"no\", \"modified_input\": [1]}",
            denied(Some("no"), None),
        );
        check("{\"additional_context\": \"c\", \"decision\": \"deny\"}", denied(None, Some("c")));
        check("{\"additional_context\": 5, \"decision\": \"deny\"}", denied(None, None));
        check("{\"decision\": \"deny\", \"decision\": \"allow\"}", denied(None, None));
        check(
            "{\"decision\": \"d\\u0065ny\", \"reason\": \"\\ud83d!\"}",
            denied(Some("\u{fffd}\u{fffd}\u{fffd}!"), None),
        );
        check("{\"decision\": \"deny\", \"\\ud800\": 1}", denied(None, None));
        let deep = format!("{{\"x\": {}{}, \"decision\": \"deny\"}}", "[".repeat(5000), "]".repeat(5000));
        check(&deep, denied(None, None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _read = read(&captured(bytes));
        }

        #[test]
        fn any_text_like_json_is_read(text in "[{}\\[\\]\":, a-z0-9\\\\.]{0,40}") {
            let _read = read(&captured(text));
        }

        #[test]
        fn a_deny_is_never_weakened(
            before in prop::collection::vec(("[a-z_]{1,8}|decision|reason|modified_input", "null|5|\"allow\"|\"ask\"|\\[1\\]|\\{\\}"), 0..4),
            after in prop::collection::vec(("[a-z_]{1,8}|decision|additional_context", "null|5|\"allow\"|\"ask\"|\\[1\\]|\\{\\}"), 0..4),
        ) {
            let field = |(name, value): (String, String)| format!("\"{name}\": {value}");
            let fields: Vec<_> = before
                .into_iter()
                .map(field)
                .chain(["\"decision\": \"deny\"".to_owned()])
                .chain(after.into_iter().map(field))
                .collect();
            let text = format!("{{{}}}", fields.join(", "));
            match read(&captured(text.clone())) {
                Ok(Stdout::Reply(reply)) => prop_assert_eq!(reply.decision, Decision::Deny),
                other => prop_assert!(false, "{text}: {other:?}"),
            }
        }
    }
}
