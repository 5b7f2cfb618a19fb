//! A cluster on a real server, started on a free port of the loopback with a folder of its own. The program of the server is
//! named by `LINESIDE_NATS_SERVER`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod jobs;
mod keys;
mod members;
mod nats;
mod proxy;
mod servers;
mod windows;
