//! Random stacks of layers: what a lower one adds never weakens what the ones above have come to, in whichever way they are
//! put together, and nothing of a project runs before it is trusted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lineside_bus::{Bus, Session};
use lineside_core::json::{Map, json};
use lineside_core::verdict::Strength;
use lineside_core::{Answer, AnyEvent, Failure, FailureKind, Layer, PointInfo, Verdict};
use lineside_dialects::native::Native;
use lineside_dialects::{
    Call, Dialect, ForeignHook, Handler, Loaded, Managed, Places, Returned, Start, Tightening, Trust, Watched,
};
use lineside_points::BeforeTool;

use super::{Assembly, HookFiles};
use crate::project::places_of;

/// How many stacks the test command tries; `LINESIDE_STACKS` says otherwise.
const STACKS: u64 = 10_000;

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let sides = u64::try_from(words.len()).unwrap();
        words[usize::try_from(self.number(sides)).unwrap()]
    }

    fn number(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }
}

/// The file of one layer.
fn file(dice: &mut Dice) -> String {
    let mut text = "hooks:\n".to_owned();
    for at in 0..dice.number(4) {
        let name = ["a", "b", "c", "d"][usize::try_from((at + dice.number(2)) % 4).unwrap()];
        write!(text, "- {{name: {name}").unwrap();
        let tightens = dice.number(3) == 0;
        if tightens {
            text.push_str(
                dice.of(&[
                    ", timeout: 5", ", timeout: 600000", ", on_failure: block", ", on_failure: continue",
                ]),
            );
            text.push_str(dice.of(&["", "", ", priority: 9", ", match: {tool: Other}", ", async: true"]));
        } else {
            text.push_str(dice.of(&[
                ", on: before_tool", ", on: before_tool", ", on: before_tool", ", on: before_*",
                ", on: on_idle", ", on: befor_tool", "",
            ]));
            let does = dice.of(&["block", "block", "ask", "allow", "continue", "fail", "fail"]);
            write!(text, ", command: [{does}]").unwrap();
            text.push_str(dice.of(&["", ", on_failure: block", ", on_failure: continue"]));
            text.push_str(dice.of(&["", "", ", priority: 9", ", priority: -9", ", priority: no"]));
            text.push_str(
                dice.of(&[
                    "", "", ", match: {tool: Shell}", ", match: {tool: Other}", ", match: {tol: Shell}",
                ]),
            );
            text.push_str(dice.of(&["", "", "", ", async: true", ", required: true"]));
        }
        text.push_str("}\n");
    }
    if dice.number(20) == 0 { "hooks: [".to_owned() } else { text }
}

/// Does what its command says, and counts.
struct Scripted {
    does: String,
    runs: Arc<AtomicUsize>,
}

impl Handler for Scripted {
    fn prepare(&self, _event: &AnyEvent) -> Result<Call, Failure> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Ok(Call::Nothing)
    }

    fn read(&self, _event: &AnyEvent, _returned: &Returned) -> Result<Answer, Failure> {
        Ok(Answer { verdict: self.verdict()?, ..Answer::default() })
    }
}

impl Scripted {
    fn verdict(&self) -> Result<Verdict, Failure> {
        match &*self.does {
            "block" => Ok(Verdict::block("no")),
            "ask" => Ok(Verdict::ask("really?")),
            "allow" => Ok(Verdict::Allow(None)),
            "continue" => Ok(Verdict::Continue),
            _ => Err(Failure::new(FailureKind::Exit, "exit status 1")),
        }
    }
}

/// How many files there are of each layer, of which stacks are made.
const FILES: u64 = 250;

/// What stands in one file of a layer.
#[derive(Clone, Default)]
struct Read {
    text: String,
    hooks: Vec<ForeignHook>,
    tightenings: Vec<Tightening>,
}

/// The machine, the user, the project as it is trusted, and the project as it is not.
const LAYERS: [(&str, Trust); 4] = [
    ("etc/hooks.yaml", Trust::Withheld),
    ("home/.config/lineside/hooks.yaml", Trust::Withheld),
    ("project/.lineside/hooks.yaml", Trust::Granted),
    ("project/.lineside/hooks.yaml", Trust::Withheld),
];

/// lineside's own format, of which each file was read once: to read a file takes most of the time otherwise.
struct Stacked {
    files: [Vec<Read>; 4],
    /// Which file of each layer stands there now.
    now: Mutex<[usize; 4]>,
}

impl Stacked {
    fn now(&self, layer: usize) -> Loaded {
        let at = self.now.lock().unwrap()[layer];
        let Read { hooks, tightenings, .. } = self.files[layer][at].clone();
        Loaded { hooks, tightenings, ..Loaded::default() }
    }
}

