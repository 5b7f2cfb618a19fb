//! What is looked up in a host's document when no daemon can be asked: that it is a JSON object, and a few of its members.
//!
//! A reader of syntax alone: values are passed over, and of the members only those are kept that say which event it is.

/// The longest document that is sent, in bytes; the daemon takes no longer one.
pub(crate) const LONGEST: usize = 64 << 20;

/// The members of a document that say which event it is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// The name of the event; none where it is absent or empty.
    pub(crate) event: Option<String>,
    /// Whether it names the version of Cursor.
    pub(crate) has_cursor_version: bool,
    /// Whether it has a session in the spelling of Copilot.
    pub(crate) has_session_id: bool,
    /// Whether it says when it was made, names a transcript, and says why an agent stops.
    pub(crate) has_timestamp: bool,
    pub(crate) has_transcript: bool,
    pub(crate) has_stop_reason: bool,
    /// Whether it has a prompt that is not empty.
    pub(crate) has_prompt: bool,
    /// Whether its source is the settings of an organisation.
    pub(crate) is_of_policy: bool,
}

impl Document {
    /// Whether it is that of Copilot in the style of Claude Code, whose entries in a project Copilot runs as well.
    pub(crate) fn is_pascal(&self) -> bool {
        self.has_timestamp && (!self.has_transcript || self.has_stop_reason)
    }
}

/// The deepest nesting of values that counts as a document.
const DEEPEST: usize = 64;

impl Document {
    /// Reads a document: `None` when it is no JSON object, is not UTF-8, or names its event twice.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()?;
        let mut reader = Reader { bytes, at: 0 };
        let mut found = Found::default();
        reader.space();
        reader.object(1, &mut |name, value| found.member(name, value))?;
        reader.space();
        if reader.at < bytes.len() || found.is_doubled {
            return None;
        }
        let Found { snake, camel, mut document, .. } = found;
        document.event = snake.or(camel).filter(|name| !name.is_empty());
        Some(document)
    }

    /// Reads the beginning of a document that is too long to be read to its end, as far as that goes.
    pub(crate) fn of_beginning(bytes: &[u8]) -> Self {
        let mut reader = Reader { bytes, at: 0 };
        let mut found = Found::default();
        reader.space();
        // It ends somewhere within a member.
        let _cut = reader.object(1, &mut |name, value| found.member(name, value));
        let Found { snake, camel, is_doubled, mut document, .. } = found;
        document.event = snake.or(camel).filter(|name| !name.is_empty() && !is_doubled);
        document
    }
}

#[derive(Default)]
struct Found {
    snake: Option<String>,
    camel: Option<String>,
    names: [bool; 2],
    is_doubled: bool,
    document: Document,
}

impl Found {
    fn member(&mut self, name: &[u8], value: &[u8]) {
        let name = unescaped(name);
        let slot = match name.as_str() {
            "hook_event_name" => 0,
            "hookEventName" => 1,
            "cursor_version" => return self.document.has_cursor_version = true,
            "sessionId" => return self.document.has_session_id = true,
            "timestamp" => return self.document.has_timestamp = true,
            "transcript_path" => return self.document.has_transcript = true,
            "stop_reason" => return self.document.has_stop_reason = true,
            "source" => return self.document.is_of_policy = value == b"\"policy_settings\"",
            "prompt" => return self.document.has_prompt = value.starts_with(b"\"") && value != b"\"\"",
            _ => return,
        };
        self.is_doubled |= std::mem::replace(&mut self.names[slot], true);
        let text = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).map(unescaped);
        *(if slot == 0 { &mut self.snake } else { &mut self.camel }) = text;
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// An object. Each member is given with its name, without quotes, and its value, as they stand there.
    fn object(&mut self, depth: usize, member: &mut dyn FnMut(&'a [u8], &'a [u8])) -> Option<()> {
        self.take(b'{')?;
        self.space();
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.take(b':')?;
            self.space();
            let from = self.at;
            self.value(depth)?;
            member(name, self.bytes.get(from..self.at)?);
            self.space();
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' if depth < DEEPEST => self.object(depth + 1, &mut |_, _| {}),
            b'[' if depth < DEEPEST => self.list(depth + 1),
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        self.space();
        if self.take(b']').is_some() {
            return Some(());
        }
        loop {
            self.space();
            self.value(depth)?;
            self.space();
            if self.take(b',').is_none() {
                return self.take(b']');
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        self.take(b'-');
        match self.peek()? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.take(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    /// A text, without its quotes and with its escapes.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let from = self.at;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return self.bytes.get(from..self.at - 1);
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek()? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
                        b'u' => {
                            let digits = self.bytes.get(self.at + 1..self.at + 5)?;
                            digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                            self.at += 5;
                        }
                        _ => return None,
                    }
                }
                0..=0x1f => return None,
                _ => self.at += 1,
            }
        }
    }
}

