//! Tests of what is loaded and forgotten.

use std::collections::BTreeMap;
use std::fs;

use lineside::Bus;
use lineside::automation::Automations;
use lineside::automation::machine::Bounds;
use lineside::core::journal::{AppendAck, BoxFuture, Durability, Journal, Record, Sequence, Unavailable};
use lineside::trust::Reach;

use super::*;

fn projects(folder: &Path, hooks: &str) -> (PathBuf, Assembly, Projects) {
    let root = folder.canonicalize().unwrap().join("project");
    fs::create_dir_all(root.join(".lineside")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let places =
        Places { environment: BTreeMap::new(), project_root: None, cwd: "/".into(), trust: Trust::Withheld };
    let assembly = Assembly::new(Bus::new());
    let settings = Settings::new(folder.join("socket"), folder.join("state"), places);
    let (claims, ending) = (Claims::default(), CancellationToken::new());
    let projects = Projects::new(&assembly, &settings, &claims, &TaskTracker::new(), &ending);
    (root, assembly, projects)
}

fn trust(root: &Path, assembly: &Assembly, projects: &Projects) {
    let read = assembly.of_project(root).read_project(root, &projects.inner.user, None);
    projects.inner.store.trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
}

const DETACHED: &str = "hooks: [{name: tidy, on: on_idle, async: true, command: [\"true\"]}]\n";

#[tokio::test]
async fn of_a_project_that_nobody_trusts_little_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let keys: String = (0..5_000).map(|number| format!("key{number}: 1\n")).collect();
    let hook = |number| format!("  - {{name: h{number}, on: before_tool, command: [./h{number}]}}\n");
    let hooks: String = (0..2_000).map(hook).collect();
    let (root, _, projects) = projects(folder.path(), &format!("hooks:\n{hooks}{keys}"));
    let project = projects.load_at(&root).await.unwrap().unwrap();
    let now = project.now();
    assert_eq!(now.stands, Stands::Untrusted);
    let LoadReport { hooks, diagnostics, inert, tightenings } = &*now.report;
    assert!(hooks.len() <= 100 && diagnostics.len() <= 101 && inert.len() <= 100 && tightenings.is_empty());
    assert!(!diagnostics.is_empty() && hooks.len() + inert.len() > 0);
    assert!(diagnostics.last().unwrap().to_string().contains("findings more"));
}

#[tokio::test]
async fn a_session_in_a_folder_of_a_trusted_project_whose_hooks_do_not_run_hears_it_once() {
    let folder = tempfile::tempdir().unwrap();
    let guard = "hooks: [{name: g, on: before_tool, verdict: block, reason: no}]\n";
    let (root, assembly, projects) = projects(folder.path(), guard);
    trust(&root, &assembly, &projects);
    let inner = root.join("vendor/inner");
    fs::create_dir_all(inner.join(".lineside")).unwrap();
    fs::create_dir(inner.join(".git")).unwrap();
    fs::write(inner.join(".lineside/hooks.yaml"), guard).unwrap();
    let opened = async |id: &str, work: &Path| {
        let opening = assembly.bus().session(id.to_owned()).cwd(work.display().to_string());
        projects.enter(opening, None).await.unwrap().open_now().unwrap()
    };
    let told = async |session: &Session| {
        let call = lineside::points::BeforeTool::new("Shell", lineside::json::json!({}));
        let decision = session.publish(call).await.unwrap();
        assert!(decision.is_refused(), "it is under the hooks of the project above");
        decision.notices().iter().map(|notice| notice.what.text.to_string()).collect::<Vec<_>>()
    };
    let beside = opened("beside", &root).await;
    assert_eq!(told(&beside).await, [""; 0]);
    let first = opened("first", &inner.join("src")).await;
    let [text] = told(&first).await.try_into().unwrap();
    assert!(text.contains(&format!("the hooks of {} do not run", inner.display())), "{text}");
    assert!(text.contains(&format!("under those of {}; ", root.display())), "{text}");
    // A load anew takes it from no session that has not heard it, and gives it to none once more.
    let second = opened("second", &inner).await;
    projects.load().await.unwrap();
    assert_eq!((told(&first).await.len(), told(&second).await.len()), (0, 1));
    assert_eq!((told(&second).await.len(), told(&beside).await.len()), (0, 0));
    trust(&inner, &assembly, &projects);
    assert_eq!(told(&opened("third", &inner).await).await, [""; 0]);
    // What was opened before comes under the hooks of its own folder with its next call from there, as after a restart.
    projects.join(&second, std::slice::from_ref(&inner)).await.unwrap();
    projects.join(&beside, std::slice::from_ref(&root)).await.unwrap();
    let roots = |session| projects.roots(session).len();
    assert_eq!((roots(&first), roots(&second), roots(&beside)), (1, 2, 1));
}

