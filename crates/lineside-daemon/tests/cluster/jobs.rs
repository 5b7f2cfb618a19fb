//! Jobs that any machine may run, and whether what was done for them could have been: a history of every run, over cuts of
//! machines, and machines that leave and come.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use lineside::client::Session;
use lineside::json::Value;
use lineside::prelude::*;
use tempfile::TempDir;
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::history::Dice;
use crate::machine::Machine;
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many cycles there are, unless it is said otherwise.
const CYCLES: usize = 200;
/// How many jobs there are more in each cycle.
const JOBS: usize = 4;
/// How many attempts a job has.
const ATTEMPTS: u32 = 4;

/// The automation of the page, with settings more.
fn automation(more: &str) -> String {
    let page = include_str!("../../../../docs/cluster.md");
    let hooks = page.split("```yaml\n").filter_map(|block| block.split_once("```")).map(|(block, _)| block);
    let hooks: String = hooks.filter(|block| block.contains("where: anywhere")).collect();
    assert_eq!(hooks.matches("where: anywhere").count(), 1, "{hooks}");
    hooks.replace("where: anywhere", &format!("where: anywhere{more}"))
}

/// A project on a machine with the automation of the page, which runs this; it has `$session`, `$attempt`, `$fence` and the
/// log.
fn project(machine: &Machine, name: &str, hooks: &str, log: &Path, script: &str) -> PathBuf {
    let root = machine.project(name, "#!/bin/sh\n");
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let number =
        |name: &str| format!("{name}=$(echo \"$in\" | grep -o '\"{name}\":[0-9]*' | head -1 | tr -dc 0-9)");
    let script = format!(
        "#!/bin/sh\nlog={}\nin=$(cat)\n\
         session=$(echo \"$in\" | grep -o '\"session\":\"[^\"]*\"' | head -1 | cut -d'\"' -f4)\n\
         {}\n{}\n{script}\n",
        log.display(),
        number("attempt"),
        number("fence"),
    );
    fs::copy(root.join(".lineside/guard.sh"), root.join("test.sh")).unwrap();
    fs::write(root.join("test.sh"), script).unwrap();
    machine.trust(&root);
    root
}

/// A server, and what the jobs on its machines write down.
pub(crate) struct Scene {
    pub(crate) nats: Nats,
    proxy: Proxy,
    folder: TempDir,
    hooks: String,
}

