//! The workers of formats whose hooks are functions, and those that hooks name: kept over a reload that changes nothing,
//! and ended with the bus.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{self, Arc};

use lineside_bus::{Bus, WeakBus};
use lineside_core::worker::{
    HookCall, HookWorker, PluginLoaded, StartWorkerError, WorkerEnded, WorkerReach, WorkerReady, WorkerSpec,
};
use lineside_core::{Diagnostic, Notice, Propagation, Severity, UntilOver};
use lineside_dialects::{ForeignHook, Inert, Loaded, LogTarget, Plugins};
use lineside_exec::{
    Containment, HookWorkerClient, LogLevel, LogSource, RetiredWorker, Worker, WorkerListener, WorkerLog,
};
use lineside_points::OnServiceStop;
use tokio::sync::Mutex;

use crate::elsewhere::Elsewhere;
use crate::handler_runtime::HandlerRuntime;
use crate::sealed_program;

/// The workers that hooks name, each started when it is first needed or before.
#[derive(Default)]
pub(crate) struct HookWorkers {
    /// Where they are announced to the user. The hooks of the bus have these workers, so this must not keep it.
    bus: Option<WeakBus>,
    kept: sync::Mutex<Warm>,
    /// Those that have attached, by the numbers of their hooks.
    attached: sync::Mutex<HashMap<u64, Seated>>,
}

/// What has a hook that is called.
#[derive(Debug, Clone)]
pub(crate) enum Seated {
    /// A program: one that is started, or one that has attached.
    Program(HookWorkerClient),
    /// Something elsewhere.
    Elsewhere(Arc<dyn Elsewhere>),
}

impl Seated {
    /// Calls the hook. Dropping the future cancels the call. `until_over` is dropped when it is over in a program of this
    /// machine, and with the call for something elsewhere.
    pub(crate) async fn call(&self, call: HookCall, until_over: Option<UntilOver>) -> WorkerEnded {
        match self {
            Self::Program(worker) => worker.call_until(call, until_over).await,
            Self::Elsewhere(elsewhere) => elsewhere.call(call).await,
        }
    }
}

#[derive(Default)]
struct Warm {
    workers: HashMap<HookWorker, HookWorkerClient>,
    /// Those of them that no hook names as it was loaded, since an event has another directory. The one that was called
    /// last is at the end.
    elsewhere: Vec<HookWorker>,
    /// What workers were made of whose place another one has taken, the latest at the end.
    replaced: VecDeque<HookWorker>,
    /// Retired workers; calls may still be in flight.
    retired: Retired,
    /// All of them have ended, and none is started.
    over: bool,
}

/// Workers that no further call finds.
#[derive(Default)]
struct Retired(Vec<RetiredWorker>);

impl Retired {
    fn add(&mut self, worker: RetiredWorker) {
        self.0.retain(|worker| !worker.is_over());
        self.0.push(worker);
    }

    /// Ends all of them.
    async fn end(self) {
        self.0.iter().for_each(RetiredWorker::stop);
        for worker in self.0 {
            worker.shutdown().await;
        }
    }
}

impl HookWorkers {
    pub(crate) fn new(bus: &Bus) -> Self {
        Self { bus: Some(bus.downgrade()), ..Self::default() }
    }

    /// What each of them inherits, whichever sessions call it.
    pub(crate) fn environment(&self) -> Propagation {
        self.bus.as_ref().and_then(WeakBus::upgrade).map(|bus| bus.environment()).unwrap_or_default()
    }

