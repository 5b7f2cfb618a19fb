//! From folders to hooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::{Lane, Standby};
use lineside_core::json::Map;
use lineside_core::{Layer, OnFailure, Part, Severity, SkipReason};
use tempfile::TempDir;

use super::{Jcli, LAST};
use crate::consent::refuse_programs_of_projects;
use crate::dialect::{Dialect as _, Loaded, Places, Trust, Why};
use crate::ground::Ground;

/// A home and a project, and the places to look in.
struct Stage {
    root: TempDir,
    places: Places,
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().to_path_buf();
        for folder in ["home", "project"] {
            fs::create_dir(path.join(folder)).unwrap();
        }
        let home = path.join("home").to_str().unwrap().to_owned();
        let places = Places {
            environment: [("HOME".to_owned(), home)].into(),
            project_root: Some(path.join("project")),
            cwd: path.join("project"),
            trust: Trust::Granted,
        };
        Self { root, places }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A hook that runs at `stop`.
    fn hook(&self, folder: &str) -> &Self {
        self.file(&format!("{folder}/HOOK.yaml"), "events: [stop]\ncommand: x\n")
    }

    fn load(&self) -> Loaded {
        Jcli.load(&self.places)
    }

    fn names(&self) -> Vec<String> {
        self.load().hooks.iter().map(|hook| hook.hook.name.to_string()).collect()
    }
}

fn told(loaded: &Loaded, root: &Path) -> Vec<String> {
    let root = format!("{}/", root.display());
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.to_string().replace(&root, "")).collect()
}

#[test]
fn user_hooks_are_in_the_data_folder() {
    // JC-1
    let mut stage = Stage::new();
    stage.hook("home/.jdata/agent/hooks/at-home").hook("data/agent/hooks/elsewhere");
    let data = stage.path("data").to_str().unwrap().to_owned();
    for (variable, expected) in [("", "at-home"), ("data", "at-home"), (data.as_str(), "elsewhere")] {
        stage.places.environment.insert("J_DATA_PATH".to_owned(), variable.to_owned());
        assert_eq!(stage.names(), [expected], "{variable:?}");
    }
    stage.places.environment.clear();
    assert_eq!(stage.names(), [""; 0]);
    assert!(!stage.path("home/.jdata/agent/hooks/made").exists());
}

#[test]
fn project_hooks_are_searched_for_up_to_the_root_of_the_project() {
    // JC-2
    let mut stage = Stage::new();
    stage.hook(".jcli/hooks/above").hook("outside/.jcli/hooks/outside");
    assert_eq!(stage.names(), [""; 0]);
    stage.hook("project/.jcli/hooks/root").hook("project/a/.jcli/hooks/near");
    fs::create_dir_all(stage.path("project/a/b/c")).unwrap();
    for (cwd, expected) in [
        ("project", "root"),
        ("project/a", "near"),
        ("project/a/b/c", "near"),
        ("outside", "root"),
        ("project/a/..", "root"),
    ] {
        stage.places.cwd = stage.path(cwd);
        assert_eq!(stage.names(), [expected], "{cwd}");
    }
    // The first `.jcli` ends the search, whatever is in it.
    fs::create_dir(stage.path("project/a/b/.jcli")).unwrap();
    stage.places.cwd = stage.path("project/a/b/c");
    assert_eq!(stage.names(), [""; 0]);
    fs::write(stage.path("project/a/b/c/.jcli"), "").unwrap();
    assert_eq!(stage.names(), [""; 0], "a file is no folder");
    stage.places.project_root = None;
    stage.places.cwd = stage.path("project/a");
    assert_eq!(stage.names(), ["near"]);
}

