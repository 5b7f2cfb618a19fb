//! Daemons on several machines: each has folders of its own, and all of them one real server of NATS. What is of a machine
//! comes over its own connections, so that it can be cut off. The program of the server is named by `LINESIDE_NATS_SERVER`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "../../../lineside-nats/tests/server/nats.rs"]
mod nats;
#[path = "../../../lineside-nats/tests/server/proxy.rs"]
mod proxy;

mod bounds;
mod draining;
mod files;
mod history;
mod inheritance;
mod jobs;
mod keys;
mod logs;
mod loss;
mod machine;
mod mailboxes;
mod swarm;
mod taps;
mod waiting;
mod windows;