    fn kept(&self) -> sync::MutexGuard<'_, Warm> {
        self.kept.lock().unwrap_or_else(sync::PoisonError::into_inner)
    }

    /// The hook of this number is in that worker; in none, without it.
    pub(crate) fn attach(&self, hook: u64, worker: Option<Seated>) {
        let mut attached = self.attached.lock().unwrap_or_else(sync::PoisonError::into_inner);
        let before = match worker {
            Some(worker) => attached.insert(hook, worker),
            None => attached.remove(&hook),
        };
        drop(attached);
        drop(before);
    }

    fn attached(&self, hook: u64) -> Option<Seated> {
        self.attached.lock().unwrap_or_else(sync::PoisonError::into_inner).get(&hook).cloned()
    }

    /// The workers of hooks that are about to be in force. Those before them stay until [`keep_only`](Self::keep_only).
    pub(crate) fn stand_by(&self, named: &[HookWorker], containment: &Containment) {
        let mut kept = self.kept();
        if kept.over {
            return;
        }
        for worker in named.iter().filter(|worker| !matches!(worker.reach, WorkerReach::Attached(_))) {
            kept.elsewhere.retain(|other| other != worker);
            if !kept.workers.contains_key(worker) {
                let client = self.client(worker.clone(), containment);
                kept.workers.insert(worker.clone(), client);
            }
        }
    }

    fn client(&self, named: HookWorker, containment: &Containment) -> HookWorkerClient {
        let listener = telling(self.bus.clone(), &named);
        HookWorkerClient::new(named, listener, containment.clone())
    }

    /// The worker of this declaration; equal declarations share one. One that is made of something that was not known takes
    /// the place of the one that runs; calls that are under way there may finish. A call of hooks that were replaced
    /// meanwhile has the worker that is in the place of theirs: no call brings one back. `None` where nothing is in that
    /// place, and after the end of all.
    pub(crate) fn of(&self, named: HookWorker, containment: &Containment) -> Option<Seated> {
        let WorkerReach::Attached(hook) = named.reach else {
            return self.started(named, containment).map(Seated::Program);
        };
        // Of a hook that was taken away an event may be under way.
        let nobody = || HookWorkerClient::new(named, WorkerListener::default(), containment.clone());
        Some(self.attached(hook).unwrap_or_else(|| Seated::Program(nobody())))
    }

    fn started(&self, named: HookWorker, containment: &Containment) -> Option<HookWorkerClient> {
        let mut kept = self.kept();
        if kept.over {
            return None;
        }
        if let Some(worker) = kept.workers.get(&named).cloned() {
            if let Some(at) = kept.elsewhere.iter().position(|other| *other == named) {
                kept.elsewhere[at..].rotate_left(1);
            }
            return Some(worker);
        }
        let is_same = |other: &HookWorker| {
            (&other.reach, other.start, &other.bounds) == (&named.reach, named.start, &named.bounds)
        };
        let in_its_place = kept.workers.keys().find(|other| is_same(other)).cloned();
        if kept.replaced.contains(&named) {
            return in_its_place.map(|other| kept.workers[&other].clone());
        }
        if let Some(other) = in_its_place {
            let before = kept.workers.remove_entry(&other);
            kept.replace(before);
            if let Some(at) = kept.elsewhere.iter().position(|one| *one == other) {
                kept.elsewhere.remove(at);
                kept.elsewhere.push(named.clone());
            }
        } else {
            kept.make_room();
            kept.elsewhere.push(named.clone());
        }
        let worker = self.client(named.clone(), containment);
        kept.workers.insert(named, worker.clone());
        Some(worker)
    }

    /// Lets go of those that no hook names any more. Each ends when the calls that have it are over.
    pub(crate) fn keep_only(&self, named: &[HookWorker]) {
        let named: HashSet<&HookWorker> = named.iter().collect();
        let mut kept = self.kept();
        let over: Vec<_> = kept.workers.extract_if(|worker, _| !named.contains(worker)).collect();
        kept.elsewhere.clear();
        kept.replace(over);
    }

    /// Ends all of them. None is started any more.
    pub(crate) async fn end(&self) {
        let Warm { workers, mut retired, .. } =
            std::mem::replace(&mut *self.kept(), Warm { over: true, ..Warm::default() });
        workers.into_values().for_each(|worker| retired.add(worker.retire()));
        retired.end().await;
    }
}

/// How many declarations whose place another one has taken are remembered.
const MOST_REPLACED: usize = 64;

/// How many workers there are beside those that hooks name as they were loaded.
const MOST_ELSEWHERE: usize = 32;

impl Warm {
    /// Ends the worker of another directory that was called longest ago, one without calls first, where there are as many
    /// as there may be. Calls that are under way there may finish.
    fn make_room(&mut self) {
        if self.elsewhere.len() < MOST_ELSEWHERE {
            return;
        }
        let is_idle = |worker: &HookWorker| self.workers.get(worker).is_none_or(|it| it.under_way() == 0);
        let at = self.elsewhere.iter().position(is_idle).unwrap_or_default();
        let oldest = self.elsewhere.remove(at);
        if let Some(worker) = self.workers.remove(&oldest) {
            self.retired.add(worker.retire());
        }
    }

