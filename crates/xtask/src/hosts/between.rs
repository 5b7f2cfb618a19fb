//! A socket between a program and the daemon, for a program that calls no hook command: each request goes on as it is,
//! and its document is kept for the recording.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};

/// Where documents are kept, and how many there are.
struct Kept {
    folder: PathBuf,
    count: AtomicUsize,
}

/// Listens at `own` until this process ends, and sends what comes to `daemon`. Documents go to `folder`, each with the
/// arguments that a hook command of `host` would have.
pub(super) fn listen(own: &Path, daemon: &Path, folder: &Path, host: &'static str) -> Result<()> {
    let listener = UnixListener::bind(own).with_context(|| format!("cannot listen at {}", own.display()))?;
    let kept = Arc::new(Kept { folder: folder.to_owned(), count: AtomicUsize::new(0) });
    let daemon = daemon.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (kept, daemon) = (Arc::clone(&kept), daemon.clone());
            // A connection ends when either side is gone.
            thread::spawn(move || drop(carry(&stream, &daemon, &kept, host)));
        }
    });
    Ok(())
}

fn carry(program: &UnixStream, daemon: &Path, kept: &Kept, host: &str) -> Result<()> {
    let mut asked = BufReader::new(program.try_clone()?);
    let mut answered = BufReader::new(UnixStream::connect(daemon)?);
    loop {
        let (head, body) = message(&mut asked)?;
        kept.keep(&body, host)?;
        answered.get_mut().write_all(&[head, body].concat())?;
        let (head, body) = message(&mut answered)?;
        (&*program).write_all(&[head, body].concat())?;
    }
}

impl Kept {
    fn keep(&self, document: &[u8], host: &str) -> Result<()> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{number:06}.stdin"));
        fs::write(&path, document)?;
        fs::write(path.with_extension("env"), "")?;
        Ok(fs::write(path.with_extension("arguments"), format!("hook\n{host}\n"))?)
    }
}

/// The head of a message, as it came, and its body.
fn message(reader: &mut impl BufRead) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        ensure!(reader.read_line(&mut line)? > 0, "the connection was closed");
        head.extend_from_slice(line.as_bytes());
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().context("a length is no number")?;
            }
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}
