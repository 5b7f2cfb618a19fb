//! The trace of a session that was opened without one: a span in that of its parent, else a new one.

use lineside::core::Traceparent;

use crate::random;

/// The trace context of the session of this name that is to be opened below a session with this one. `None` where that is
/// none, which is then handed on as it is: a program that gave it may know more.
pub(crate) fn of_session(session: &str, above: Option<&str>) -> Option<String> {
    let above = match above {
        Some(above) => Traceparent::read(above)?,
        None => {
            let trace = u128::from_be_bytes(random::bytes().ok()?) | 1;
            // Sampled: an exporter below decides by that of its parent, and no decision was made against it.
            Traceparent { trace, span: 0, sampled: true }
        }
    };
    Some(above.of_session(session).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_the_trace_of_its_parent_and_a_span_of_its_own() {
        let root = of_session("a", None).unwrap();
        let read = Traceparent::read(&root).unwrap();
        let child = Traceparent::read(&of_session("b", Some(&root)).unwrap()).unwrap();
        assert_eq!((child.trace, child.sampled), (read.trace, true));
        assert_ne!(child.span, read.span);
        assert_ne!(Traceparent::read(&of_session("a", None).unwrap()).unwrap().trace, read.trace);
        assert_eq!(of_session("a", Some("given")), None);
    }
}
