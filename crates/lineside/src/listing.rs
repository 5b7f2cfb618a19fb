//! What is in force, for those who ask: every hook in its order with where it is declared, and what would become of an
//! event. Values that can be written and read, so that a daemon gives the same as a load in the process.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use lineside_bus::Session;
use lineside_core::hook::{Mode, Standby};
use lineside_core::json::Map;
use lineside_core::{AnyEvent, Diagnostic, Hook, Layer, OnFailure, Part, SkipReason, Strength};
use lineside_dialects::{Inert, Why};
use serde::{Deserialize, Serialize};

use crate::assembly::{LoadReport, LoadedHook, State};

/// A hook at one of its points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub hook: String,
    /// The point.
    pub point: String,
    /// Its place in the order of the point, counted from 1.
    pub order: usize,
    /// Greater runs first.
    pub priority: i32,
    /// `managed`, `user`, `project` or `session`.
    pub layer: String,
    /// The format that it is written for.
    pub dialect: String,
    /// What its own format calls the point.
    pub trigger: String,
    /// `gate`, `amender`, `detached`, `post_decision` or `observer`.
    pub part: String,
    /// Whether what it says counts.
    #[serde(default)]
    pub mode: Mode,
    /// What its failure means for an event.
    pub on_failure: OnFailure,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// What its filter lets through, in words.
    pub condition: Option<String>,
    /// The file that declares it.
    pub file: Option<String>,
    /// The line there, counted from 1.
    pub line: Option<u32>,
    /// `ready`, or why it does not run.
    pub state: String,
    /// How it is paced, if it is an automation.
    pub automate: Option<Map>,
    /// Those of these settings that are not the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Map>,
}

/// What was found and is no hook that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NoHook {
    /// Its name, or where it stands in its file.
    pub hook: String,
    /// The point, where there is one and no other.
    pub point: Option<String>,
    /// Where it comes from.
    pub layer: String,
    /// Its format.
    pub dialect: String,
    /// What it waits for, as its file says.
    pub trigger: String,
    /// The file that declares it.
    pub file: Option<String>,
    /// The line there.
    pub line: Option<u32>,
    /// Why it does not run: `error`, `disabled`, [`WHEN_PUBLISHED`], or that it never fires here.
    pub state: String,
}

/// Everything that was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listing {
    /// The hooks in the order in which they would run, point by point.
    pub hooks: Vec<Listed>,
    /// What is no hook that runs.
    pub inert: Vec<NoHook>,
    /// What was wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// The state of what runs when its event is published, which no program does by itself.
pub const WHEN_PUBLISHED: &str = "when published";

/// What would become of one hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explained {
    /// The hook.
    #[serde(flatten)]
    pub listed: Listed,
    /// Whether it would run.
    pub runs: bool,
    /// Why not.
    pub skipped: Option<SkipReason>,
    /// The part of its filter that keeps the event out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misfit: Option<String>,
    /// What of the event its filter lets through for, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<String>,
    /// What it would say, where that is known without running it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<Strength>,
}

impl Explained {
    /// Whether what it runs is there.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.listed.state == State::Ready.as_str()
    }

    /// Whether it would run, and what it says would count.
    #[must_use]
    pub fn is_heard(&self) -> bool {
        let parts = [Part::Gate, Part::LoneGate, Part::Amender];
        let decides = parts.iter().any(|part| part.as_str() == self.listed.part);
        self.skipped.is_none() && decides && self.listed.mode == Mode::Enforced
    }
}

/// What would come of an event, as far as that is known without running anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Foreseen {
    /// The strictest of what is known: `block`, `ask` or, where no hook would object, `continue`.
    pub verdict: Strength,
    /// The hooks that say it; none where none objects.
    pub by: Vec<String>,
    /// Those of which only a run shows what they say. Nothing of it counts beside a `block`.
    pub open: Vec<String>,
}