#[tokio::test]
async fn files_of_a_project_are_read_beside_the_requests_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, projects) = projects(folder.path(), "hooks: []\nkey: 1\n");
    for _ in 0..2 {
        let places = projects.all_places().await;
        let mut loads = std::pin::pin!(projects.load_at(&root));
        assert!(futures_util::poll!(&mut loads).is_pending(), "read without a place beside the requests");
        drop(places);
        loads.await.unwrap();
        fs::write(root.join(".lineside/hooks.yaml"), "hooks: [{name: h, on: on_idle, command: [\"true\"]}]")
            .unwrap();
    }
    // What is loaded is found at once.
    let work = root.join("src").display().to_string();
    let mut entering = std::pin::pin!(projects.enter(assembly.bus().session("s").cwd(work), None));
    assert!(futures_util::poll!(&mut entering).is_ready());
}

#[tokio::test(start_paused = true)]
async fn what_no_person_has_trusted_holds_up_no_load_of_what_one_has() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, projects) = projects(folder.path(), DETACHED);
    trust(&root, &assembly, &projects);
    let strange = root.with_file_name("strange");
    fs::create_dir_all(strange.join(".lineside")).unwrap();
    fs::create_dir(strange.join(".git")).unwrap();
    fs::write(strange.join(".lineside/hooks.yaml"), DETACHED).unwrap();
    let loaded = async |work: &Path| {
        let loads = tokio::time::timeout(Duration::from_secs(1), projects.load_at(work));
        loads.await.ok().map(|loaded| loaded.unwrap().unwrap().now().stands)
    };
    let long = projects.inner.of_strangers.all_places().await;
    assert_eq!((loaded(&strange).await, loaded(&root).await), (None, Some(Stands::Trusted)));
    drop(long);
    let _places = projects.inner.aside.all_places().await;
    assert_eq!(loaded(&strange).await, Some(Stands::Untrusted));
}

#[tokio::test(start_paused = true)]
async fn what_is_listed_of_untrusted_projects_has_a_bound_in_bytes_and_goes_soon() {
    let folder = tempfile::tempdir().unwrap();
    let hook = |number| {
        format!("- {{name: g{number}, on: before_tool, match: {{text: '\\w{{4}}'}}, command: [x]}}\n")
    };
    let hooks: String = (0..20).map(hook).collect();
    let (root, _, projects) = projects(folder.path(), &format!("hooks:\n{hooks}"));
    let room = || projects.inner.listed.available_permits();
    let project = projects.load_at(&root).await.unwrap().unwrap();
    let listed = |project: &Project| {
        let now = project.now();
        now.report.hooks.len() + now.report.inert.len()
    };
    assert!(listed(&project) > 0);
    let taken = MOST_LISTED - room();
    // Of those that are only listed less is compiled than of others.
    assert!((200_000..2_000_000).contains(&taken), "{taken}");
    projects.load().await.unwrap();
    assert_eq!(MOST_LISTED - room(), taken);
    // As if others had the rest.
    let rest =
        projects.inner.listed.clone().acquire_many_owned(u32::try_from(room()).unwrap()).await.unwrap();
    fs::write(root.join(".lineside/hooks.yaml"), format!("hooks:\n{hooks}{}", hook(20))).unwrap();
    projects.load().await.unwrap();
    assert_eq!(listed(&project), 0);
    assert!(project.findings().iter().any(|finding| finding.to_string().contains("are not listed")));
    drop(rest);
    projects.load().await.unwrap();
    assert!(listed(&project) > 0 && room() < MOST_LISTED);
    projects.forget_unused(Instant::now() + KEPT_UNTRUSTED, &[]).await;
    assert_eq!(room(), MOST_LISTED);
}

