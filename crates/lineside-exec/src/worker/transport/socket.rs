//! A worker that is another program: it listens, or it has connected; this process owns only the connection.

use std::io;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::Duration;

use lineside_core::failure::FailureKind;
use lineside_core::worker::StartWorkerError;
use lineside_stream::Stream;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::super::lines::LineRoom;
use super::{Connect, Connecting, Ending, Output, Transport};

/// Goes to a program that listens.
#[derive(Debug)]
pub(in crate::worker) struct Dial(pub(in crate::worker) PathBuf);

impl Connect for Dial {
    fn connect(&mut self) -> Connecting<'_> {
        Box::pin(async {
            let failed = |why: String| StartWorkerError::NotFound { why };
            let refused =
                |error: io::Error| failed(format!("cannot connect to `{}`: {error}", self.0.display()));
            let stream = UnixStream::connect(&self.0).await.map_err(refused)?;
            // The permission to create a socket at that path is no permission to decide.
            let peer = stream.peer_cred().map(|peer| peer.uid());
            if peer.ok() != Some(rustix::process::getuid().as_raw()) {
                return Err(failed(format!("`{}` belongs to another user", self.0.display())));
            }
            let stream = Stream::new(stream).map_err(refused)?;
            Ok(Box::new(Connection { stream: Some(stream), begun: Vec::new(), room: None })
                as Box<dyn Transport>)
        })
    }
}

/// A program that has come to us.
#[derive(Debug)]
pub(in crate::worker) struct Come {
    pub(in crate::worker) stream: Stream,
    /// What was read from it already.
    pub(in crate::worker) begun: Vec<u8>,
    /// What its lines may take; held for as long as the connection is there.
    pub(in crate::worker) room: Option<Box<dyn LineRoom>>,
}

/// Waits for programs that come to us.
#[derive(Debug)]
pub(in crate::worker) struct Await(pub(in crate::worker) mpsc::Receiver<Come>);

impl Connect for Await {
    fn connect(&mut self) -> Connecting<'_> {
        Box::pin(async {
            match self.0.recv().await {
                Some(Come { stream, begun, room }) => {
                    Ok(Box::new(Connection { stream: Some(stream), begun, room }) as Box<dyn Transport>)
                }
                // No connection can come any more.
                None => std::future::pending().await,
            }
        })
    }
}

/// A connection.
#[derive(Debug)]
struct Connection {
    /// None once it is over.
    stream: Option<Stream>,
    /// What was read before and is not handed on yet.
    begun: Vec<u8>,
    room: Option<Box<dyn LineRoom>>,
}

impl Transport for Connection {
    fn line_room(&mut self) -> Option<Box<dyn LineRoom>> {
        self.room.take()
    }

    fn try_read(&mut self, from: Output, into: &mut [u8]) -> io::Result<usize> {
        if from == Output::Frames && !self.begun.is_empty() {
            let bytes = self.begun.len().min(into.len());
            into[..bytes].copy_from_slice(&self.begun[..bytes]);
            self.begun.drain(..bytes);
            return Ok(bytes);
        }
        let read = match (&self.stream, from) {
            (Some(stream), Output::Frames) => stream.try_read(into),
            _ => return Ok(0),
        };
        match &read {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.stream = None,
            Ok(_) => {}
        }
        read
    }

    fn poll_readable(&mut self, from: Output, cx: &mut Context<'_>) -> Poll<()> {
        match (&self.stream, from) {
            (Some(_), Output::Frames) if !self.begun.is_empty() => Poll::Ready(()),
            (Some(stream), Output::Frames) => stream.poll_readable(cx).map(drop),
            _ => Poll::Ready(()),
        }
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.stream {
            Some(stream) => stream.try_write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn poll_writable(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.stream {
            Some(stream) => stream.poll_writable(cx).map(drop),
            None => Poll::Pending,
        }
    }

    /// The peer is to see the end; its further output is not read.
    fn close_input(&mut self) {
        self.stream = None;
    }

    fn poll_gone(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        if self.stream.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn starved(&self) -> Duration {
        Duration::ZERO
    }

    fn kill(&mut self) {
        self.stream = None;
    }

    fn is_deserted(&mut self) -> bool {
        self.stream.is_none()
    }

    fn ending(&mut self, why: Option<&'static str>) -> Ending {
        let why = match why {
            Some(why) => format!("the connection to the worker was closed: {why}"),
            None => "the worker has closed the connection".to_owned(),
        };
        Ending { kind: FailureKind::Closed, why }
    }
}
