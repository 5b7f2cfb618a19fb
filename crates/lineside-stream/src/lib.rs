//! A connection over a Unix socket that is woken by what it waits for alone.
//!
//! The system tells each end of such a connection that there is room again whenever the other end has read something. A
//! stream that is registered for room as well as for input, as those of runtimes are, is therefore woken twice for each
//! question and answer: once because its question was read, and once because the answer is there. Waking a thread of another
//! process is the dearest part of a short exchange.
//!
//! A [`Stream`] is registered for input. For room it is registered while it waits for that, and no longer.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::io::retry_on_intr;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::time::sleep;

/// After what time it is asked again to be let in, where too many wait for that.
const AGAIN: Duration = Duration::from_millis(1);

/// One end of a connection. Clones are the same, and the last one closes it; one of them reads at a time, and one writes.
///
/// ```
/// use lineside_stream::Stream;
/// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (here, there) = tokio::net::UnixStream::pair()?;
/// let (mut here, mut there) = (Stream::new(here)?, Stream::new(there)?);
/// here.write_all(b"question").await?;
/// let mut read = [0; 8];
/// there.read_exact(&mut read).await?;
/// assert_eq!(&read, b"question");
/// drop(here);
/// assert_eq!(there.read(&mut read).await?, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Stream(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Registered for input.
    io: AsyncFd<StdUnixStream>,
    /// The same connection, registered for room; absent while nothing waits for that.
    room: Mutex<Option<AsyncFd<StdUnixStream>>>,
}

impl Stream {
    /// Takes a connection over from the runtime, in whose context this is called.
    ///
    /// # Errors
    /// It cannot be registered.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        Self::register(stream.into_std()?)
    }

    /// Takes a connection over that no runtime has yet, and that does not block.
    ///
    /// # Errors
    /// It cannot be registered.
    pub fn register(stream: StdUnixStream) -> io::Result<Self> {
        let io = registered(stream, Interest::READABLE)?;
        Ok(Self(Arc::new(Shared { io, room: Mutex::default() })))
    }

    /// Connects to the socket at a path, behind which a process of this user must listen: the permission to make a
    /// socket there is none to decide. Where more have asked for that than the system keeps waiting, it asks again until it
    /// is let in. Cancel safe.
    ///
    /// # Errors
    /// Nothing listens there, it may not be connected to, another user does, or there are too many files open.
    pub async fn connect(path: &Path) -> io::Result<Self> {
        let stream = loop {
            match UnixStream::connect(path).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(AGAIN).await,
                connected => break connected?,
            }
        };
        if stream.peer_cred()?.uid() != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user listens there"));
        }
        Self::new(stream)
    }

    /// Reads what is there into this room, without waiting. 0 is the end of the connection.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while nothing is there, and those of the connection.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        let room = into.len();
        self.try_read_with(room, |mut stream| stream.read(into))
    }

    /// Reads what is there behind what a buffer holds, into the room that it has, without waiting. 0 is the end of the
    /// connection.
    ///
    /// # Errors
    /// As [`try_read`](Self::try_read).
    pub fn try_read_into(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let room = buffer.capacity() - buffer.len();
        self.try_read_with(room, |stream| {
            Ok(retry_on_intr(|| rustix::io::read(stream, spare_capacity(buffer)))?)
        })
    }

    /// Less than there is room for is all that there was: what comes later makes itself known, and the system is not
    /// asked for it in between.
    fn try_read_with(
        &self,
        room: usize,
        read: impl FnOnce(&StdUnixStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut count = 0;
        let read = self.0.io.try_io(Interest::READABLE, |stream| {
            count = read(stream)?;
            let is_all = count > 0 && count < room;
            if is_all { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
        });
        if count > 0 { Ok(count) } else { read }
    }

    /// Ready when there is something to read, or the end. The task of the last call is woken.
    ///
    /// # Errors
    /// The runtime is over.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.io.poll_read_ready(cx).map_ok(drop)
    }

    /// Writes what the system takes, without waiting.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] while it takes nothing, and those of the connection.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.written(self.0.io.get_ref().write(bytes))
    }

    /// The same with several pieces, in their order.
    ///
    /// # Errors
    /// As [`try_write`](Self::try_write).
    pub fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.written(self.0.io.get_ref().write_vectored(pieces))
    }

    /// Writes, and waits where it would have to.
    fn poll_written(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            match write() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(self.poll_writable(cx))?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                written => return Poll::Ready(written),
            }
        }
    }

    /// Who has written waits for room no longer.
    fn written(&self, written: io::Result<usize>) -> io::Result<usize> {
        if written.is_ok() {
            *self.room() = None;
        }
        written
    }

    fn room(&self) -> MutexGuard<'_, Option<AsyncFd<StdUnixStream>>> {
        self.0.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ready when there is room to write, or the peer is gone; asked after a write that would have had to wait. The task
    /// of the last call is woken.
    ///
    /// While this waits it takes one more of the files that the process may have open.
    ///
    /// # Errors
    /// It cannot be registered, or the runtime is over.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut room = self.room();
        let registered = match &mut *room {
            Some(registered) => registered,
            none => none.insert(registered(self.0.io.get_ref().try_clone()?, Interest::WRITABLE)?),
        };
        let writable = ready!(registered.poll_write_ready(cx)).map(drop);
        *room = None;
        Poll::Ready(writable)
    }

    /// Whether the peer has closed its side, as far as the runtime has noticed.
    #[must_use]
    pub fn is_peer_gone(&self) -> bool {
        let readable = pin!(self.0.io.ready(Interest::READABLE));
        let found = readable.poll(&mut Context::from_waker(Waker::noop()));
        matches!(found, Poll::Ready(Ok(found)) if found.ready().is_read_closed())
    }

    /// Whether nothing has come, not even the end. The system is asked, for what the runtime has not noticed yet; a byte
    /// that has come is lost.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let read = self.0.io.get_ref().read(&mut [0]);
        read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Closes both directions, for all clones.
    ///
    /// # Errors
    /// It is closed already.
    pub fn close(&self) -> io::Result<()> {
        self.0.io.get_ref().shutdown(Shutdown::Both)
    }
}