#[tokio::test]
async fn a_project_without_a_session_is_forgotten_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("project");
    fs::create_dir_all(root.join(".lineside")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    let hooks = "hooks: [{name: guard, on: before_tool, command: [\"true\"]}]\n";
    fs::write(root.join(".lineside/hooks.yaml"), hooks).unwrap();
    let places =
        Places { environment: BTreeMap::new(), project_root: None, cwd: "/".into(), trust: Trust::Withheld };
    let (assembly, state) = (Assembly::new(Bus::new()), folder.path().join("state"));
    let read = assembly.of_project(&root).read_project(&root, &places, None);
    Store::of(&state).trust(&read.content.unwrap(), read.guards, Reach::Project).unwrap();
    let settings = Settings::new(folder.path().join("socket"), state, places);
    let (claims, ending) = (Claims::default(), CancellationToken::new());
    let projects = Projects::new(&assembly, &settings, &claims, &TaskTracker::new(), &ending);
    let opening = assembly.bus().session("s").cwd(root.join("src").display().to_string());
    let session = projects.enter(opening, None).await.unwrap().open_now().unwrap();
    assert_eq!(session.hooks().len(), 1);
    let later = Instant::now() + KEPT + Duration::from_secs(1);
    projects.forget_unused(later, &[]).await;
    assert_eq!(projects.all().len(), 1, "it has a session");
    #[cfg(feature = "nats")]
    {
        let before = projects.all()[0].last_used();
        let digest = projects.all()[0].now().held.clone().unwrap().digest.clone().unwrap();
        let found = projects.find_trusted(&digest).await.unwrap();
        assert!(found.last_used() > before, "what stands in for something is about to be put into it");
    }
    let project = Arc::downgrade(&projects.all()[0]);
    session.close().await;
    projects.forget_unused(Instant::now(), &[]).await;
    assert_eq!(projects.all().len(), 1, "it had one a moment ago");
    projects.forget_unused(Instant::now() + KEPT + Duration::from_secs(1), &[]).await;
    assert!(projects.all().is_empty());
    // The task that has watched it ends as well.
    while project.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_end_of_a_project_that_was_forgotten_takes_nothing_from_the_one_that_is_loaded_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = "hooks: [{name: tidy, on: on_idle, automate: {}, command: [\"true\"]}]\n";
    let (root, assembly, projects) = projects(folder.path(), hooks);
    trust(&root, &assembly, &projects);
    let automations = lineside::automation::Automations::of(assembly.bus()).unwrap();
    let forgotten = projects.load_at(&root).await.unwrap().unwrap();
    projects.forget(&mut projects.known(), &forgotten);
    let project = projects.load_at(&root).await.unwrap().unwrap();
    forgotten.end(&projects.inner).await;
    let session = assembly.bus().session("s").scope(project.scope()).open().await.unwrap();
    let event = session.any_event(Arc::new(lineside::points::OnIdle::new()));
    let receipt = event.publish_any().await.unwrap();
    assert_eq!(
        automations.jobs().of_event(receipt.event.envelope().id).len(),
        1,
        "{}",
        receipt.to_json()["hooks"]
    );
}

