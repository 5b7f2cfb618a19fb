//! A call of a program that has a plugin and no hook command: one request to the daemon, as the plugin makes it.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

/// What is answered to a document: what a hook command would print.
///
/// # Errors
/// The daemon does not answer, or refuses.
pub(super) fn ask(socket: &Path, host: &str, document: &str) -> Result<String> {
    let mut stream = UnixStream::connect(socket).context("the daemon of the demo is gone")?;
    let length = document.len();
    let request = format!(
        "POST /v1/hosts/{host} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Lineside-Protocol: 1\r\nContent-Length: {length}\r\n\r\n{document}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the daemon of the demo gave half an answer")?;
    let status = head.lines().next().unwrap_or_default();
    ensure!(status.contains(" 200 "), "the daemon of the demo refused a call: {status}");
    Ok(body.to_owned())
}
