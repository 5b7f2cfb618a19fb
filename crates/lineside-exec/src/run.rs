//! One run, from before the start to the last byte.
//!
//! It starts the process, waits for what comes first, exit or deadline, and brings the run to its end.
//! A run that is dropped in between is [`crate::guard`]'s business.

use std::error::Error;
use std::os::unix::process::ExitStatusExt;

use lineside_core::UntilOver;
use lineside_core::invocation::{Captured, Ended, Exit, Invocation, Leaked, Leftovers};
use tokio::time::Instant;

use crate::admission::{Admission, TURN};
use crate::containment::Containment;
use crate::files::Files;
use crate::guard::{Guard, Reapers};
use crate::pipes::Pipes;
use crate::running::{Running, WaitOutcome, after};
use crate::spawn::{self, Beside, StartHookError};
use crate::tree::{Status, Tree};

/// Runs a hook; see [`crate::Runner::run`].
///
/// Cancel safe: see [`Guard`].
pub(crate) async fn run<T>(
    invocation: &Invocation,
    on_turn: impl Future<Output = T>,
    admission: &Admission,
    containment: &Containment,
    reapers: &Reapers,
    until_over: Option<UntilOver>,
) -> Ended {
    let began = Instant::now();
    let limits = &invocation.limits;
    let deadline = after(began, limits.timeout);

    let Some(turn) = admission.turn(deadline).await else {
        let tried = began.elapsed();
        return not_started(&StartHookError::Overloaded { starting: admission.most(), tried }, began);
    };
    // What it needs before it starts is within its time, like everything.
    let Ok(until_started) = tokio::time::timeout_at(deadline, on_turn).await else {
        return ended_unstarted(Exit::TimedOut { after: limits.timeout }, began);
    };
    let mut guard = Guard::new(limits.ending, reapers, until_over);
    let running = match start(invocation, containment, deadline).await {
        Ok(running) => guard.over(running),
        Err(error) => return not_started(&error, began),
    };

    drop(until_started);

    let first = running.exited(deadline.min(after(Instant::now(), TURN))).await;
    drop(turn);
    let first = match first {
        WaitOutcome::Elapsed => running.exited(deadline).await,
        WaitOutcome::Exited => WaitOutcome::Exited,
    };
    let (exit, leaked) = match first {
        WaitOutcome::Exited => {
            let close = after(Instant::now(), limits.leak_grace);
            running.outputs_ended(close.min(deadline)).await;
            let (leaked, left) = running.finish(limits.leftovers).await;
            reapers.adopt(left);
            let status = running.tree.take_status();
            let hidden = leaked == Leaked::Nothing && running.tree.group_exists();
            (exit(status), if hidden { outlived(limits.leftovers) } else { leaked })
        }
        WaitOutcome::Elapsed => {
            let leaked = running.end(limits.ending).await;
            let after = limits.timeout;
            (Exit::TimedOut { after }, leaked)
        }
    };

    let (stdout, stderr) = running.pipes.close();
    let took = began.elapsed();
    Ended { exit, stdout, stderr, took, leaked }
}

async fn start(
    invocation: &Invocation,
    containment: &Containment,
    deadline: Instant,
) -> Result<Running, StartHookError> {
    let files = Files::write(&invocation.files).map_err(|source| StartHookError::Files { source })?;
    let prepared = containment.prepare(&invocation.limits);
    let beside = Beside { files: files.variables(), tag: prepared.tag() };
    let child = spawn::start(invocation, beside, deadline).await?;
    let mut tree = Tree::new(child, prepared);
    // When anything fails from here on, the tree is dropped, which kills it.
    tree.bound(&invocation.limits.resources).map_err(|source| StartHookError::Bound { source })?;
    let pipes = Pipes::take(tree.leader(), invocation);
    let pipes = pipes.map_err(|source| StartHookError::Watch { source })?;
    Ok(Running { tree, pipes, _files: files })
}

fn exit(status: Status) -> Exit {
    match status {
        Status::Known(status) => {
            let code = status.code().map(Exit::Code);
            code.or_else(|| status.signal().map(Exit::Signal)).unwrap_or(Exit::Lost)
        }
        Status::Lost => Exit::Lost,
    }
}

/// What is said of leftovers.
pub(crate) fn outlived(leftovers: Leftovers) -> Leaked {
    match leftovers {
        Leftovers::Kill => Leaked::Killed,
        Leftovers::Leave => Leaked::Left,
    }
}

fn not_started(error: &StartHookError, began: Instant) -> Ended {
    ended_unstarted(Exit::NotStarted { why: with_causes(error) }, began)
}

fn ended_unstarted(exit: Exit, began: Instant) -> Ended {
    Ended {
        exit,
        stdout: Captured::default(),
        stderr: Captured::default(),
        took: began.elapsed(),
        leaked: Leaked::Nothing,
    }
}

/// The whole chain of an error in one line.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut why = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        why = format!("{why}: {error}");
        cause = error.source();
    }
    why
}