/// A project beside the first one, of the same content.
#[cfg(feature = "nats")]
fn clone_of(root: &Path, name: &str) -> PathBuf {
    let clone = root.with_file_name(name);
    fs::create_dir_all(clone.join(".lineside")).unwrap();
    fs::create_dir(clone.join(".git")).unwrap();
    fs::copy(root.join(".lineside/hooks.yaml"), clone.join(".lineside/hooks.yaml")).unwrap();
    clone
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn what_is_in_a_project_stays_in_that_when_another_of_the_same_content_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, projects) = projects(folder.path(), DETACHED);
    let clone = clone_of(&root, "clone");
    [&root, &clone].iter().for_each(|root| trust(root, &assembly, &projects));
    let first = projects.load_at(&root).await.unwrap().unwrap();
    let session = assembly.bus().session("s").open().await.unwrap();
    assert!(session.enter(first.scope()));
    let second = projects.load_at(&clone).await.unwrap().unwrap();
    let digest = first.now().held.clone().unwrap().digest.clone().unwrap();
    assert!(second.has(&digest));
    assert_eq!(projects.trusted_for(&session, &digest).unwrap().root, root);
    let other = assembly.bus().session("t").open().await.unwrap();
    assert_eq!(projects.trusted_for(&other, &digest).unwrap().root, clone);
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn that_a_session_has_come_into_a_project_is_told_after_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, projects) = projects(folder.path(), DETACHED);
    fs::remove_file(root.join(".lineside/hooks.yaml")).unwrap();
    let opening = assembly.bus().session("s").cwd(root.display().to_string());
    let session = projects.enter(opening, None).await.unwrap().open_now().unwrap();
    assert!(session.scope().is_none(), "there are no hooks yet");
    fs::write(root.join(".lineside/hooks.yaml"), DETACHED).unwrap();
    trust(&root, &assembly, &projects);
    let (seen, mut news) = (Arc::new(Mutex::new(Vec::new())), projects.news());
    let hears = tokio::spawn({
        let (seen, session) = (Arc::clone(&seen), session.clone());
        async move {
            while news.changed().await.is_ok() {
                seen.lock().unwrap().push(session.scope().is_some());
            }
        }
    });
    projects.load().await.unwrap();
    let told = async {
        while seen.lock().unwrap().last() != Some(&true) {
            tokio::task::yield_now().await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(10), told).await;
    assert!(told.is_ok(), "{seen:?}");
    hears.abort();
}

/// A journal of a disk that is not asked.
struct Kept;

impl Journal for Kept {
    fn append(&self, _: Vec<Record>) -> BoxFuture<Result<AppendAck, Unavailable>> {
        Box::pin(std::future::pending())
    }

    fn checkpoint(&self, _: Vec<Record>, _: Sequence) -> BoxFuture<Result<(), Unavailable>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn durability(&self) -> Durability {
        Durability::Disk
    }
}

#[tokio::test]
async fn what_is_claimed_of_the_hooks_of_a_project_outlives_the_end_of_the_one_that_was_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, mut projects) = projects(folder.path(), DETACHED);
    let (automations, _) = Automations::open(assembly.bus(), Bounds::default(), Arc::new(Kept), []).unwrap();
    let inner = Arc::get_mut(&mut projects.inner).unwrap();
    inner.claims = Claims::new(Some(automations), &LoadReport::default());
    trust(&root, &assembly, &projects);
    let forgotten = projects.load_at(&root).await.unwrap().unwrap();
    let session = assembly.bus().session("s").scope(forgotten.scope()).open().await.unwrap();
    let event = session.any_event(Arc::new(lineside::points::OnIdle::new()));
    let receipt = event.publish_any().await.unwrap();
    let is_kept = || projects.inner.claims.unkept(&receipt)[0].accepted.job.is_some();
    assert!(is_kept(), "{}", receipt.to_json()["hooks"]);
    projects.forget(&mut projects.known(), &forgotten);
    assert!(!is_kept());
    projects.load_at(&root).await.unwrap().unwrap();
    assert!(is_kept());
    forgotten.end(&projects.inner).await;
    assert!(is_kept());
}