    /// Others are in the place of these.
    fn replace(&mut self, over: impl IntoIterator<Item = (HookWorker, HookWorkerClient)>) {
        let (named, workers): (Vec<_>, Vec<_>) = over.into_iter().unzip();
        self.replaced.extend(named);
        let more = self.replaced.len().saturating_sub(MOST_REPLACED);
        self.replaced.drain(..more);
        workers.into_iter().for_each(|worker| self.retired.add(worker.retire()));
    }
}

/// How many warnings of one worker are shown to the user. More are in its log.
const MOST_WARNINGS: u32 = 100;

/// Tells the user what a worker itself warns of.
#[derive(Default)]
struct Warnings(AtomicU32);

impl Warnings {
    /// The notice for a line of the log, if it is to be shown to the user: one that the worker has sent as a warning or
    /// an error. What it prints says nothing of how grave it is.
    fn of(&self, log: &WorkerLog) -> Option<String> {
        let WorkerLog::Line { source: LogSource::Frame, level, plugin, text } = log else { return None };
        if *level < LogLevel::Warn {
            return None;
        }
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        match before.cmp(&MOST_WARNINGS) {
            Less => Some(match plugin {
                Some(plugin) => format!("plugin \"{plugin}\": {text}"),
                None => text.clone(),
            }),
            Equal => Some("it warns of more; the rest is in its log alone".to_owned()),
            Greater => None,
        }
    }
}

/// Tells the user that a worker is given up for a while, and what it warns of.
fn telling(bus: Option<WeakBus>, worker: &HookWorker) -> WorkerListener {
    let name = match &worker.reach {
        WorkerReach::Program { program, .. } => {
            program.argv.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
        }
        WorkerReach::Socket(path) => path.display().to_string(),
        WorkerReach::Attached(hook) => format!("of the attached hook {hook}"),
    };
    let warnings = Warnings::default();
    WorkerListener::new(move |log| {
        let text = match &log {
            WorkerLog::GaveUp { text } => Some(text.clone()),
            other => warnings.of(other),
        };
        if let (Some(text), Some(bus)) = (text, bus.as_ref().and_then(WeakBus::upgrade)) {
            bus.announce(Notice::warning(format!("worker `{name}`: {text}")));
        }
    })
}

/// The functions that receive what plugins log and print.
pub(crate) type PluginLog = Arc<dyn Fn(&PluginLine) + Send + Sync>;

/// Something that a plugin has logged or printed, or that its worker says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginLine {
    /// The dialect of the plugin.
    pub dialect: &'static str,
    /// Its id, where it is known.
    pub plugin: Option<String>,
    /// `debug`, `info`, `warn` or `error`.
    pub level: &'static str,
    /// The text, without secrets; at most 8 KiB, and not always one line.
    pub text: String,
}

/// The worker of each dialect that has one.
#[derive(Default)]
pub(crate) struct Workers {
    kept: Mutex<Loaders>,
    /// The functions that receive what plugins print; `tracing` receives it in any case.
    pub(crate) log: Option<PluginLog>,
    /// Whether plugins that load without an error stay when others do not that take their place.
    pub(crate) keep_sound: bool,
    /// The project whose plugins these are, where they are those of one.
    project: Option<PathBuf>,
}

#[derive(Default)]
struct Loaders {
    by_dialect: HashMap<&'static str, Kept>,
    retired: Retired,
}

struct Kept {
    spec: WorkerSpec,
    worker: Worker,
    started: Result<WorkerReady, StartWorkerError>,
    /// What it has, unless something was wrong with it.
    sound: Option<Sound>,
}

/// The hooks of plugins that have loaded without an error.
struct Sound {
    hooks: Vec<ForeignHook>,
    inert: Vec<Inert>,
    log: Option<LogTarget>,
}

impl Sound {
    fn of(loaded: &Loaded) -> Option<Self> {
        let Loaded { hooks, inert, log, .. } = loaded;
        (!is_broken(loaded)).then(|| Self { hooks: hooks.clone(), inert: inert.clone(), log: log.clone() })
    }

    /// Takes the place of what was found.
    fn stay(&self, loaded: &mut Loaded) {
        loaded.hooks.clone_from(&self.hooks);
        loaded.inert.clone_from(&self.inert);
        loaded.log.clone_from(&self.log);
        let text = "the plugins from before the error stay in force until it is repaired";
        loaded.diagnostics.push(Diagnostic::warning(None, text));
    }
}

fn is_broken(loaded: &Loaded) -> bool {
    loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error)
}

