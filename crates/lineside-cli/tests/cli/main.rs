//! The command as people and other programs use it: arguments and input in, output and exit status out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod stage;
mod tap;
mod top;

mod approvals;
mod ascii;
mod automations;
mod beginning;
mod below;
mod cluster;
mod daemon;
mod daemon_kills;
mod dashboard;
mod demo;
mod doctor;
mod of_daemon;
mod explain;
mod install;
mod hook;
mod hook_environment;
mod interruption;
mod jobs;
mod joined_stops;
mod kit;
mod leaving;
mod list;
mod log;
mod log_kills;
mod mcp;
mod opencode;
mod policies;
mod replay;
mod run;
mod run_bad_input;
mod run_flow;
mod run_journal;
mod run_sessions;
mod run_under;
mod shadow;
mod test;
mod unwritable;
