//! What publishing costs, each figure beside its baseline in the same run.
//!
//! Prints `RATIO name value target` and `FIGURE name value unit target` lines; the time of a machine under load says
//! little, the ratio to a baseline measured in alternation says much.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kameo::Actor;
use kameo::actor::{ActorRef, Spawn};
use kameo::message::{Context, Message};
use lineside_bus::{Bus, Intercept, Session};
use lineside_core::Verdict;
use lineside_points::{BeforeTool, OnIdle};
use serde_json::json;

fn main() {}
