//! What an event, a verdict, an amendment, a matcher, a plan and a receipt *are*: pure values and total functions.
//!
//! This crate does not know tokio, kameo, a clock, the environment or a file.
//! Everything in it can be called from any thread, never blocks, and never panics on any input.
//!
//! The modules stand in the order in which an event meets them: a point says what may happen, an envelope and a
//! payload make an event, a matcher selects hooks, a plan orders them, a chain folds their answers into a verdict, and
//! a receipt keeps what happened.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod point;
pub mod payload;
pub mod id;
pub mod timestamp;
pub mod envelope;
pub mod event;
pub mod verdict;
pub mod amendment;
pub mod context;
pub mod answer;
pub mod failure;
pub mod budget;
pub mod tool_class;
pub mod matcher;
pub mod hook;
pub mod ensemble;
pub mod plan;
pub mod roster;
pub mod chain;
pub mod acceptance;
pub mod acknowledgement;
pub mod outcome;
pub mod approval;
pub mod receipt;
pub mod burst;
pub mod flow;
pub mod report;
pub mod control;
pub mod journal;
pub mod diagnostic;
pub mod invocation;
pub mod exchange;
pub mod worker;
pub mod until_over;
pub mod propagation;
pub mod json;
pub mod secret;
pub mod nearest;

#[cfg(test)]
mod sample;

pub use acceptance::Acceptance;
pub use acknowledgement::{AcknowledgedAs, Acknowledgement};
pub use amendment::{Amendment, Change};
pub use answer::{Answer, Judgement, KeepWorking, Reply, Response};
pub use approval::{Approval, ApprovalScope};
pub use context::{Append, ContextMessage, MessageId, Notice, NoticeLevel, Role};
pub use diagnostic::{Diagnostic, Origin, Severity};
pub use ensemble::Ensemble;
pub use envelope::{
    Agent, AgentKind, AttributedBy, Attribution, Envelope, EventId, Extra, Model, SessionId, Source,
};
pub use event::{AnyEvent, Event};
pub use failure::{Failure, FailureKind, OnFailure};
pub use hook::{Hook, Layer, Part, Reach};
pub use matcher::{Matcher, MatcherDraft};
pub use outcome::{Outcome, Round, Run, SkipReason};
pub use payload::{Payload, Point};
pub use plan::{Candidates, Plan};
pub use point::{Phase, PointInfo};
pub use propagation::{Propagation, Traceparent};
pub use receipt::{CoverageMismatch, Receipt};
pub use roster::Roster;
pub use timestamp::Timestamp;
pub use until_over::UntilOver;
pub use verdict::{Reason, Strength, Verdict};
