//! Tests of what is loaded and forgotten.

use std::collections::BTreeMap;
use std::fs;

use lineside::Bus;
use lineside::trust::Reach;

use super::*;

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
    projects.forget_unused(later).await;
    assert_eq!(projects.all().len(), 1, "it has a session");
    let project = Arc::downgrade(&projects.all()[0]);
    session.close().await;
    projects.forget_unused(Instant::now()).await;
    assert_eq!(projects.all().len(), 1, "it had one a moment ago");
    projects.forget_unused(Instant::now() + KEPT + Duration::from_secs(1)).await;
    assert!(projects.all().is_empty());
    // The task that has watched it ends as well.
    while project.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
}