impl Foreseen {
    fn of(hooks: &[Explained]) -> Self {
        let mut foreseen = Self::default();
        for explained in hooks.iter().filter(|hook| hook.is_heard()) {
            let name = || explained.listed.hook.clone();
            let said = match explained.says {
                Some(said) => said,
                None if explained.is_sound() => {
                    foreseen.open.push(name());
                    continue;
                }
                None if explained.listed.on_failure == OnFailure::Block => Strength::Block,
                None => Strength::Continue,
            };
            if said <= Strength::Allow || said < foreseen.verdict {
                continue;
            }
            if said > foreseen.verdict {
                foreseen.verdict = said;
                foreseen.by.clear();
            }
            foreseen.by.push(name());
        }
        foreseen
    }
}

/// What an explanation is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExplainedEvent {
    /// The point.
    pub point: String,
    /// The session.
    pub session: String,
}

/// What would become of an event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Explanation {
    /// The event.
    pub event: ExplainedEvent,
    /// The hooks that wait for its point, in the order in which they run.
    pub hooks: Vec<Explained>,
    /// What would come of it.
    #[serde(default)]
    pub foreseen: Foreseen,
    /// The names of the hooks at other points.
    pub elsewhere: BTreeMap<String, Vec<String>>,
    /// What was wrong when hooks were loaded.
    pub diagnostics: Vec<Diagnostic>,
}

/// Everything that a load has found, with the order that the hooks of a session have, and the hooks that programs have
/// registered on it.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use lineside::dialects::{Places, Trust};
/// use lineside::listing::listing;
/// use lineside::{Assembly, Bus};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let project = tempfile::tempdir()?;
/// let folder = project.path().join(".agents/hooks/guard");
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("HOOK.md"), "---\nname: guard\ndescription: Refuses all.\ntrigger: before_tool\n---\n")?;
/// let places = Places {
///     environment: BTreeMap::new(),
///     project_root: Some(project.path().to_owned()),
///     cwd: project.path().to_owned(),
///     trust: Trust::Granted,
/// };
/// let assembly = Assembly::new(Bus::new());
/// let report = assembly.load(&places).await?;
/// let session = assembly.bus().session("s1").open().await?;
/// let listing = listing(&session, &report);
/// println!("{} hooks, {} findings", listing.hooks.len(), listing.diagnostics.len());
/// assert!(listing.hooks.iter().all(|hook| hook.hook == "guard"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn listing(session: &Session, report: &LoadReport) -> Listing {
    Listing {
        hooks: listed(session, report).into_iter().map(|(_, listed)| listed).collect(),
        inert: report.inert.iter().map(|(dialect, inert)| no_hook(dialect, inert)).collect(),
        diagnostics: report.diagnostics.clone(),
    }
}

/// What would become of an event in a session. No hook is run.
///
/// ```
/// use lineside::LoadReport;
/// use lineside::listing::explain;
/// use lineside::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session.intercept::<BeforeTool>("all").gate(async |_, _cx| Verdict::Continue)?;
/// let shell = session.intercept::<BeforeTool>("shell").matching(tool("Shell"));
/// shell.gate(async |_, _cx| Verdict::Continue)?;
/// let decision = session.publish(BeforeTool::new("ReadFile", json!({}))).await?;
/// let event = decision.receipt().map(|receipt| &receipt.event).expect("a hook listens");
/// let explained = explain(&session, event, &LoadReport::default());
/// assert!(explained.hooks[0].runs);
/// assert_eq!(explained.hooks[1].misfit.as_deref(), Some("tool=Shell"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn explain(session: &Session, event: &AnyEvent, report: &LoadReport) -> Explanation {
    let verdicts = session.explain(event);
    let mut of_number: HashMap<u64, Vec<_>> = HashMap::new();
    for (hook, skipped) in &verdicts {
        of_number.entry(hook.registration).or_default().push((hook, *skipped));
    }
    let point = event.point().name;
    let mut elsewhere: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let says: HashMap<_, _> =
        report.hooks.iter().map(|found| ((found.point, identity(&found.hook)), found.says)).collect();
    let mut hooks = Vec::new();
    for (hook, listed) in listed(session, report) {
        if listed.point != point {
            elsewhere.entry(listed.point).or_default().push(listed.hook);
            continue;
        }
        let verdicts = of_number.get(&hook.registration).into_iter().flatten();
        let verdict = verdicts.copied().find(|(other, _)| identity(other) == identity(&hook));
        if let Some((_, skipped)) = verdict {
            let select = hook.select.as_ref().filter(|_| skipped == Some(SkipReason::Filter));
            let misfit = select.map(|select| select.misfit(event)).filter(|text| !text.is_empty());
            let fitting = hook.select.as_ref().filter(|_| skipped.is_none());
            let fit = fitting.and_then(|select| select.fit(event));
            let says = says.get(&(point, identity(&hook))).copied().flatten();
            hooks.push(Explained { listed, runs: skipped.is_none(), skipped, misfit, fit, says });
        }
    }
    let session = event.envelope().source.session.to_string();
    let event = ExplainedEvent { point: point.to_owned(), session };
    let foreseen = Foreseen::of(&hooks);
    Explanation { event, hooks, foreseen, elsewhere, diagnostics: report.diagnostics.clone() }
}

