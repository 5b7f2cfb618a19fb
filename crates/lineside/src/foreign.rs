//! Runs a foreign hook as an interceptor: its dialect says what to run and reads what came of it; this runs it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lineside_bus::Cx;
use lineside_bus::interceptor::{BoxFuture, Interceptor};
use lineside_core::invocation::{Environment, Inherit, Invocation};
use lineside_core::{AnyEvent, Failure, Said};
use lineside_dialects::{Call, Handler, LogTarget, Moment, Returned};
use lineside_exec::Runner;
use tokio::time::Instant;

/// A foreign hook with everything that it needs to run.
pub(crate) struct Foreign {
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) runner: Runner,
    pub(crate) environment: Option<Arc<BTreeMap<String, String>>>,
    pub(crate) log: Option<Arc<DebugLog>>,
}

impl Interceptor for Foreign {
    fn intercept(&self, event: AnyEvent, cx: Cx) -> BoxFuture<Result<Said, Failure>> {
        let handler = Arc::clone(&self.handler);
        let runner = self.runner.clone();
        let environment = self.environment.clone();
        let log = self.log.clone();
        Box::pin(async move {
            let began = Instant::now();
            let tell = |moment: Moment<'_>| {
                if let Some(log) = &log {
                    log.write(&handler.log(&moment));
                }
            };
            let (returned, result) = match handler.prepare(&event) {
                Ok(call) => {
                    tell(Moment::Starting { call: &call });
                    let returned = run(&runner, call, environment.as_deref(), cx.deadline()).await;
                    let result = handler.read(&event, &returned);
                    (Some(returned), result)
                }
                Err(failure) => (None, Err(failure)),
            };
            let took = began.elapsed();
            tell(Moment::Finished { returned: returned.as_ref(), result: &result, took });
            result.map(Said::from).map_err(|mut failure| {
                failure.taken_as = handler.refuse(&event, &failure).map(Box::new);
                failure
            })
        })
    }
}

async fn run(
    runner: &Runner,
    call: Call,
    environment: Option<&BTreeMap<String, String>>,
    deadline: Instant,
) -> Returned {
    let Call::Command(mut invocation) = call else { return Returned::Nothing };
    if let Some(base) = environment {
        invocation.environment = based_on(base, &invocation.environment);
    }
    shorten(&mut invocation, deadline.saturating_duration_since(Instant::now()));
    Returned::Command(runner.run(&invocation).await)
}

/// What remains of the event's time bounds the hook's own.
fn shorten(invocation: &mut Invocation, rest: Duration) {
    invocation.limits.timeout = invocation.limits.timeout.min(rest);
}

/// The environment of a hook whose runtime has another environment than this process.
fn based_on(base: &BTreeMap<String, String>, environment: &Environment) -> Environment {
    let inherited = |name: &str| match &environment.inherit {
        Inherit::All => true,
        Inherit::Only(names) => names.iter().any(|other| other == OsStr::new(name)),
    };
    let kept = base
        .iter()
        .filter(|(name, _)| {
            inherited(name) && !environment.remove.iter().any(|gone| gone == OsStr::new(name))
        })
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Environment {
        inherit: Inherit::Only(Vec::new()),
        remove: Vec::new(),
        set: kept.chain(environment.set.iter().cloned()).collect(),
    }
}

/// Where the debug log of a dialect is written, lines of one moment together.
pub(crate) struct DebugLog {
    target: LogTarget,
    writing: Mutex<()>,
}

impl DebugLog {
    pub(crate) fn to(target: LogTarget) -> Self {
        Self { target, writing: Mutex::new(()) }
    }

    fn write(&self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let mut text = lines.join("\n");
        text.push('\n');
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &self.target {
            LogTarget::Stderr => std::io::stderr().write_all(text.as_bytes()),
            LogTarget::File(path) => OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes())),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "failed to write the debug log of a dialect");
        }
    }
}