impl Dialect for Stacked {
    fn name(&self) -> &'static str {
        Native.name()
    }

    fn names(&self) -> Vec<&'static str> {
        Native.names()
    }

    fn load(&self, places: &Places) -> Loaded {
        let is_nobody = places.home().is_some_and(|home| home.ends_with("nobody"));
        let mut loaded = if is_nobody { Loaded::default() } else { self.now(1) };
        if places.project_root.is_some() {
            loaded.append(self.now(if places.trust == Trust::Granted { 2 } else { 3 }));
        }
        loaded
    }

    fn load_managed(&self, _managed: &Managed, _places: &Places) -> Loaded {
        self.now(0)
    }

    fn has_given_names(&self) -> bool {
        Native.has_given_names()
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        Native.watched(places)
    }

    fn point(&self, name: &str, payload: &Map) -> Option<&'static PointInfo> {
        Native.point(name, payload)
    }
}

/// The folders of a stack, and what its layers are loaded into, one stack after the other.
struct Stack {
    root: tempfile::TempDir,
    /// What ran of the project.
    runs: Arc<AtomicUsize>,
    format: &'static Stacked,
    above: Assembly,
    below: Assembly,
    together: Assembly,
}

impl Stack {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let owner = std::fs::metadata(root.path()).unwrap().uid();
        let managed = Managed { folder: root.path().join("etc"), owner };
        let files = LAYERS.map(|(path, trust)| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // The same for the same path: what is trusted and what is not are the same files.
            let mut dice =
                Dice(u64::try_from(path.as_os_str().len() - root.path().as_os_str().len()).unwrap());
            let read = (0..FILES).map(|_| read(&mut dice, &path, trust, root.path(), &managed)).collect();
            std::fs::remove_file(&path).unwrap();
            read
        });
        // What keeps the layers apart looks at whether the project has such a file.
        std::fs::write(root.path().join(LAYERS[2].0), "").unwrap();
        let format: &'static Stacked = Box::leak(Box::new(Stacked { files, now: Mutex::default() }));
        let assembly = || Assembly::new(Bus::new()).only([format as _]).managed(managed.clone());
        let (above, together) = (assembly(), assembly());
        let below = above.of_project(&root.path().join("project")).only([format as _]);
        Self { root, runs: Arc::default(), format, above, below, together }
    }

    /// Puts other files in their places, and gives their texts.
    fn put(&self, dice: &mut Dice) -> [&str; 3] {
        let mut number = || usize::try_from(dice.number(FILES)).unwrap();
        let [machine, user, project] = [number(), number(), number()];
        let now = [machine, user, project, project];
        *self.format.now.lock().unwrap() = now;
        [0, 1, 2].map(|layer| &*self.format.files[layer][now[layer]].text)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn user(&self, home: &str) -> Places {
        let home = self.at(home).to_string_lossy().into_owned();
        let environment = BTreeMap::from([("HOME".to_owned(), home)]);
        Places { environment, project_root: None, cwd: PathBuf::from("/"), trust: Trust::Withheld }
    }

    /// Puts what stands in these places in force; hooks do at once what their commands say.
    async fn load(&self, assembly: &Assembly, places: &Places) {
        let mut files: HookFiles = assembly.read(places);
        for found in files.loaded.iter_mut().flat_map(|(_, loaded)| &mut loaded.hooks) {
            if let Some(Start::Program { program, .. }) = found.handler.start(Path::new("/")) {
                let is_of_project = found.hook.layer == Layer::Project;
                let runs = if is_of_project { Arc::clone(&self.runs) } else { Arc::default() };
                let does = program.argv[0].to_string_lossy().into_owned();
                found.handler = Arc::new(Scripted { does, runs });
            }
        }
        assembly.install(files).await.unwrap();
    }

    /// What comes of an event under the machine and the user of this home.
    async fn without_project(&self, home: &str) -> Strength {
        self.load(&self.above, &self.user(home)).await;
        let session = self.above.bus().session("s").open().await.unwrap();
        let strength = outcome(&session).await;
        session.close().await;
        strength
    }

    /// The same with the project, read together with the others.
    async fn together(&self, trust: Trust) -> Strength {
        let places = places_of(&self.user("home"), &self.at("project"), trust);
        self.load(&self.together, &places).await;
        let session = self.together.bus().session("s").open().await.unwrap();
        let strength = outcome(&session).await;
        session.close().await;
        strength
    }

    /// The same with the project in a scope of its own, as a daemon has it.
    async fn in_scope(&self) -> (Session, Strength) {
        self.load(&self.below, &places_of(&self.user("home"), &self.at("project"), Trust::Granted)).await;
        let scope = self.below.scope().unwrap();
        let session = self.above.bus().session("p").scope(scope).open().await.unwrap();
        let strength = outcome(&session).await;
        (session, strength)
    }
}