/// Set where a test has a process of its own.
#[cfg(target_os = "linux")]
const ALONE: &str = "LINESIDE_TEST_ALONE";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn however_many_projects_are_loaded_there_is_one_watcher() {
    if std::env::var_os(ALONE).is_none() {
        let own = std::thread::current().name().unwrap().to_owned();
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let alone = alone.args(["--exact", &own]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&alone.stdout);
        assert!(alone.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, _, projects) = projects(folder.path(), DETACHED);
    let root = folder.path().canonicalize().unwrap();
    for number in 0..50 {
        let project = root.join(format!("project-{number}"));
        fs::create_dir_all(project.join(".lineside")).unwrap();
        fs::create_dir(project.join(".git")).unwrap();
        fs::write(project.join(".lineside/hooks.yaml"), DETACHED).unwrap();
        projects.load_at(&project).await.unwrap().unwrap();
    }
    let entries = |folder: &str| fs::read_dir(folder).unwrap().flatten();
    let links = entries("/proc/self/fd").filter_map(|entry| fs::read_link(entry.path()).ok());
    assert_eq!(links.filter(|link| link.as_os_str() == "anon_inode:inotify").count(), 1);
    let names =
        entries("/proc/self/task").filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    assert_eq!(names.filter(|name| name.starts_with("notify-rs")).count(), 1);
}

#[tokio::test]
async fn a_project_that_was_forgotten_puts_nothing_in_force_again() {
    let folder = tempfile::tempdir().unwrap();
    let (root, assembly, projects) = projects(folder.path(), DETACHED);
    trust(&root, &assembly, &projects);
    let project = projects.load_at(&root).await.unwrap().unwrap();
    let session = assembly.bus().session("s").scope(project.scope()).open().await.unwrap();
    assert_eq!(session.hooks().len(), 1);
    projects.forget(&mut projects.known(), &project);
    project.end(&projects.inner).await;
    assert_eq!(session.hooks().len(), 0);
    fs::write(root.join(".lineside/hooks.yaml"), DETACHED.replace("tidy", "other")).unwrap();
    trust(&root, &assembly, &projects);
    project.load_changed(&projects.inner).await.unwrap();
    assert_eq!(session.hooks().len(), 0, "its files have changed");
    project.load(&projects.inner).await.unwrap();
    assert_eq!(session.hooks().len(), 0, "all are loaded anew");
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn all_sessions_of_a_project_share_what_other_machines_are_told_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let hook = |number| format!("  - {{name: h{number}, on: before_tool, command: [\"true\"]}}\n");
    let hooks: String = (0..100).map(hook).collect();
    let (root, assembly, projects) = projects(folder.path(), &format!("hooks:\n{hooks}"));
    trust(&root, &assembly, &projects);
    let mut sessions = Vec::new();
    for number in 0..100 {
        let opening = assembly.bus().session(number.to_string()).cwd(root.display().to_string());
        sessions.push(projects.enter(opening, None).await.unwrap().open_now().unwrap());
    }
    let told = || {
        let of = |session| projects.of_session(session)[0].now().held.clone().unwrap();
        let all: Vec<_> = sessions.iter().map(of).collect();
        assert!(all.iter().all(|one| Arc::ptr_eq(one, &all[0])), "one copy for all");
        Arc::clone(&all[0])
    };
    let first = told();
    assert_eq!(first.guards.as_ref().unwrap().len(), 100);
    projects.load().await.unwrap();
    assert!(Arc::ptr_eq(&first, &told()), "a load that finds the same");
    fs::write(root.join(".lineside/hooks.yaml"), format!("hooks:\n{}", hook(0))).unwrap();
    projects.load().await.unwrap();
    assert_eq!(
        (told().digest.as_ref(), told().guards == first.guards),
        (None, true),
        "not as it was trusted"
    );
    trust(&root, &assembly, &projects);
    projects.load().await.unwrap();
    assert_eq!(told().guards.as_ref().unwrap().len(), 1);
    let nowhere = assembly.bus().session("nowhere").open().await.unwrap();
    assert!(projects.of_session(&nowhere).is_empty());
}