impl Scene {
    /// One for the automation of the page, with settings more.
    pub(crate) async fn new(more: &str) -> Self {
        let nats = Nats::new().await;
        let proxy = Proxy::to(nats.port).await;
        Self { nats, proxy, folder: tempfile::tempdir().unwrap(), hooks: automation(more) }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(crate) fn project(&self, machine: &Machine, name: &str, script: &str) -> PathBuf {
        project(machine, name, &self.hooks, &self.log(), script)
    }

    /// The machine of the jobs, which runs one at a time, with its project.
    pub(crate) async fn a(&self, script: &str) -> (Machine, PathBuf) {
        let a = Machine::with_running(&self.nats.url(), "a", 1).await;
        let root = self.project(&a, "repo", script);
        (a, root)
    }

    /// Another one, which runs two, has the project as well and is behind the proxy.
    pub(crate) async fn b(&self, name: &str, script: &str) -> (Machine, PathBuf) {
        let b = Machine::with_running(&self.proxy.url(), "b", 2).await;
        let clone = self.project(&b, name, script);
        (b, clone)
    }

    /// A job that needs no key has the only turn of a machine.
    pub(crate) async fn busy(&self, a: &Machine) {
        let busy = a.project("busy", "#!/bin/sh\n");
        let command = format!("while [ ! -e {}.busy ]; do sleep 0.02; done", self.log().display());
        let hooks = format!("hooks:\n- {{name: busy, on: on_idle, command: '{command}', automate: {{}}}}\n");
        fs::write(busy.join(".lineside/hooks.yaml"), hooks).unwrap();
        a.trust(&busy);
        idles(a, &busy, "busy").await;
        a.until(|status| status["live_jobs"] == json!(1)).await;
    }

    /// Lets the jobs of these sessions end.
    fn end(&self, sessions: &[&str]) {
        for session in sessions {
            fs::write(self.folder.path().join(format!("log.{session}")), "").unwrap();
        }
    }

    /// Waits until the log is so.
    async fn until(&self, so: impl Fn(&[&str]) -> bool) -> String {
        let log = self.log();
        let found = async {
            loop {
                let text = fs::read_to_string(&log).unwrap_or_default();
                if so(&text.lines().collect::<Vec<_>>()) {
                    return text;
                }
                yield_now().await;
            }
        };
        timeout(LONG * 2, found).await.unwrap_or_else(|_| panic!("{:?}", fs::read_to_string(&log)))
    }
}

/// A session idles, which is a job.
pub(crate) async fn idles(machine: &Machine, root: &Path, id: &str) {
    let session: Session =
        machine.client().session(id.to_owned()).cwd(root.to_string_lossy()).open().await.unwrap();
    assert!(!session.publish(OnIdle::new()).await.unwrap().is_refused());
}

pub(crate) fn jobs(status: &Value, field: &str) -> u64 {
    status["cluster"]["jobs"][field].as_u64().unwrap()
}

/// Says where it begins, and ends when there is a file of its session's name.
pub(crate) const WAITS: &str = "echo \"$session $attempt begin $(pwd)\" >>$log\n\
     while [ ! -e $log.$session ]; do sleep 0.02; done\necho \"$session $attempt end\" >>$log";

#[tokio::test]
async fn what_finds_no_turn_runs_on_a_machine_that_has_the_hook_and_one() {
    let scene = Scene::new("").await;
    let (a, root) = scene.a(WAITS).await;
    idles(&a, &root, "s1").await;
    scene.until(|lines| lines.len() == 1).await;
    idles(&a, &root, "s2").await;
    a.until(|status| jobs(status, "published") == 1).await;
    // It comes later, and no session there works in the project.
    let (b, elsewhere) = scene.b("y/clone", WAITS).await;
    let said = scene.until(|lines| lines.len() == 2).await;
    assert!(said.contains(&format!("s1 1 begin {}", root.display())), "{said}");
    assert!(said.contains(&format!("s2 1 begin {}", elsewhere.display())), "{said}");
    let (of_a, of_b) = (a.status().await, b.status().await);
    assert_eq!([jobs(&of_a, "elsewhere"), jobs(&of_a, "here")], [1, 0]);
    assert_eq!([jobs(&of_b, "elsewhere"), jobs(&of_b, "here")], [0, 1]);
    scene.end(&["s2", "s1"]);
    let status = a.until(|status| status["live_jobs"] == json!(0) && jobs(status, "elsewhere") == 0).await;
    assert_eq!(status["dead_jobs"], json!(0));
    b.until(|status| jobs(status, "here") == 0).await;
    assert_eq!(fs::read_to_string(scene.log()).unwrap().lines().count(), 4);
}

#[tokio::test]
async fn a_machine_without_the_hook_or_with_another_content_of_it_takes_nothing() {
    let scene = Scene::new("").await;
    let (a, root) = scene.a(WAITS).await;
    let (b, other) = scene.b("repo", &format!("{WAITS}\n: another one")).await;
    // It is in force there.
    let _open = b.client().session("b1").cwd(other.to_string_lossy()).open().await.unwrap();
    idles(&a, &root, "s1").await;
    scene.until(|lines| lines.len() == 1).await;
    idles(&a, &root, "s2").await;
    a.until(|status| jobs(status, "published") == 1).await;
    scene.end(&["s1"]);
    let said = scene.until(|lines| lines.len() == 3).await;
    assert!(said.lines().last().unwrap().starts_with(&format!("s2 1 begin {}", root.display())), "{said}");
    scene.end(&["s2"]);
    a.until(|status| status["live_jobs"] == json!(0)).await;
}

#[tokio::test]
async fn a_job_that_is_dropped_is_given_up_where_it_runs() {
    let scene = Scene::new("").await;
    let ((a, root), (b, _)) = (scene.a(WAITS).await, scene.b("repo", WAITS).await);
    idles(&a, &root, "s1").await;
    scene.until(|lines| lines.len() == 1).await;
    idles(&a, &root, "s2").await;
    a.until(|status| jobs(status, "elsewhere") == 1).await;
    scene.until(|lines| lines.len() == 2).await;
    let all: Value = a.client().get("/v1/jobs").await.unwrap();
    let of = |session: &str| {
        let all = all["jobs"].as_array().unwrap();
        all.iter().find(|job| job["session"] == json!(session)).unwrap()["job"].as_u64().unwrap()
    };
    let _dropped: Value = a.client().delete(&format!("/v1/jobs/{}", of("s2"))).await.unwrap();
    a.until(|status| jobs(status, "elsewhere") == 0).await;
    b.until(|status| jobs(status, "here") == 0).await;
    scene.end(&["s1"]);
    a.until(|status| status["live_jobs"] == json!(0)).await;
    assert!(!fs::read_to_string(scene.log()).unwrap().contains("s2 1 end"));
}

#[tokio::test]
async fn a_job_whose_event_is_too_long_for_an_answer_once_it_is_written_runs_on_its_own_machine() {
    let mut scene = Scene::new("").await;
    scene.hooks = scene.hooks.replace("on_idle", "on_wait_confirm");
    let ((a, root), (_b, _)) = (scene.a(WAITS).await, scene.b("repo", WAITS).await);
    let waits = async |id: &'static str, message: String| {
        let session = a.client().session(id).cwd(root.to_string_lossy()).open().await.unwrap();
        let _heard = session.publish(OnWaitConfirm::new().message(message)).await.unwrap();
    };
    waits("s1", String::new()).await;
    scene.until(|lines| lines.len() == 1).await;
    // Half a message takes it as it is, and no message as JSON.
    waits("s2", "\u{1}".repeat(300_000)).await;
    waits("s3", String::new()).await;
    // The other machine has had the name of the second before that of the third.
    scene.until(|lines| lines.iter().any(|line| line.starts_with("s3 1 begin"))).await;
    scene.end(&["s1", "s2", "s3"]);
    let said = scene.until(|lines| lines.len() == 6).await;
    assert!(said.contains(&format!("s2 1 begin {}", root.display())), "{said}");
    let status = a.until(|status| status["live_jobs"] == json!(0)).await;
    assert_eq!(status["dead_jobs"], json!(0));
}