impl Workers {
    /// Those of one project.
    pub(crate) fn of(project: &Path, log: Option<PluginLog>) -> Self {
        Self { log, project: Some(project.to_path_buf()), ..Self::default() }
    }

    /// The name of the observer that a dialect's worker has.
    fn forgetter(&self, dialect: &str) -> String {
        let of = self.project.as_ref().map(|project| format!(" in {}", project.display()));
        format!("the worker of {dialect}{}", of.unwrap_or_default())
    }

    /// The worker of a load, whose hooks it adds. One that would be the same is kept, with everything that its plugins
    /// remember. Where sound ones are kept, something is wrong, and nothing was when the worker before was loaded, that
    /// one is kept with all its hooks. One whose place is taken ends with the last hook that has it.
    ///
    /// Cancel safe: the worker that is being started is killed then, and the one before is kept.
    pub(crate) async fn load(
        &self,
        dialect: &'static str,
        loaded: &mut Loaded,
        outside: &HandlerRuntime,
        bus: &Bus,
    ) -> Option<Worker> {
        let mut guard = self.kept.lock().await;
        let Loaders { by_dialect: kept, retired } = &mut *guard;
        let plugins = loaded.plugins.take();
        let before = kept.get(dialect).filter(|_| self.keep_sound);
        let before = before.and_then(|kept| Some((kept.worker.clone(), kept.sound.as_ref()?)));
        if let Some((worker, sound)) = before.as_ref().filter(|_| is_broken(loaded)) {
            sound.stay(loaded);
            return Some(worker.clone());
        }
        let Some(Plugins { worker: mut spec, script, registered, .. }) = plugins else {
            bus.remove(&self.forgetter(dialect));
            kept.remove(dialect).into_iter().for_each(|kept| retired.add(kept.worker.retire()));
            return None;
        };
        outside.rebase_shared(&mut spec.environment);
        if let Some(seal) = &outside.seal
            && let Err(why) = sealed_program::seal_plugins(seal, &mut spec)
        {
            add(loaded, registered(Err(StartWorkerError::Failed { why, hello: None })));
            return None;
        }
        if let Some(same) = kept.get(dialect).filter(|kept| kept.spec == spec && kept.started.is_ok()) {
            add(loaded, registered(same.started.clone()));
            return Some(same.worker.clone());
        }
        let containment = outside.runner.containment().clone();
        let listener = announcing(bus.downgrade(), dialect, self.log.clone());
        let (process, started) = Worker::start_contained(spec.clone(), &script, listener, containment).await;
        add(loaded, registered(started.clone()));
        if let Some((worker, sound)) = before.filter(|_| is_broken(loaded)) {
            sound.stay(loaded);
            retired.add(process.retire());
            return Some(worker);
        }
        forgetting(bus, &self.forgetter(dialect), process.clone());
        let sound = Sound::of(loaded);
        let before = kept.insert(dialect, Kept { spec, worker: process.clone(), started, sound });
        before.into_iter().for_each(|kept| retired.add(kept.worker.retire()));
        Some(process)
    }

    /// Ends all of them.
    pub(crate) async fn end(&self) {
        let Loaders { by_dialect, mut retired } = std::mem::take(&mut *self.kept.lock().await);
        by_dialect.into_values().for_each(|kept| retired.add(kept.worker.retire()));
        retired.end().await;
    }
}

/// Adds what a worker has.
fn add(loaded: &mut Loaded, more: Loaded) {
    loaded.hooks.extend(more.hooks);
    loaded.diagnostics.extend(more.diagnostics);
    loaded.inert.extend(more.inert);
    loaded.log = loaded.log.take().or(more.log);
}

/// What is to be repeated after a restart of the worker ends with the service, also where no hook hears of its end.
fn forgetting(bus: &Bus, name: &str, worker: Worker) {
    bus.remove(name);
    let heard = bus.observe::<OnServiceStop>(name).run(move |_| {
        worker.forget_repeats();
        std::future::ready(())
    });
    if let Err(error) = heard {
        tracing::warn!(%error, %name, "failed to listen for the end of the service");
    }
}