#[allow(
    deprecated,
    reason = "deprecated for types whose descriptor can change under the runtime, which a `UnixStream` cannot; \
              the replacement is `unsafe`"
)]
fn registered(stream: StdUnixStream, interest: Interest) -> io::Result<AsyncFd<StdUnixStream>> {
    AsyncFd::with_interest(stream, interest)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_readable(cx))?;
            match self.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_written(cx, || self.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_written(cx, || self.try_write_vectored(pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Says to the peer that nothing more comes.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.0.io.get_ref().shutdown(Shutdown::Write))
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, poll_fn};
    use std::os::unix::net::UnixListener;
    use std::thread;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::runtime::Handle;

    use super::*;

    fn pair() -> (Stream, Stream) {
        let (here, there) = UnixStream::pair().unwrap();
        (Stream::new(here).unwrap(), Stream::new(there).unwrap())
    }

    /// Fills a connection, whose peer does not read; how much that took.
    fn fill(stream: &Stream) -> usize {
        let mut written = 0;
        loop {
            match stream.try_write(&[7; 4096]) {
                Ok(count) => written += count,
                Err(error) => {
                    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                    return written;
                }
            }
        }
    }

    #[tokio::test]
    async fn whom_the_system_keeps_waiting_no_more_is_let_in_once_it_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        let mut waiting = Vec::new();
        let full = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let mut connecting = pin!(Stream::connect(&path));
        assert!(polled_once(connecting.as_mut()).await.is_none());
        drop(listener.accept().unwrap());
        connecting.await.unwrap();
    }

    /// What a future comes to when it is polled once.
    async fn polled_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// The peer reads each question before it answers, which is news to none who waits for an answer.
    #[tokio::test]
    async fn a_question_that_is_read_wakes_nothing() {
        const ASKED: u64 = 1_000;
        let (here, there) = StdUnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let mut here = Stream::new(UnixStream::from_std(here).unwrap()).unwrap();
        let peer = thread::spawn(move || {
            let mut there = there;
            for _ in 0..ASKED {
                let mut question = [0; 1];
                there.read_exact(&mut question).unwrap();
                // The one who asks has gone to sleep again by then.
                for _ in 0..1_000 {
                    std::hint::spin_loop();
                }
                there.write_all(&question).unwrap();
            }
        });
        let metrics = Handle::current().metrics();
        let before = metrics.worker_park_count(0);
        for _ in 0..ASKED {
            here.write_all(b"?").await.unwrap();
            here.read_exact(&mut [0; 1]).await.unwrap();
        }
        let slept = metrics.worker_park_count(0) - before;
        peer.join().unwrap();
        assert!(slept <= ASKED + 1, "went to sleep {slept} times for {ASKED} answers");
    }

    #[tokio::test]
    async fn what_waits_for_room_is_woken_by_it_and_registered_no_longer() {
        let (mut here, mut there) = pair();
        for _ in 0..3 {
            let written = fill(&here);
            let reads = async {
                let mut read = vec![0; written + 1];
                there.read_exact(&mut read).await.unwrap();
                read.pop()
            };
            let (wrote, read) = tokio::join!(here.write_all(b"!"), reads);
            wrote.unwrap();
            assert_eq!(read, Some(b'!'));
            assert!(here.room().is_none());
        }
    }

    #[tokio::test]
    async fn what_waits_for_room_hears_that_the_peer_is_gone() {
        let (mut here, there) = pair();
        fill(&here);
        let (wrote, ()) = tokio::join!(here.write_all(b"!"), async { drop(there) });
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn no_byte_is_missed_however_they_are_read() {
        let (mut here, there) = pair();
        let sent: Vec<u8> = (0_u8..=255).cycle().take(300_000).collect();
        let reads = async {
            let mut read = Vec::with_capacity(1_000);
            let mut piece = [0; 777];
            while read.len() < sent.len() {
                poll_fn(|cx| there.poll_readable(cx)).await.unwrap();
                read.reserve(100);
                let some = there.try_read_into(&mut read).and_then(|_| there.try_read(&mut piece));
                match some {
                    Ok(count) => read.extend_from_slice(&piece[..count]),
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
            }
            read
        };
        let (wrote, read) = tokio::join!(here.write_all(&sent), reads);
        wrote.unwrap();
        assert!(read == sent);
    }

    #[tokio::test]
    async fn an_end_is_seen_without_reading() {
        let (here, mut there) = pair();
        assert!(here.is_quiet() && !here.is_peer_gone());
        there.write_all(b"!").await.unwrap();
        assert!(!here.is_quiet(), "something has come");
        let (here, mut there) = pair();
        there.shutdown().await.unwrap();
        assert!(!here.is_quiet());
        poll_fn(|cx| here.poll_readable(cx)).await.unwrap();
        assert!(here.is_peer_gone());
        let (here, there) = pair();
        here.clone().close().unwrap();
        assert_eq!(here.try_write(b"!").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(!there.is_quiet());
    }
}