#[tokio::test]
async fn a_job_with_a_key_of_the_cluster_runs_elsewhere_with_that_key() {
    let scene = Scene::new(", concurrency: one, scope: cluster").await;
    let script = format!("echo $fence >>$log.fences\n{WAITS}");
    let ((a, root), (_b, elsewhere)) = (scene.a(&script).await, scene.b("y/repo", &script).await);
    scene.busy(&a).await;
    for session in ["s1", "s2"] {
        idles(&a, &root, session).await;
    }
    let said = scene.until(|lines| lines.len() == 1).await;
    assert!(said.starts_with(&format!("s1 1 begin {}", elsewhere.display())), "{said}");
    assert_eq!(a.status().await["cluster"]["jobs"]["elsewhere"], json!(1));
    scene.end(&["s1", "s2"]);
    let said = scene.until(|lines| lines.len() == 4).await;
    let order: Vec<_> =
        said.lines().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(order, ["s1 1 begin", "s1 1 end", "s2 1 begin", "s2 1 end"], "{said}");
    let fences = fs::read_to_string(scene.folder.path().join("log.fences")).unwrap();
    let fences: Vec<u64> = fences.lines().map(|fence| fence.parse().unwrap()).collect();
    assert!(matches!(fences[..], [first, second] if 0 < first && first < second), "{fences:?}");
    scene.end(&["busy"]);
    let status = a.until(|status| status["live_jobs"] == json!(0)).await;
    assert_eq!(status["dead_jobs"], json!(0));
}