/// A text without its escapes. Half of a surrogate pair becomes a replacement character: it is in no name of ours.
fn unescaped(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let unescaped = match character {
            '\\' => match characters.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    code.unwrap_or(char::REPLACEMENT_CHARACTER)
                }
                Some(other) => other,
                None => break,
            },
            other => other,
        };
        plain.push(unescaped);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::Document;

    fn event(text: &str) -> Option<Option<String>> {
        Document::read(text.as_bytes()).map(|document| document.event)
    }

    #[test]
    fn the_name_of_the_event_is_found_among_other_members() {
        let name = |name: &str| Some(Some(name.to_owned()));
        let text = r#" {"a":[1,-2.5e+3,{"hook_event_name":"No"}],"hook_event_name" : "Pre\u0054ool","b":null}
"#;
        assert_eq!(event(text), name("PreTool"));
        assert_eq!(event(r#"{"hookEventName":"x","hook_event_name":1}"#), name("x"));
        assert_eq!(event(r#"{"hook\u005fevent_name":"y"}"#), name("y"));
        assert_eq!(event(r#"{"hook_event_name":"","hookEventName":"x"}"#), Some(None));
        assert_eq!(event("{}"), Some(None));
    }

    #[test]
    fn what_is_no_object_is_no_document() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
        let wrong = [
            "",
            "[]",
            "\"x\"",
            "{",
            "{}x",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "nul",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\n\"}",
            "{\"a\":tru}",
            &deep,
            r#"{"hook_event_name":"PostToolUse","hook_event_name":"PreToolUse"}"#,
        ];
        for text in wrong {
            assert_eq!(event(text), None, "{text}");
        }
        assert_eq!(Document::read(b"{\"a\":\"\xff\"}"), None);
        let as_deep = format!("{{\"a\":{}{}}}", "[".repeat(63), "]".repeat(63));
        assert_eq!(event(&as_deep), Some(None));
    }

    #[test]
    fn the_beginning_of_a_document_may_name_its_event() {
        let event = |text: &str| Document::of_beginning(text.as_bytes()).event;
        assert_eq!(event(r#"{"hook_event_name":"Stop","tool_input":{"a":["xx"#).as_deref(), Some("Stop"));
        assert_eq!(event(r#"{"a":1,"hook_event_name":"Stop""#).as_deref(), Some("Stop"));
        for text in [r#"{"hook_event_name":"St"#, r#"{"tool_input":{"hook_event_name":"Stop"},"b":"xx"#, ""] {
            assert_eq!(event(text), None, "{text}");
        }
        assert_eq!(
            Document::of_beginning(b"{\"hook_event_name\":\"Stop\",\"a\":\"\xc3").event.as_deref(),
            Some("Stop")
        );
    }

    #[test]
    fn members_that_tell_hosts_and_events_apart_are_noticed() {
        let document = Document::read(
            br#"{"cursor_version":1,"sessionId":"s","prompt":"hi","source":"policy_settings"}"#,
        );
        let document = document.unwrap();
        assert!(document.has_cursor_version && document.has_session_id);
        assert!(document.has_prompt && document.is_of_policy);
        for text in [r#"{"prompt":""}"#, r#"{"prompt":null}"#, r#"{"x":{"prompt":"hi"}}"#] {
            assert_eq!(Document::read(text.as_bytes()), Some(Document::default()), "{text}");
        }
    }
}
