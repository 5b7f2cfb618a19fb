//! A stream whose connection can be looked at while a server has it: whether the peer is gone, and whether it reads.
//!
//! A server that has read ahead, because the peer has sent a second request before the answer to the first, does not
//! read again before that answer, and so would not notice that the peer is gone.

use std::any::Any;
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use lineside::stream::Stream as UnixStream;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// What a stream can do while others have it too.
pub(crate) trait Stream: Send + Sync + 'static {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()>;
    fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Whether the peer has closed its side, as far as the runtime has noticed.
    fn is_peer_gone(&self) -> bool;
}

impl Stream for UnixStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_readable(self, cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_writable(self, cx)
    }

    fn read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
        let count = self.try_read(buffer.initialize_unfilled())?;
        buffer.advance(count);
        Ok(())
    }

    fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_vectored(bytes)
    }

    fn is_peer_gone(&self) -> bool {
        Self::is_peer_gone(self)
    }
}

impl Stream for TcpStream {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_read_ready(cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_write_ready(cx)
    }

    fn read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
        self.try_read_buf(buffer).map(drop)
    }

    fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_vectored(bytes)
    }

    fn is_peer_gone(&self) -> bool {
        let ready = pin!(self.ready(Interest::READABLE));
        let found = ready.poll(&mut Context::from_waker(Waker::noop()));
        matches!(found, Poll::Ready(Ok(ready)) if ready.is_read_closed())
    }
}

/// One of several that have a stream. One of them reads and writes.
pub(crate) struct SharedStream<S>(Arc<S>);

impl<S: Stream> SharedStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self(Arc::new(stream))
    }

    /// Another one, to look.
    pub(crate) fn other(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The stream itself, for the last of its holders.
    pub(crate) fn held(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.0) as _
    }

    /// Ready when the peer has closed its side. While something is there that was not read, nothing wakes the task for
    /// that, and it has to look again.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self.0.poll_readable(cx) {
            Poll::Ready(_) if self.0.is_peer_gone() => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl<S: Stream> AsyncRead for SharedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_readable(cx))?;
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

impl<S: Stream> AsyncWrite for SharedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready!(self.0.poll_writable(cx))?,
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The stream is closed when the last one lets go of it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