fn listed(session: &Session, report: &LoadReport) -> Vec<(Arc<Hook>, Listed)> {
    let hooks = session.hooks();
    // An automation may have several hooks at one point, in the order in which they were found.
    let mut of_load: HashMap<_, VecDeque<&LoadedHook>> = HashMap::new();
    for found in &report.hooks {
        of_load.entry((found.point, identity(&found.hook))).or_default().push_back(found);
    }
    let mut orders: HashMap<&str, usize> = HashMap::new();
    let mut listed: Vec<(Arc<Hook>, Listed)> = Vec::new();
    for (point, hook) in &hooks {
        let found = of_load.get_mut(&(*point, identity(hook))).and_then(VecDeque::pop_front);
        if found.is_none() && hook.layer != Layer::Session {
            // What stands for a broken hook, which is among those that are none, or serves hooks itself.
            continue;
        }
        let order = orders.entry(point).or_default();
        *order += 1;
        listed.push((Arc::clone(hook), one(hook, point, *order, found)));
    }
    listed
}

/// A hook with what its load has found of it; one that a program has registered has none.
fn one(hook: &Hook, point: &str, order: usize, found: Option<&LoadedHook>) -> Listed {
    let state = match (found, &hook.standby) {
        (Some(found), _) => found.state,
        (None, Standby::Off(why)) => State::Off(*why),
        (None, _) => State::Ready,
    };
    let control = found.and_then(|found| found.control.as_ref());
    let condition = hook.select.as_ref().map(|select| select.describe());
    Listed {
        hook: hook.name.to_string(),
        point: point.to_owned(),
        order,
        priority: hook.priority,
        layer: hook.layer.as_str().to_owned(),
        dialect: hook.dialect.to_owned(),
        trigger: found.map_or_else(|| point.to_owned(), |found| found.trigger.clone()),
        part: hook.part.as_str().to_owned(),
        mode: hook.mode,
        on_failure: hook.on_failure,
        timeout_ms: u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX),
        condition: condition.filter(|text| !text.is_empty()),
        file: hook.origin.as_ref().map(|origin| origin.file.to_string_lossy().into_owned()),
        line: hook.origin.as_ref().map(|origin| origin.line),
        state: state.as_str().to_owned(),
        automate: control.map(|control| control.to_json()),
        declared: control.map(|control| control.declared()),
    }
}

fn no_hook(dialect: &str, inert: &Inert) -> NoHook {
    let state = match inert.why {
        Why::Error => "error",
        Why::NeverFires => State::NeverFires.as_str(),
        Why::Apart => WHEN_PUBLISHED,
        Why::Disabled => "disabled",
    };
    NoHook {
        hook: inert.name.clone(),
        point: inert.point.map(|point| point.name.to_owned()),
        layer: inert.layer.as_str().to_owned(),
        dialect: dialect.to_owned(),
        trigger: inert.trigger.clone(),
        file: inert.origin.as_ref().map(|origin| origin.file.to_string_lossy().into_owned()),
        line: inert.origin.as_ref().map(|origin| origin.line),
        state: state.to_owned(),
    }
}

/// What two descriptions of one hook have in common; the registration number is not known before it is installed.
fn identity(hook: &Hook) -> (&str, &str, Option<(&Path, u32)>, Layer) {
    let origin = hook.origin.as_ref().map(|origin| (origin.file.as_path(), origin.line));
    (&hook.name, hook.dialect, origin, hook.layer)
}
