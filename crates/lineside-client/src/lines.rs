//! Lines on a connection that was upgraded: read within a bound, written whole.

use std::io;

use hyper::body::Bytes;
use lineside_stream::Stream;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Chain};

/// The longest line that the daemon writes: a frame of 10 MiB, and what stands around an event.
const LONGEST: usize = (10 << 20) + 4096;

/// What is read.
pub(crate) struct Lines {
    reader: BufReader<Chain<io::Cursor<Bytes>, Stream>>,
    /// A line that has begun, kept while its future is dropped.
    line: Vec<u8>,
}

impl Lines {
    /// With what was read already.
    pub(crate) fn new(reader: Stream, begun: Bytes) -> Self {
        let all = io::Cursor::new(begun).chain(reader);
        Self { reader: BufReader::with_capacity(16 * 1024, all), line: Vec::new() }
    }

    /// The next line without its end; `None` at the end of the connection. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let rest = LONGEST.saturating_sub(self.line.len());
        let mut bounded = (&mut self.reader).take(u64::try_from(rest).unwrap_or(u64::MAX));
        bounded.read_until(b'\n', &mut self.line).await?;
        if self.line.last() == Some(&b'\n') {
            return Ok(Some(std::mem::take(&mut self.line)));
        }
        if self.line.len() >= LONGEST {
            return Err(io::Error::other("a line of the daemon is too long"));
        }
        Ok(None)
    }
}

/// What is written.
pub(crate) struct Writer(pub(crate) Stream);

impl Writer {
    /// Writes a frame, which is JSON in one line. Not cancel safe.
    pub(crate) async fn write(&mut self, mut frame: String) -> io::Result<()> {
        frame.push('\n');
        self.0.write_all(frame.as_bytes()).await
    }
}
