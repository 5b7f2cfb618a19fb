//! One call as one HTTP request over the socket, and its answer.
//!
//! The document is the body as it came; what else belongs to the call is in headers. In the body of the answer standard
//! output stands before standard error, and headers say where the one ends and how the process exits.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use crate::environment::SENT;
use crate::{Answer, Call, Closed};

/// The longest head of an answer, in bytes.
const HEAD: usize = 64 << 10;
/// The longest body of an answer, in bytes: a document that was amended has an escape for each of its bytes at most.
const BODY: usize = 512 << 20;

/// Sends a call and reads its answer. `within` is the time that is left for it.
///
/// # Errors
/// [`Closed::Unreadable`] when the daemon refuses the document, [`Closed::Unreachable`] when there is no whole answer.
pub(crate) fn exchange(
    stream: &mut (impl Read + Write),
    call: &Call<'_>,
    within: Duration,
) -> Result<Answer, Closed> {
    let mut request = head(call, within).ok_or(Closed::Unreachable)?.into_bytes();
    // A small document goes with its head in one write.
    let (first, rest) = call.stdin.split_at(call.stdin.len().min(32 << 10));
    request.extend_from_slice(first);
    let sent = stream.write_all(&request).and_then(|()| stream.write_all(rest));
    // A daemon that refuses a document may answer before it has read all of it.
    let answer = answer(stream);
    match (sent, answer) {
        (Ok(()), Ok(answer)) => answer,
        (Err(_), Ok(Err(closed))) => Err(closed),
        _ => Err(Closed::Unreachable),
    }
}

/// The head of the request; `None` when the grant is none that can be sent.
fn head(call: &Call<'_>, within: Duration) -> Option<String> {
    let variable = |name: &str| call.environment.get(name);
    let mut head = format!(
        "POST /v1/hosts/{} HTTP/1.1\r\nhost: lineside\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         lineside-within-ms: {}\r\n",
        call.host.name(),
        call.stdin.len(),
        within.as_millis(),
    );
    let mut header = |name: &str, value: &str| {
        // Writing to a text does not fail.
        write!(head, "{name}: {value}\r\n").ok();
    };
    if let Some(event) = call.event {
        header("lineside-event", &encoded(OsStr::new(event)));
    }
    let sent = SENT.iter().filter_map(|name| Some((name, variable(name)?)));
    let sent: Vec<String> = sent.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if !sent.is_empty() {
        header("lineside-environment", &sent.join("&"));
    }
    if let Some(grant) = variable("LINESIDE_GRANT").filter(|grant| !grant.is_empty()) {
        let grant = grant.to_str().filter(|grant| grant.bytes().all(|byte| byte.is_ascii_graphic()))?;
        header("lineside-grant", grant);
    }
    head.push_str("\r\n");
    Some(head)
}

/// A value as a header can carry it: all but letters, digits and a few signs as `%` and two digits.
fn encoded(value: &OsStr) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~:@".contains(byte) {
            text.push(char::from(*byte));
        } else {
            write!(text, "%{byte:02X}").ok();
        }
    }
    text
}

/// The outer error is that of the connection, the inner one what the daemon has answered.
fn answer(stream: &mut impl Read) -> io::Result<Result<Answer, Closed>> {
    let mut bytes = Vec::with_capacity(4 << 10);
    let mut piece = [0; 4 << 10];
    let end = loop {
        let count = stream.read(&mut piece)?;
        if count == 0 || bytes.len() > HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&piece[..count]);
        if let Some(at) = bytes[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            break from + at + 4;
        }
    };
    let mut body = bytes.split_off(end);
    let head = Head::read(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let answer = match head.status {
        200 => head,
        400 | 413 => return Ok(Err(Closed::Unreadable)),
        _ => return Ok(Err(Closed::Unreachable)),
    };
    let missing = answer.length.checked_sub(body.len()).ok_or(io::ErrorKind::InvalidData)?;
    if answer.length > BODY || answer.stdout > answer.length || !matches!(answer.exit, 0 | 2) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.take(missing as u64).read_to_end(&mut body)?;
    if body.len() < answer.length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let stderr = body.split_off(answer.stdout);
    Ok(Ok(Answer { stdout: body, stderr, exit: answer.exit }))
}