#[cfg(unix)]
#[test]
fn a_hook_is_a_folder_with_a_file() {
    // JC-3, JC-11: W1; JC-10: E13
    use std::os::unix::fs::symlink;
    let stage = Stage::new();
    let hooks = "project/.jcli/hooks";
    stage.hook("project/vendor/linked").hook(&format!("{hooks}/example")).hook(&format!("{hooks}/deep/er"));
    stage.file(&format!("{hooks}/HOOK.yaml"), "x").file(&format!("{hooks}/none/HOOK.yaml.example"), "x");
    stage.file(&format!("{hooks}/short/HOOK.yml"), "events: [stop]\ncommand: x\n");
    stage.hook(&format!("{hooks}/both")).file(&format!("{hooks}/both/HOOK.yml"), "events: [");
    symlink(stage.path("project/vendor/linked"), stage.path(&format!("{hooks}/linked"))).unwrap();
    fs::create_dir(stage.path(&format!("{hooks}/gone"))).unwrap();
    symlink("nowhere", stage.path(&format!("{hooks}/gone/HOOK.yaml"))).unwrap();
    let loaded = stage.load();
    let (closed, open): (Vec<_>, Vec<_>) = loaded.hooks.iter().partition(|hook| hook.closed);
    let names: Vec<_> = open.iter().map(|hook| &*hook.hook.name).collect();
    assert_eq!(names, ["both", "linked", "short"]);
    // What may have been a guard is closed wherever a hook may stop something.
    assert!(closed.len() == 6 && closed.iter().all(|hook| &*hook.hook.name == "gone"));
    let told = told(&loaded, &stage.path(hooks));
    assert_eq!(told[0], "both/HOOK.yml:1: HOOK.yml is not read beside HOOK.yaml");
    assert!(told[1].starts_with("gone/HOOK.yaml:1: cannot be read: "), "{told:?}");
    assert_eq!(told.len(), 2);
    // The link is not resolved.
    let origin = open[1].hook.origin.as_ref().unwrap();
    assert_eq!(*origin.file, stage.path(&format!("{hooks}/linked/HOOK.yaml")));
}

#[test]
fn hooks_are_in_the_order_of_their_levels_and_names() {
    // JC-4, JC-16
    let stage = Stage::new();
    for name in ["zeta", "alpha", "Beta"] {
        stage.hook(&format!("home/.jdata/agent/hooks/{name}"));
    }
    stage.hook("project/.jcli/hooks/alpha").hook("project/.jcli/hooks/10").hook("project/.jcli/hooks/9");
    let loaded = stage.load();
    let hooks: Vec<_> = loaded.hooks.iter().map(|hook| (hook.hook.layer, &*hook.hook.name)).collect();
    let (user, project) = (Layer::User, Layer::Project);
    let expected = [
        (user, "Beta"),
        (user, "alpha"),
        (user, "zeta"),
        (project, "10"),
        (project, "9"),
        (project, "alpha"),
    ];
    assert_eq!(hooks, expected);
    assert!(loaded.hooks.iter().all(|hook| hook.hook.priority == LAST));
    let chains = loaded.hooks.iter().map(|hook| hook.hook.ensemble.as_ref().unwrap());
    assert!(chains.clone().all(|chain| chains.clone().all(|other| Arc::ptr_eq(chain, other))));
}

#[test]
fn a_project_is_trusted_or_its_hooks_never_run() {
    // JC-5
    let mut stage = Stage::new();
    stage.hook("home/.jdata/agent/hooks/mine").hook("project/.jcli/hooks/theirs");
    stage.places.trust = Trust::Withheld;
    let standby: Vec<_> = stage.load().hooks.into_iter().map(|hook| hook.hook.standby).collect();
    assert_eq!(standby, [Standby::Ready, Standby::Off(SkipReason::Untrusted)]);
}

#[test]
fn a_load_reads_the_files_as_they_are() {
    // JC-6
    let stage = Stage::new();
    stage.hook("project/.jcli/hooks/a");
    assert_eq!(stage.load().hooks[0].trigger, "stop");
    stage.file("project/.jcli/hooks/a/HOOK.yaml", "events: [session_end]\ncommand: x\n");
    assert_eq!(stage.load().hooks[0].trigger, "session_end");
}

#[test]
fn a_hook_that_cannot_be_read_costs_no_other() {
    // JC-10
    let stage = Stage::new();
    let hooks = "project/.jcli/hooks";
    stage.hook(&format!("{hooks}/good"));
    stage.file(&format!("{hooks}/bad/HOOK.yaml"), "type: bash\nevents: [stop]\ncommand: a: b: c\n");
    stage.file(&format!("{hooks}/unbound/HOOK.yaml"), "command: x\nevents: [Stop]\n");
    let loaded = stage.load();
    assert_eq!(loaded.hooks.iter().map(|hook| &*hook.hook.name).collect::<Vec<_>>(), ["good"]);
    let told = told(&loaded, &stage.path(hooks));
    assert!(told[0].starts_with("bad/HOOK.yaml:3: Invalid YAML: "), "{told:?}");
    assert_eq!(told[1], "unbound/HOOK.yaml:2: Unknown event 'Stop'. Did you mean 'stop'?");
    assert!(loaded.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Error));
    let inert: Vec<_> = loaded.inert.iter().map(|inert| (inert.name.as_str(), inert.why)).collect();
    assert_eq!(inert, [("bad", Why::Error), ("unbound", Why::Error)]);
}

