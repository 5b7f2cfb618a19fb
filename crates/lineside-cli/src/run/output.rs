//! The decisions on standard output: JSON for programs, rows for people; one at a time, each whole.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::{Context as _, Result};
use lineside::claims::Claim;
use lineside::core::Receipt;
use tokio::io::{AsyncWriteExt as _, Stdout};
use tokio::sync::Mutex;

use super::decision::{self, Later};
use crate::page::Page;
use crate::style::lines_for_people;

/// What a decision looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line of JSON, with the whole receipt or the gist of it.
    Json { whole: bool },
    /// A row with what hooks did below it.
    Rows,
    /// Nothing at all.
    Nothing,
}

/// Prints texts on standard output, one at a time, each whole.
pub(super) struct Printer(Mutex<Stdout>);

/// Where decisions go.
pub(super) struct Output {
    printer: Printer,
    form: Form,
}

enum Form {
    Json { whole: bool },
    Rows { page: RefCell<Page>, start: Instant },
    Nothing,
}

/// A decision that is about to be written.
pub(super) struct Written<'a> {
    pub(super) receipt: &'a Receipt,
    pub(super) accepted: &'a [Claim],
    pub(super) later: Later,
    /// Messages that reach the agent's context with it.
    pub(super) delivered: Vec<&'a lineside::ContextMessage>,
}

impl Printer {
    pub(super) fn on_stdout() -> Self {
        Self(Mutex::new(tokio::io::stdout()))
    }

    /// Waits until nothing is being printed.
    pub(super) async fn all_settled(&self) {
        drop(self.0.lock().await);
    }

    /// Prints a text, and waits until the reader of a pipe has it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) async fn print(&self, text: &str) -> Result<()> {
        let mut out = self.0.lock().await;
        out.write_all(text.as_bytes()).await.context(NOT_WRITTEN)?;
        out.flush().await.context(NOT_WRITTEN)
    }
}

impl Output {
    pub(super) fn new(shape: Shape, page: Page) -> Self {
        let form = match shape {
            Shape::Json { whole } => Form::Json { whole },
            Shape::Rows => Form::Rows { page: RefCell::new(page), start: Instant::now() },
            Shape::Nothing => Form::Nothing,
        };
        Self { printer: Printer::on_stdout(), form }
    }

    /// Waits until no decision is being written.
    pub(super) async fn all_settled(&self) {
        self.printer.all_settled().await;
    }

    /// Writes a decision, and waits until the reader of a pipe has it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) async fn write(&self, decision: Written<'_>) -> Result<()> {
        let text = match &self.form {
            Form::Nothing => return Ok(()),
            Form::Json { whole } => {
                decision::line(decision.receipt, decision.accepted, decision.later, *whole)?
            }
            Form::Rows { page, start } => {
                let mut page = page.borrow_mut();
                page.meet(decision.receipt);
                let mut lines = page.decision(start.elapsed(), decision.receipt);
                lines.extend(page.delivery(decision.delivered.iter().copied()));
                lines.extend(
                    decision
                        .later
                        .background
                        .iter()
                        .flat_map(|told| page.later(&super::background::last_word(told))),
                );
                lines_for_people(lines)
            }
        };
        self.printer.print(&text).await
    }
}

const NOT_WRITTEN: &str = "failed to write a decision to standard output";