/// What the head of an answer says.
#[derive(Debug)]
struct Head {
    status: u16,
    length: usize,
    stdout: usize,
    exit: u8,
}

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split("\r\n");
        let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        let mut head = Self { status, length: 0, stdout: 0, exit: u8::MAX };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.parse().ok()?,
                "lineside-stdout-bytes" => head.stdout = value.parse().ok()?,
                "lineside-exit" => head.exit = value.parse().ok()?,
                _ => {}
            }
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Host};

    /// A connection whose other side has said everything already.
    struct Said<'a> {
        answer: &'a [u8],
        sent: Vec<u8>,
    }

    impl Read for Said<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            // One byte at a time: every place is a place at which a read may end.
            self.answer.read(&mut bytes[..1])
        }
    }

    impl Write for Said<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn asked(answer: &str, variables: &[(&str, &str)]) -> (Result<Answer, Closed>, String) {
        let environment: Environment = variables.iter().copied().collect();
        let call =
            Call { host: Host::Copilot, event: Some("pre\r\nTool"), stdin: b"{}", environment: &environment };
        let mut stream = Said { answer: answer.as_bytes(), sent: Vec::new() };
        let answer = exchange(&mut stream, &call, Duration::from_millis(1500));
        (answer, String::from_utf8(stream.sent).unwrap())
    }

    const ANSWER: &str =
        "HTTP/1.1 200 OK\r\nLineside-Exit: 2\r\nlineside-stdout-bytes: 1\r\ncontent-length: 3\r\n\r\nabc";

    #[test]
    fn a_call_is_one_request_and_its_answer_is_taken_apart() {
        let variables = [
            ("CLAUDE_PROJECT_DIR", "/a b"),
            ("COPILOT_CLI", "1"),
            ("HOME", "/h"),
            ("LINESIDE_GRANT", "lsg_0"),
        ];
        let (answer, sent) = asked(ANSWER, &variables);
        assert_eq!(answer, Ok(Answer { stdout: b"a".to_vec(), stderr: b"bc".to_vec(), exit: 2 }));
        let expected = "POST /v1/hosts/copilot HTTP/1.1\r\nhost: lineside\r\ncontent-type: application/json\r\n\
            content-length: 2\r\nlineside-within-ms: 1500\r\nlineside-event: pre%0D%0ATool\r\n\
            lineside-environment: CLAUDE_PROJECT_DIR=/a%20b&COPILOT_CLI=1\r\nlineside-grant: lsg_0\r\n\r\n{}";
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_grant_that_cannot_be_sent_is_never_taken_for_none() {
        let (answer, sent) = asked(ANSWER, &[("LINESIDE_GRANT", "a\r\nb: c")]);
        assert_eq!((answer, sent.as_str()), (Err(Closed::Unreachable), ""));
    }

    #[test]
    fn what_is_no_whole_answer_closes_the_gate() {
        for end in 0..ANSWER.len() {
            assert_eq!(asked(&ANSWER[..end], &[]).0, Err(Closed::Unreachable), "{end}");
        }
        let wrong = [
            ANSWER.replace("200 OK", "503 Service Unavailable"),
            ANSWER.replace("200 OK", "403 Forbidden"),
            ANSWER.replace("Lineside-Exit: 2", "Lineside-Exit: 1"),
            ANSWER.replace("Lineside-Exit: 2", "x: 2"),
            ANSWER.replace("bytes: 1", "bytes: 4"),
            ANSWER.replace("length: 3", "length: 99999999999"),
            ANSWER.replace("length: 3", "length: 0"),
            ANSWER.replace("HTTP/1.1", "SSH-2.0"),
            "x".repeat(HEAD * 2),
        ];
        for text in wrong {
            assert_eq!(asked(&text, &[]).0, Err(Closed::Unreachable), "{text:.80}");
        }
        let refused = ANSWER.replace("200 OK", "413 Payload Too Large");
        assert_eq!(asked(&refused, &[]).0, Err(Closed::Unreadable));
    }
}
