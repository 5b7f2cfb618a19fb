//! One call as one HTTP request over the socket, and its answer.
//!
//! The document is the body as it came; what else belongs to the call is in headers. In the body of the answer standard
//! output stands before standard error, and headers say where the one ends and how the process exits. The daemon says at
//! once that it has begun to read, however long hooks take afterwards.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use crate::{Answer, Call, Closed};

/// The longest head of an answer, in bytes.
const HEAD: usize = 64 << 10;
/// The version of this protocol; both sides say it, and an answer of another one is not believed.
const PROTOCOL: &str = "1";
/// How much of a document goes with its head, in one write.
const TOGETHER: usize = 32 << 10;
/// The longest body of an answer, in bytes: a document that was amended has an escape for each of its bytes at most.
const BODY: usize = 512 << 20;

/// Sends a call, which has this name, and reads its answer. `within` is the time that is left for it; `lives` is called once the daemon has
/// given a sign of life.
///
/// # Errors
/// [`Closed::Unreadable`] when the daemon refuses the document, [`Closed::OtherProtocol`] when the answer is one of another
/// version, and [`Closed::Unreachable`] when there is no whole answer.
pub(crate) fn exchange(
    stream: &mut (impl Read + Write),
    (call, name): (&Call<'_>, &str),
    within: Duration,
    lives: impl FnOnce(),
) -> Result<Answer, Closed> {
    let mut request = head(call, name, within).ok_or(Closed::Unreachable)?.into_bytes();
    // A small document goes with its head. The rest of a large one may have to wait for room, and the sign of life does not.
    let (first, rest) = call.stdin.split_at(call.stdin.len().min(TOGETHER));
    request.extend_from_slice(first);
    let unreachable = |_| Closed::Unreachable;
    stream.write_all(&request).map_err(unreachable)?;
    let mut received = Vec::with_capacity(4 << 10);
    let mut head = next_head(stream, &mut received).map_err(unreachable)?;
    lives();
    let mut sent = Ok(());
    if head.status == CONTINUE {
        sent = stream.write_all(rest);
        // A daemon that refuses a document may answer before it has read all of it.
        head = next_head(stream, &mut received).map_err(unreachable)?;
    }
    let answer = answer(stream, &head, received).map_err(unreachable)?;
    match (sent, answer) {
        (Ok(()), answer) | (_, answer @ Err(_)) => answer,
        _ => Err(Closed::Unreachable),
    }
}

/// The head of the request; `None` when the grant is none that can be sent.
fn head(call: &Call<'_>, name: &str, within: Duration) -> Option<String> {
    let mut head = format!(
        "POST /v1/hosts/{} HTTP/1.1\r\nhost: lineside\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\nlineside-protocol: {PROTOCOL}\r\nlineside-within-ms: {}\r\nlineside-call: {name}\r\n",
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
    if let Some(grant) = call.grant {
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

/// The next head that comes in, which is taken off what was received.
fn next_head(stream: &mut impl Read, received: &mut Vec<u8>) -> io::Result<Head> {
    let mut piece = [0; 4 << 10];
    let mut from = 0;
    loop {
        if let Some(at) = received[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = received.split_off(from + at + 4);
            let head = std::mem::replace(received, rest);
            return Head::read(&head).ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
        from = received.len().saturating_sub(3);
        let count = stream.read(&mut piece)?;
        if count == 0 || received.len() > HEAD {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        received.extend_from_slice(&piece[..count]);
    }
}

/// The answer behind a head. The outer error is that of the connection, the inner one what the daemon has answered.
fn answer(stream: &mut impl Read, head: &Head, mut body: Vec<u8>) -> io::Result<Result<Answer, Closed>> {
    match head.status {
        200 if head.protocol.as_deref() != Some(PROTOCOL) => return Ok(Err(Closed::OtherProtocol)),
        200 => {}
        400 | 413 => return Ok(Err(Closed::Unreadable)),
        _ => return Ok(Err(Closed::Unreachable)),
    }
    // What is missing is never taken for none.
    let (Some(length), Some(stdout), Some(exit @ (0 | 2))) = (head.length, head.stdout, head.exit) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let missing = length.checked_sub(body.len()).ok_or(io::ErrorKind::InvalidData)?;
    if length > BODY || stdout > length {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.take(missing as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let stderr = body.split_off(stdout);
    Ok(Ok(Answer { stdout: body, stderr, exit }))
}

/// What the head of an answer says; nothing of it is supplied here.
#[derive(Debug)]
struct Head {
    status: u16,
    protocol: Option<String>,
    length: Option<usize>,
    stdout: Option<usize>,
    exit: Option<u8>,
}

/// The status of a daemon that has begun to read.
const CONTINUE: u16 = 100;

impl Head {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split("\r\n");
        let (status, _phrase) = lines.next()?.strip_prefix("HTTP/1.1 ")?.split_once(' ')?;
        let status = number(status).filter(|_| status.len() == 3)?;
        let mut head = Self { status, protocol: None, length: None, stdout: None, exit: None };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            let is_first = match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length.replace(number(value)?).is_none(),
                "lineside-stdout-bytes" => head.stdout.replace(number(value)?).is_none(),
                "lineside-exit" => head.exit.replace(number(value)?).is_none(),
                "lineside-protocol" => head.protocol.replace(value.to_owned()).is_none(),
                _ => true,
            };
            if !is_first {
                return None;
            }
        }
        Some(head)
    }
}

/// Digits and nothing else.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;

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

    fn asked(answer: &str, grant: Option<&str>) -> (Result<Answer, Closed>, String) {
        let grant = grant.map(OsStr::new);
        let call = Call { host: Host::Copilot, event: Some("pre\r\nTool"), stdin: b"{}", grant };
        let mut stream = Said { answer: answer.as_bytes(), sent: Vec::new() };
        let mut signs = 0;
        let answer = exchange(&mut stream, (&call, "7-1"), Duration::from_millis(1500), || signs += 1);
        assert!(signs == 1 || answer.is_err(), "{signs}");
        (answer, String::from_utf8(stream.sent).unwrap())
    }

    const ANSWER: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nLineside-Exit: 2\r\n\
        Lineside-Protocol: 1\r\nlineside-stdout-bytes: 1\r\ncontent-length: 3\r\n\r\nabc";

    #[test]
    fn a_call_is_one_request_and_its_answer_is_taken_apart() {
        let (answer, sent) = asked(ANSWER, Some("lsg_0"));
        assert_eq!(answer, Ok(Answer { stdout: b"a".to_vec(), stderr: b"bc".to_vec(), exit: 2 }));
        let expected = "POST /v1/hosts/copilot HTTP/1.1\r\nhost: lineside\r\ncontent-type: application/json\r\n\
            content-length: 2\r\nexpect: 100-continue\r\nlineside-protocol: 1\r\nlineside-within-ms: 1500\r\nlineside-call: 7-1\r\nlineside-event: pre%0D%0ATool\r\n\
            lineside-grant: lsg_0\r\n\r\n{}";
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_grant_that_cannot_be_sent_is_never_taken_for_none() {
        let (answer, sent) = asked(ANSWER, Some("a\r\nb: c"));
        assert_eq!((answer, sent.as_str()), (Err(Closed::Unreachable), ""));
    }

    #[test]
    fn what_is_no_whole_answer_closes_the_gate() {
        for end in 0..ANSWER.len() {
            assert_eq!(asked(&ANSWER[..end], None).0, Err(Closed::Unreachable), "{end}");
        }
        let wrong = [
            ANSWER.replace("200 OK", "503 Service Unavailable"),
            ANSWER.replace("200 OK", "403 Forbidden"),
            ANSWER.replace("Lineside-Exit: 2", "Lineside-Exit: 1"),
            ANSWER.replace("Lineside-Exit: 2", "x: 2"),
            ANSWER.replace("bytes: 1", "bytes: 4"),
            ANSWER.replace("length: 3", "length: 99999999999"),
            ANSWER.replace("length: 3", "length: 0"),
            ANSWER.replace("length: 3", "length: +3"),
            ANSWER.replace("content-length: 3\r\n", ""),
            ANSWER.replace("lineside-stdout-bytes: 1\r\n", ""),
            ANSWER.replace("content-length: 3\r\n", "transfer-encoding: chunked\r\n"),
            ANSWER.replace("length: 3\r\n", "length: 3\r\ncontent-length: 3\r\n"),
            ANSWER.replace("bytes: 1\r\n", "bytes: 1\r\nLineside-Stdout-Bytes: 1\r\n"),
            ANSWER.replace("Exit: 2\r\n", "Exit: 2\r\nlineside-exit: 0\r\n"),
            ANSWER.replace("Protocol: 1\r\n", "Protocol: 1\r\nlineside-protocol: 1\r\n"),
            ANSWER.replace("HTTP/1.1", "SSH-2.0"),
            ANSWER.replace("HTTP/1.1 200", "HTTP/1.1 100"),
            "x".repeat(HEAD * 2),
        ];
        for text in wrong {
            assert_eq!(asked(&text, None).0, Err(Closed::Unreachable), "{text:.80}");
        }
        for other in ["", "Lineside-Protocol: 2\r\n", "Lineside-Protocol: 1.0\r\n", "Lineside-Protocol:\r\n"]
        {
            let text = ANSWER.replace("Lineside-Protocol: 1\r\n", other);
            assert_eq!(asked(&text, None).0, Err(Closed::OtherProtocol), "{text}");
        }
        let at_once = ANSWER.replace("HTTP/1.1 100 Continue\r\n\r\n", "");
        assert_eq!(asked(&at_once, None).0, asked(ANSWER, None).0, "a sign of life is the answer as well");
        let refused = ANSWER.replace("200 OK", "413 Payload Too Large");
        assert_eq!(asked(&refused, None).0, Err(Closed::Unreadable));
    }
}
