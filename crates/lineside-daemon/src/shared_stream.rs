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

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};

/// What a stream can do while others have it too.
pub(crate) trait Stream: Send + Sync + 'static {
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
    fn read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()>;
    fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize>;
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send;
}

macro_rules! stream {
    ($stream:ty) => {
        impl Stream for $stream {
            fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_read_ready(cx)
            }

            fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_write_ready(cx)
            }

            fn read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
                let mut count = 0;
                let read = self.try_io(Interest::READABLE, || {
                    count = self.try_read_buf(buffer)?;
                    // Less than there is room for is all that there was, and the next read waits without asking the
                    // system for it.
                    let is_all = count > 0 && buffer.remaining() > 0;
                    if is_all { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                });
                if count > 0 { Ok(()) } else { read }
            }

            fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
                self.try_write_vectored(bytes)
            }

            async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                <$stream>::ready(self, interest).await
            }
        }
    };
}

stream!(UnixStream);
stream!(TcpStream);

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
            Poll::Ready(_) if is_peer_gone(&*self.0) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

/// Whether the peer has closed its side, as far as the runtime has noticed.
pub(crate) fn is_peer_gone(stream: &impl Stream) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    let found = ready.poll(&mut Context::from_waker(Waker::noop()));
    matches!(found, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

/// Reads what there is room for behind what is in the buffer, as a stream that others have too; how much that was.
pub(crate) fn read_into(stream: &UnixStream, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut count = 0;
    let read = stream.try_io(Interest::READABLE, || {
        let room = buffer.capacity() - buffer.len();
        count = stream.try_read_buf(buffer)?;
        let is_all = count > 0 && count < room;
        if is_all { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    });
    if count > 0 { Ok(count) } else { read }
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
            ready!(self.0.poll_writable(cx))?;
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
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