#[test]
fn a_hook_is_registered_once_for_each_point_of_its_events() {
    // JC-9, JC-13 to JC-15, JC-20, JC-21
    let stage = Stage::new();
    stage.file(
        "project/.jcli/hooks/h/HOOK.yaml",
        "events: [pre_auto_compact, post_send_message, pre_micro_compact, post_tool_execution]\ncommand: x\n\
         on_error: stop\nretry: 2\ntimeout: 4\n",
    );
    let hooks = stage.load().hooks;
    let shown: Vec<_> = hooks
        .iter()
        .map(|hook| (hook.trigger.as_str(), hook.points[0].name, hook.hook.part, hook.hook.on_failure))
        .collect();
    assert_eq!(
        shown,
        [
            ("pre_auto_compact, pre_micro_compact", "before_compact", Part::Amender, OnFailure::Block),
            ("post_send_message", "on_prompt", Part::PostDecision, OnFailure::Continue),
            ("post_tool_execution", "after_tool", Part::Amender, OnFailure::Continue),
        ]
    );
    for hook in &hooks {
        assert_eq!((hook.retry.again, hook.retry.delay), (2, Duration::ZERO));
        assert_eq!(hook.hook.lane, Lane::Shared);
        // Three attempts, and the end of each.
        assert!(hook.hook.timeout >= Duration::from_secs(15), "{:?}", hook.hook.timeout);
    }
}

#[test]
fn an_llm_hook_without_a_judge_is_loaded_with_a_warning() {
    // JC-11: W6; JC-41, JC-42
    let mut stage = Stage::new();
    stage.file("project/.jcli/hooks/h/HOOK.yaml", "events: [stop]\ntype: llm\nprompt: fine?\n");
    let loaded = stage.load();
    assert_eq!(loaded.hooks.len(), 1);
    assert_eq!(
        told(&loaded, &stage.path("project/.jcli/hooks")),
        ["h/HOOK.yaml:2: llm hook 'h' is unavailable: no judge endpoint is configured"]
    );
    for (name, value) in [("LINESIDE_JUDGE_URL", "http://j"), ("LINESIDE_JUDGE_MODEL", "m")] {
        stage.places.environment.insert(name.to_owned(), value.to_owned());
    }
    assert!(stage.load().diagnostics.is_empty());
}

#[test]
fn a_hook_that_never_fires_is_known() {
    // JC-11, JC-12
    let stage = Stage::new();
    let text = "events: [stop, pre_tool_execution]\ncommand: x\nfilter: {tool_name: Bash}\n";
    stage.file("project/.jcli/hooks/h/HOOK.yaml", text);
    let hooks = stage.load().hooks;
    assert_eq!(hooks.iter().map(|hook| hook.can_fire).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn each_event_stands_for_its_point() {
    // JC-13
    let point = |name: &str| Jcli.point(name, &Map::new()).map(|point| point.name);
    assert_eq!(Jcli.names().len(), 14);
    for (name, expected) in [
        ("pre_send_message", "before_prompt"),
        ("post_send_message", "on_prompt"),
        ("pre_llm_request", "before_model"),
        ("post_llm_response", "after_model"),
        ("pre_tool_execution", "before_tool"),
        ("post_tool_execution", "after_tool"),
        ("post_tool_execution_failure", "after_tool_error"),
        ("stop", "before_stop"),
        ("pre_micro_compact", "before_compact"),
        ("post_auto_compact", "after_compact"),
        ("session_start", "before_session"),
        ("session_end", "after_session"),
    ] {
        assert_eq!(point(name), Some(expected));
    }
    assert_eq!(point("Stop"), None);
}

#[test]
fn a_hook_that_stands_closed_for_its_relative_program_keeps_its_place() {
    // JC-16, JC-23
    let stage = Stage::new();
    let guard = "events: [pre_tool_execution]\non_error: stop\ncommand: ./guard.sh\n";
    for (name, text) in
        [("b", guard), ("a", &guard.replace("./guard.sh", "x")), ("c", &guard.replace("./", ""))]
    {
        stage.file(&format!("home/.jdata/agent/hooks/{name}/HOOK.yaml"), text);
    }
    let mut loaded = stage.load();
    refuse_programs_of_projects(&Ground::of(&stage.places), &mut loaded);
    let rows = loaded.hooks.iter().map(|found| (&*found.hook.name, found.hook.priority, found.closed));
    assert_eq!(rows.collect::<Vec<_>>(), [("a", LAST, false), ("b", LAST, true), ("c", LAST, false)]);
}