/// A random file of a layer as it is read there.
fn read(dice: &mut Dice, path: &Path, trust: Trust, root: &Path, managed: &Managed) -> Read {
    let text = file(dice);
    std::fs::write(path, &text).unwrap();
    let home = root.join("home").to_string_lossy().into_owned();
    let environment = BTreeMap::from([("HOME".to_owned(), home)]);
    let project = root.join("project");
    let places = Places { environment, project_root: Some(project.clone()), cwd: project, trust };
    let mut loaded = Native.load_managed(managed, &places);
    loaded.append(Native.load(&places));
    Read { text, hooks: loaded.hooks, tightenings: loaded.tightenings }
}

async fn outcome(session: &Session) -> Strength {
    session.publish(BeforeTool::new("Shell", json!({"command": "ls"}))).await.unwrap().verdict().strength()
}

/// How much an outcome keeps from happening: an allow no more than saying nothing.
fn strict(strength: Strength) -> Strength {
    strength.max(Strength::Allow)
}

#[tokio::test(start_paused = true)]
async fn no_stack_of_layers_has_a_lower_one_that_weakens_the_outcome_and_nothing_runs_before_trust() {
    let stacks =
        std::env::var("LINESIDE_STACKS").ok().and_then(|stacks| stacks.parse().ok()).unwrap_or(STACKS);
    let stack = Stack::new();
    let (mut differs, mut tightened) = (0, 0);
    for seed in 1..=stacks {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let texts = stack.put(&mut dice);
        let of_machine = stack.without_project("nobody").await;
        let of_user = stack.without_project("home").await;
        stack.runs.store(0, Ordering::Relaxed);
        let untrusted = stack.together(Trust::Withheld).await;
        assert_eq!((untrusted, stack.runs.load(Ordering::Relaxed)), (of_user, 0), "seed {seed}: {texts:#?}");
        let together = stack.together(Trust::Granted).await;
        let (session, in_scope) = stack.in_scope().await;
        assert!(strict(of_machine) <= strict(of_user), "seed {seed}: {of_machine:?} {of_user:?} {texts:#?}");
        assert!(strict(of_user) <= strict(in_scope), "seed {seed}: {of_user:?} {in_scope:?} {texts:#?}");
        assert_eq!(together, in_scope, "seed {seed}: {texts:#?}");
        // What a session's program registers is one layer more.
        let does = dice.of(&["allow", "ask", "block", "fail"]).to_owned();
        let says = Scripted { does, runs: Arc::default() }.verdict().ok();
        let gate = session.intercept::<BeforeTool>("last").priority(10);
        let _own =
            gate.try_gate(move |_, _| std::future::ready(says.clone().ok_or(std::fmt::Error))).unwrap();
        let last = outcome(&session).await;
        assert!(strict(in_scope) <= strict(last), "seed {seed}: {in_scope:?} {last:?} {texts:#?}");
        let hooks = session.hooks();
        session.close().await;
        differs += u64::from(of_user != in_scope);
        tightened += u64::from(hooks.iter().any(|(_, hook)| hook.timeout.as_millis() == 5));
    }
    // Otherwise it has shown nothing.
    assert!(differs > stacks / 20 && tightened > stacks / 100, "{differs} {tightened} of {stacks}");
}

#[tokio::test]
async fn what_is_gone_of_one_file_is_lacking_however_many_others_have_come() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/lineside");
    std::fs::create_dir_all(&config).unwrap();
    let put = |text: &str| std::fs::write(config.join("hooks.yaml"), text).unwrap();
    let assembly = Assembly::new(Bus::new());
    let home = home.path().to_owned();
    let environment = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
    let places = Places { environment, project_root: None, cwd: home, trust: Trust::Withheld };
    let hook = |name: &str| format!("- {{name: {name}, on: before_tool, verdict: block}}\n");
    put(&format!("hooks:\n{}{}", hook("a"), hook("b")));
    let before = assembly.install(assembly.read(&places)).await.unwrap();
    assert_eq!(before.in_force(), 2);
    for (now, lacks) in [
        (["a", "b"].as_slice(), false),
        (&["b", "a", "c"], false),
        (&["b", "c", "d"], true),
        (&["a"], true),
        (&[], true),
    ] {
        let hooks: String = now.iter().map(|name| hook(name)).collect();
        put(&if now.is_empty() { "hooks: []\n".to_owned() } else { format!("hooks:\n{hooks}") });
        assert_eq!(assembly.read(&places).lacks_of(&before), lacks, "{now:?}");
    }
}