#[tokio::test]
async fn runs_on_a_machine_that_is_cut_off_for_long_have_failed_and_what_they_came_to_is_forgotten() {
    let scene = Scene::new(", retry: {attempts: 2, constant: 10}, result: ignore").await;
    let ((a, root), (b, _)) = (scene.a(WAITS).await, scene.b("repo", WAITS).await);
    idles(&a, &root, "s1").await;
    scene.until(|lines| lines.len() == 1).await;
    idles(&a, &root, "s2").await;
    idles(&a, &root, "s3").await;
    scene.until(|lines| lines.len() == 3).await;
    scene.proxy.cut();
    // One of them ends while it cannot say so, and the other one is ended.
    scene.end(&["s3"]);
    scene.until(|lines| lines.len() == 4).await;
    a.until(|status| jobs(status, "elsewhere") == 0).await;
    b.until(|status| jobs(status, "here") == 0).await;
    scene.proxy.heal();
    scene.end(&["s2"]);
    let said = scene.until(|lines| lines.len() == 8).await;
    scene.end(&["s1"]);
    a.until(|status| status["live_jobs"] == json!(0)).await;
    for line in ["s2 2 begin", "s2 2 end", "s3 1 end", "s3 2 begin", "s3 2 end"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(!said.contains("s2 1 end"), "{said}");
    let all: Value = a.client().get("/v1/jobs").await.unwrap();
    let all = all["jobs"].as_array().unwrap();
    for session in ["s2", "s3"] {
        let job = all.iter().find(|job| job["session"] == json!(session)).unwrap();
        let attempts = job["attempts"].as_array().unwrap();
        assert_eq!((attempts.len(), &job["state"]), (2, &json!("done")), "{job}");
        assert!(attempts[0]["text"].to_string().contains("was not heard for 10 s"), "{job}");
    }
}

#[tokio::test]
async fn a_machine_that_leaves_gives_back_what_it_runs_and_is_given_nothing_more() {
    let scene = Scene::new(", retry: {attempts: 2, constant: 10}, result: ignore").await;
    let ((a, root), (b, clone)) = (scene.a(WAITS).await, scene.b("clone", WAITS).await);
    for (session, lines) in [("s1", 1), ("s2", 2)] {
        idles(&a, &root, session).await;
        scene.until(|all| all.len() == lines).await;
    }
    // It waits for what runs there, takes nothing more, and what runs still when it leaves has failed.
    let within = lineside::json::Map::from_iter([("within_ms".to_owned(), json!(1_500))]);
    let client = b.client();
    let drained =
        tokio::spawn(async move { client.post::<Value>("/v1/cluster/drain", &within).await.unwrap() });
    b.until(|status| status["cluster"]["draining"] == json!(true)).await;
    idles(&a, &root, "s3").await;
    a.until(|status| jobs(status, "published") >= 2).await;
    assert_eq!(drained.await.unwrap()["jobs"], json!(1));
    a.until(|status| jobs(status, "elsewhere") == 0).await;
    scene.end(&["s1", "s2", "s3"]);
    a.until(|status| status["live_jobs"] == json!(0)).await;
    let said = fs::read_to_string(scene.log()).unwrap();
    let there = said.lines().filter(|line| line.ends_with(&clone.display().to_string())).count();
    assert!(there == 1 && said.contains("s2 2 end") && said.contains("s3 1 end"), "{said}");
    assert_eq!(a.status().await["dead_jobs"], json!(0));
}

#[tokio::test]
async fn a_hook_of_a_program_that_says_anywhere_is_a_finding() {
    let nats = Nats::new().await;
    let a = Machine::new(&nats.url(), "a").await;
    let session = a.client().session("s1").open().await.unwrap();
    let tidy = session.automate::<OnIdle>("tidy").place(lineside::core::control::Place::Anywhere);
    let _tidy = tidy.run(async |_, _| Ok(Report::success("done"))).await.unwrap();
    let findings = a.status().await["findings"].to_string();
    assert!(findings.contains("tidy") && findings.contains("`where: anywhere`"), "{findings}");
}

/// What a line of the log says: a job by its session, the attempt, and whether that begins or ends.
#[derive(Debug, PartialEq, Eq, Hash, Clone)]
struct Line {
    session: String,
    attempt: u32,
    ends: bool,
}

fn lines(log: &Path) -> Vec<Line> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let line = |line: &str| {
        let mut parts = line.split(' ').map(str::to_owned);
        let (session, attempt) = (parts.next()?, parts.next()?.parse().ok()?);
        Some(Line { session, attempt, ends: parts.next()? == "end" })
    };
    text.lines().map(|text| line(text).unwrap_or_else(|| panic!("{text}"))).collect()
}

