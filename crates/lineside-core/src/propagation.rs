//! What a process inherits that is started under a session: where the daemon is, which session it is, the grant that
//! lets it open sessions below that one, and the trace.
//!
//! Only the names and forms are known here. Who may have a grant, and what one is worth, is the daemon's business.

use std::fmt;

/// The variable with the path of the daemon's socket.
pub const SOCKET: &str = "LINESIDE_SOCKET";
/// The variable with the id of the session.
pub const SESSION: &str = "LINESIDE_SESSION";
/// The variable with the grant.
pub const GRANT: &str = "LINESIDE_GRANT";
/// The variable with the W3C trace context.
pub const TRACEPARENT: &str = "TRACEPARENT";
/// The header of a request that carries the grant.
pub const HEADER: &str = "lineside-grant";

/// The variables of a process that is started under a session.
///
/// Its `Debug` has their names and no values: a grant is a secret.
///
/// ```
/// use lineside_core::Propagation;
/// use lineside_core::propagation::{GRANT, SESSION};
///
/// let variables = Propagation::none().with(SESSION, "s1").with(GRANT, "secret");
/// assert_eq!(variables.get(SESSION), Some("s1"));
/// assert!(!format!("{variables:?}").contains("secret"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Propagation(Vec<(&'static str, String)>);

impl Propagation {
    /// No variables.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// With this variable as well; a later value replaces an earlier one.
    ///
    /// ```
    /// use lineside_core::Propagation;
    /// use lineside_core::propagation::{SESSION, SOCKET};
    ///
    /// let environment = Propagation::none().with(SOCKET, "/run/lineside.sock").with(SESSION, "s1");
    /// let environment = environment.with(SESSION, "s2");
    /// assert_eq!(environment.get(SESSION), Some("s2"));
    /// assert_eq!(environment.iter().count(), 2);
    /// ```
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
        self
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// Names and values, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Propagation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// A W3C trace context (Trace Context, level 1): a trace, a span in it, and whether it is sampled.
///
/// ```
/// use lineside_core::Traceparent;
///
/// let trace = Traceparent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
/// assert!(trace.sampled);
/// assert_eq!(trace.child(7).trace, trace.trace);
/// assert_eq!(Traceparent::read("none"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The trace, not 0.
    pub trace: u128,
    /// The span, not 0.
    pub span: u64,
    /// Whether its creator records the trace.
    pub sampled: bool,
}

impl Traceparent {
    /// Reads the value of a header or a variable; `None` where it is not of the known form. Of later versions, what
    /// follows the four known parts is left out.
    ///
    /// ```
    /// use lineside_core::Traceparent;
    ///
    /// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let context = Traceparent::read(header).expect("it is well formed");
    /// assert_eq!(context.to_string(), header);
    /// assert_eq!(Traceparent::read("4bf92f3577b34da6"), None);
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = hex(parts.next()?, 2)?;
        let trace = hex(parts.next()?, 32)?;
        let span = u64::try_from(hex(parts.next()?, 16)?).ok()?;
        let flags = hex(parts.next()?, 2)?;
        let known = version != 0xff && (version > 0 || parts.next().is_none());
        (known && trace != 0 && span != 0).then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }

    /// The context of the session of this name below this one, which is always the same: so a session whose context was
    /// made here differs from one that was given its own. A root has the span 0 above it.
    #[must_use]
    pub fn of_session(self, session: &str) -> Self {
        self.child(Self::span_of(&[&self.trace.to_be_bytes(), &self.span.to_be_bytes(), session.as_bytes()]))
    }

    /// The id of a span that follows from these bytes, and never is 0.
    #[must_use]
    pub fn span_of(parts: &[&[u8]]) -> u64 {
        // FNV-1a: it needs to be spread, and guards nothing.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        parts.iter().copied().flatten().fold(0xcbf2_9ce4_8422_2325, mix) | 1
    }

    /// The same trace with another span.
    #[must_use]
    pub fn child(self, span: u64) -> Self {
        Self { span, ..self }
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == digits && text.bytes().all(is_digit)).then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_read_strictly_and_written_as_it_was() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let read = Traceparent::read(text).unwrap();
        assert!(read.sampled);
        assert_eq!(read.to_string(), text);
        assert_eq!(read.child(1).to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000001-01");
        let later = format!("{}-more", text.replacen("00", "cc", 1));
        assert_eq!(Traceparent::read(&later), Some(read));
        for wrong in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-+bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(Traceparent::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_context_of_a_session_is_that_of_its_name_and_its_place() {
        let root = Traceparent { trace: 7, span: 0, sampled: true };
        let (one, other) = (root.of_session("a"), root.of_session("b"));
        assert_eq!((one, one.trace, one.sampled), (root.of_session("a"), 7, true));
        assert_ne!(one, other);
        assert_ne!(one.of_session("c"), other.of_session("c"));
        assert_ne!(Traceparent { trace: 8, ..root }.of_session("a").span, one.span);
    }

    #[test]
    fn only_the_last_bit_of_the_flags_says_whether_a_trace_is_sampled() {
        for (flags, sampled) in [("00", false), ("01", true), ("02", false), ("03", true), ("fe", false)] {
            let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
            assert_eq!(Traceparent::read(&text).unwrap().sampled, sampled, "{flags}");
        }
    }

    #[test]
    fn variables_have_the_order_in_which_their_last_values_were_added() {
        let variables = Propagation::none();
        assert!(variables.is_empty() && variables == Propagation::default());
        let variables = variables.with(SESSION, "s").with(GRANT, "g").with(SESSION, "t");
        assert!(!variables.is_empty());
        assert_eq!(variables.iter().collect::<Vec<_>>(), [(GRANT, "g"), (SESSION, "t")]);
    }

    #[test]
    fn the_debug_of_variables_shows_no_value() {
        let variables = Propagation::none().with(SESSION, "s").with(GRANT, "x").with(GRANT, "hunter2");
        assert_eq!(format!("{variables:?}"), r#"{"LINESIDE_SESSION", "LINESIDE_GRANT"}"#);
        assert_eq!((variables.get(GRANT), variables.get(SOCKET)), (Some("hunter2"), None));
    }
}