/// Tells the user what a worker cannot help: that it is given up for a while, which plugins a restart has lost, and
/// what it warns of.
fn announcing(bus: WeakBus, dialect: &'static str, told: Option<PluginLog>) -> WorkerListener {
    let warnings = Warnings::default();
    WorkerListener::new(move |log| {
        let warn = |text: String| {
            if let Some(bus) = bus.upgrade() {
                bus.announce(Notice::warning(format!("{dialect}: {text}")));
            }
        };
        match &log {
            WorkerLog::GaveUp { text } => warn(text.clone()),
            WorkerLog::Restarted(ready) => {
                let all = ready.plugins.iter().filter_map(lost);
                all.for_each(|lost| warn(format!("after a restart of the worker, {lost}")));
            }
            WorkerLog::Line { level, plugin, text, .. } => {
                if let Some(told) = &told {
                    let (plugin, text) = (plugin.clone(), text.clone());
                    told(&PluginLine { dialect, plugin, level: word(*level), text });
                }
                warnings.of(&log).into_iter().for_each(warn);
            }
        }
    })
}

fn word(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

/// What is wrong with a plugin that did not load.
fn lost(plugin: &PluginLoaded) -> Option<String> {
    match plugin {
        PluginLoaded::Answered(frame) => {
            let message = frame.get("error")?.get("message")?.as_str()?;
            let id = frame.get("plugin").and_then(|plugin| plugin.get("id")?.as_str()).unwrap_or_default();
            Some(format!("plugin \"{id}\": {message}"))
        }
        PluginLoaded::TimedOut => Some("a plugin did not load in time".to_owned()),
        PluginLoaded::Died { why } => Some(format!("a plugin ended it: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::worker::{HookWorkerBounds, WorkerStart};

    use super::*;

    /// On nothing that there is.
    fn worker(socket: &str, content: &str) -> HookWorker {
        let second = std::time::Duration::from_secs(1);
        let bounds = HookWorkerBounds {
            hello: second,
            cancel: second,
            shutdown: second,
            silence: second,
            pong: second,
            idle: None,
            frame: 1 << 10,
            in_flight: 1,
            queue: 1,
        };
        let reach = WorkerReach::Socket(socket.into());
        HookWorker { reach, content: content.to_owned(), start: WorkerStart::OnUse, bounds }
    }

    #[tokio::test]
    async fn of_workers_that_events_have_elsewhere_the_one_that_was_called_longest_ago_ends() {
        let (all, containment) = (HookWorkers::default(), Containment::new());
        all.stand_by(&[worker("/named", "")], &containment);
        for number in 0..4 * MOST_ELSEWHERE {
            drop(all.of(worker(&format!("/{number}"), ""), &containment));
            drop(all.of(worker("/0", ""), &containment));
        }
        assert_eq!(all.kept().workers.len(), 1 + MOST_ELSEWHERE);
        for there in ["/named", "/0", "/127", "/98"] {
            assert!(all.kept().workers.contains_key(&worker(there, "")), "{there}");
        }
        all.keep_only(&[worker("/named", "")]);
        assert_eq!(all.kept().workers.len(), 1);
        all.end().await;
    }

    #[tokio::test]
    async fn a_call_of_hooks_that_were_replaced_brings_no_worker_back() {
        let (all, containment) = (HookWorkers::default(), Containment::new());
        let made_of = |content: &str| worker("/nowhere", content);
        let names = |all: &HookWorkers| {
            let kept = all.kept();
            let mut names: Vec<String> = kept.workers.keys().map(|worker| worker.content.clone()).collect();
            names.sort();
            (names, kept.retired.0.len())
        };
        all.stand_by(&[made_of("old")], &containment);
        all.keep_only(&[made_of("old")]);
        all.stand_by(&[made_of("new")], &containment);
        assert_eq!(names(&all), (vec!["new".to_owned(), "old".to_owned()], 0), "both generations are asked");
        all.keep_only(&[made_of("new")]);
        assert_eq!(names(&all), (vec!["new".to_owned()], 1));
        drop(all.of(made_of("old"), &containment));
        assert_eq!(names(&all), (vec!["new".to_owned()], 1));
        drop(all.of(made_of("newer"), &containment));
        assert_eq!(names(&all), (vec!["newer".to_owned()], 2), "its file has changed since the load");
        all.keep_only(&[]);
        assert!(all.of(made_of("newer"), &containment).is_none(), "its hook was taken away");
        assert_eq!(names(&all), (Vec::new(), 3));
        all.stand_by(&[made_of("newer")], &containment);
        assert!(all.of(made_of("newer"), &containment).is_some(), "and is there again");
        all.end().await;
        assert!(all.of(made_of("newest"), &containment).is_none(), "nothing would end it");
        all.stand_by(&[made_of("newest")], &containment);
        assert_eq!(names(&all), (Vec::new(), 0));
    }
}
