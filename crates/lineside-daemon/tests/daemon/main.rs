//! The daemon as its clients see it: real sockets, real files, one server a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod house;

mod acknowledgement;
mod api;
mod approvals;
mod aside;
mod attach;
mod attacks;
mod bad_luck;
mod reload;
mod restart;
mod clients;
mod connection;
mod extremes;
mod crowd;
mod dashboard;
mod inheritance;
mod files;
mod heirs;
mod hosts;
mod http;
mod kept;
mod left_behind;
mod looks;
mod metrics;
mod observers;
mod switched_off;
#[cfg(feature = "otel")]
mod telemetry;
mod owners;
mod proxy;
mod publishers;
mod reconnect;
mod registrations;
mod requests;
mod signals;
mod openapi;