/// Every job that was accepted ran or is dead, none was begun twice with one attempt, and none more often than it may.
fn check(log: &Path, accepted: &[String], dead: &HashSet<String>) -> usize {
    let lines = lines(log);
    let mut begun: HashMap<(&str, u32), usize> = HashMap::new();
    lines.iter().filter(|line| !line.ends).for_each(|line| {
        *begun.entry((&line.session, line.attempt)).or_default() += 1;
    });
    let twice: Vec<_> = begun.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "one attempt was begun more than once: {twice:?}");
    let more: Vec<_> = lines.iter().filter(|line| line.attempt > ATTEMPTS).collect();
    assert!(more.is_empty(), "tried more often than it may be: {more:?}");
    let ended: HashSet<&str> =
        lines.iter().filter(|line| line.ends).map(|line| line.session.as_str()).collect();
    let lost: Vec<_> =
        accepted.iter().filter(|job| !ended.contains(job.as_str()) && !dead.contains(*job)).collect();
    assert!(lost.is_empty(), "neither run nor dead: {lost:?}");
    begun.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_cuts_every_job_runs_or_is_dead_and_no_attempt_is_begun_twice() {
    let cycles = std::env::var("LINESIDE_CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let cycles: usize = cycles.unwrap_or(CYCLES);
    let mut nats = Nats::new().await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let script =
        "echo \"$session $attempt begin $(pwd)\" >>$log\nsleep 0.15\necho \"$session $attempt end\" >>$log";
    let hooks = automation(&format!(", retry: {{attempts: {ATTEMPTS}, constant: 10}}, result: ignore"));
    let proxies = [Proxy::to(nats.port).await, Proxy::to(nats.port).await];
    let mut a = Machine::with_running(&proxies[0].url(), "a", 1).await;
    let mut b = Machine::with_running(&proxies[1].url(), "b", 3).await;
    let root = project(&a, "repo", &hooks, &log, script);
    let clone = project(&b, "clone", &hooks, &log, script);
    let (mut dice, mut accepted) = (Dice::new(11), Vec::new());
    for cycle in 0..cycles {
        for number in 0..JOBS {
            let id = format!("s{cycle}-{number}");
            idles(&a, &root, &id).await;
            accepted.push(id);
        }
        match dice.roll(16) {
            0 => b = b.again().await,
            1 => a = a.again().await,
            2 => {
                nats.kill();
                nats.start().await;
            }
            cut @ 3..9 => {
                let proxy = &proxies[usize::from(cut % 2 == 0)];
                proxy.cut();
                // Until that is known, or not.
                let cut_off = if cut % 2 == 0 { &b } else { &a };
                if dice.roll(2) == 0 {
                    cut_off.until(|status| status["cluster"]["together"] == json!(false)).await;
                }
                proxy.heal();
            }
            _ => {
                a.until(|status| status["live_jobs"].as_u64().unwrap() < 4).await;
            }
        }
    }
    let status = a.until(|status| status["live_jobs"] == json!(0)).await;
    let dead: Value = a.client().get("/v1/jobs?state=dead").await.unwrap();
    let of = |job: &Value| job["session"].as_str().unwrap().to_owned();
    let (dead, why): (HashSet<_>, HashSet<_>) =
        dead["jobs"].as_array().unwrap().iter().map(|job| (of(job), job["about"].to_string())).unzip();
    let attempts = check(&log, &accepted, &dead);
    let there = format!("begin {}", clone.display());
    let elsewhere = fs::read_to_string(&log).unwrap().lines().filter(|line| line.ends_with(&there)).count();
    println!(
        "{} jobs, {attempts} attempts, {elsewhere} elsewhere, {} dead: {why:?}",
        accepted.len(),
        dead.len()
    );
    assert!(elsewhere > cycles / 4, "some run on the other machine: {status}");
}
