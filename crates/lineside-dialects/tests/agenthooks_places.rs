//! Where hook folders are looked for, which of two counts, and what a loaded hook is to the bus.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lineside_core::hook::Standby;
use lineside_core::{Answer, AnyEvent, Failure, Hook, Layer, OnFailure, Part, SkipReason};
use lineside_dialects::agenthooks::AgentHooks;
use lineside_dialects::{
    Call, Dialect as _, ForeignHook, Ground, Handler, Loaded, LogTarget, Places, Returned, Start, Trust,
    refuse_programs_of_projects,
};

struct Case(tempfile::TempDir);

impl Case {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn hook(&self, folder: &str, frontmatter: &str) {
        let folder = self.root().join(folder);
        fs::create_dir_all(folder.join("scripts")).unwrap();
        let text = format!("---\ndescription: d\ntrigger: before_tool\n{frontmatter}\n---\n");
        fs::write(folder.join("HOOK.md"), text).unwrap();
        fs::write(folder.join("scripts/run.sh"), "#!/bin/sh\n").unwrap();
    }

    fn places(&self, variables: &[(&str, &str)], trust: Trust) -> Places {
        let home = self.root().join("home");
        let mut environment = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let project_root = Some(self.root().join("project"));
        Places { environment, project_root, cwd: self.root().to_path_buf(), trust }
    }

    fn load_with(&self, variables: &[(&str, &str)], trust: Trust) -> Loaded {
        AgentHooks.load(&self.places(variables, trust))
    }

    fn load(&self) -> Loaded {
        self.load_with(&[], Trust::Granted)
    }
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.hooks.iter().map(|hook| &*hook.hook.name).collect()
}

const USER: &str = "home/.config/agents/hooks";
const PROJECT: &str = "project/.agents/hooks";

#[test]
fn a_relative_or_empty_xdg_directory_counts_as_unset() {
    // AH-1
    let case = Case::new();
    case.hook(&format!("{USER}/u"), "name: u");
    case.hook("xdg/agents/hooks/x", "name: x");
    for unset in ["", "xdg", "./xdg"] {
        let loaded = case.load_with(&[("XDG_CONFIG_HOME", unset)], Trust::Granted);
        assert_eq!(names(&loaded), ["u"], "{unset}");
    }
    let xdg = case.root().join("xdg").display().to_string();
    assert_eq!(names(&case.load_with(&[("XDG_CONFIG_HOME", &xdg)], Trust::Granted)), ["x"]);
    assert_eq!(names(&case.load_with(&[("HOME", "")], Trust::Granted)), [""; 0]);
}

#[test]
fn a_trusted_project_hook_replaces_and_another_does_not() {
    // AH-4, AH-5, W15
    let case = Case::new();
    case.hook(&format!("{USER}/guard"), "name: guard");
    case.hook(&format!("{PROJECT}/guard"), "name: guard\nasync: true");
    let loaded = case.load();
    assert_eq!(names(&loaded), ["guard"]);
    assert_eq!((loaded.hooks[0].hook.layer, loaded.hooks[0].hook.part), (Layer::Project, Part::Detached));
    let path = case.root().join(PROJECT).join("guard/HOOK.md");
    assert!(loaded.diagnostics.iter().any(|one| one.to_string()
        == format!("{}:4: Project hook 'guard' overrides user-level hook", path.display())));
    let loaded = case.load_with(&[], Trust::Withheld);
    assert_eq!(names(&loaded), ["guard", "guard"]);
    let standby: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.standby.clone()).collect();
    assert_eq!(standby, [Standby::Ready, Standby::Off(SkipReason::Untrusted)]);
    assert!(!loaded.diagnostics.iter().any(|one| one.text.contains("overrides")));
}

#[test]
fn of_a_project_alone_its_own_hooks_are_loaded_as_among_all() {
    let case = Case::new();
    case.hook(&format!("{USER}/guard"), "name: guard");
    case.hook(&format!("{USER}/broken"), "name: [");
    let of_project = || {
        let loaded = AgentHooks.load_of_project(&case.places(&[], Trust::Granted));
        let told: Vec<_> = loaded.diagnostics.iter().map(|one| one.text.clone()).collect();
        (names(&loaded).into_iter().map(str::to_owned).collect::<Vec<_>>(), told)
    };
    fs::create_dir_all(case.root().join("project")).unwrap();
    assert_eq!(of_project(), (vec![], vec![]));
    case.hook(&format!("{PROJECT}/repo/one"), "name: one");
    let deeper = "'repo' holds 1 hook folders one level deeper, they are not loaded".to_owned();
    assert_eq!(of_project(), (vec![], vec![deeper.clone()]));
    case.hook(&format!("{PROJECT}/own"), "name: guard");
    let (hooks, told) = of_project();
    assert_eq!(hooks, ["guard"]);
    let replaced = "Project hook 'guard' overrides user-level hook";
    assert!(told.contains(&deeper) && told.iter().any(|one| one == replaced), "{told:?}");
}

#[test]
fn very_many_folders_are_loaded_in_their_order_with_what_is_told_of_each() {
    // AH-3
    const MANY: usize = 300;
    let case = Case::new();
    for number in 0..MANY {
        case.hook(&format!("{USER}/{number:03}"), &format!("name: hook-{number:03}\nx{number:03}: y"));
    }
    let loaded = case.load();
    let text = |number| format!("Unexpected field in frontmatter: 'x{number:03}'");
    let unexpected = loaded.diagnostics.iter().filter(|one| one.text.starts_with("Unexpected"));
    let unexpected: Vec<_> = unexpected.map(|one| one.text.clone()).collect();
    assert_eq!(unexpected, (0..MANY).map(text).collect::<Vec<_>>());
    (0..MANY).for_each(|number| {
        let file = case.root().join(format!("{USER}/{number:03}/HOOK.md"));
        fs::write(file, format!("---\ndescription: d\ntrigger: before_tool\nname: hook-{number:03}\n---\n"))
            .unwrap();
    });
    let names: Vec<_> = (0..MANY).map(|number| format!("hook-{number:03}")).collect();
    assert_eq!(self::names(&case.load()), names);
}

/// A hook whose program lies in its own folder.
struct OfItsOwn;

impl Handler for OfItsOwn {
    fn prepare(&self, _: &AnyEvent) -> Result<Call, Failure> {
        unreachable!()
    }

    fn read(&self, _: &AnyEvent, _: &Returned) -> Result<Answer, Failure> {
        unreachable!()
    }

    fn starts_its_own(&self) -> bool {
        true
    }

    fn start(&self, _: &Path) -> Option<Start> {
        panic!("it is looked up")
    }
}

#[test]
fn what_lies_in_the_folder_of_a_hook_is_not_looked_for_in_projects() {
    let case = Case::new();
    let hook = Hook::foreign("agenthooks", "own", Part::Amender);
    let own = ForeignHook::new(hook, "before_tool", Vec::new(), std::sync::Arc::new(OfItsOwn));
    let mut loaded = Loaded { hooks: vec![own], ..Loaded::default() };
    refuse_programs_of_projects(&Ground::of(&case.places(&[], Trust::Granted)), &mut loaded);
    assert_eq!((names(&loaded), loaded.diagnostics.len()), (vec!["own"], 0));
    case.hook(&format!("{USER}/own"), "name: own");
    assert!(case.load().hooks.iter().all(|found| found.handler.starts_its_own()));
}

#[test]
fn within_a_level_the_later_folder_wins() {
    // AH-3, AH-4, W16
    let case = Case::new();
    case.hook(&format!("{PROJECT}/b"), "name: dup");
    case.hook(&format!("{PROJECT}/B"), "name: dup");
    let loaded = case.load();
    let origin = loaded.hooks[0].hook.origin.clone().unwrap();
    assert!(origin.file.ends_with("b/HOOK.md"), "{origin}");
    assert!(loaded.diagnostics.iter().any(|one| one.text == "Hook 'dup' in 'b' overrides the one in 'B'"));
}

#[test]
fn what_lies_beside_hooks_is_told() {
    // AH-2, W17, W20
    let case = Case::new();
    case.hook(&format!("{PROJECT}/repo/one"), "name: one");
    case.hook(&format!("{PROJECT}/repo/two"), "name: two");
    case.hook(&format!("{PROJECT}/low"), "name: low");
    let low = case.root().join(PROJECT).join("low");
    fs::rename(low.join("HOOK.md"), low.join("Hook.md")).unwrap();
    let loaded = case.load();
    assert!(loaded.hooks.is_empty());
    let told: Vec<_> = loaded.diagnostics.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        told,
        [
            "'Hook.md' is not read, rename it to HOOK.md",
            "'repo' holds 2 hook folders one level deeper, they are not loaded",
        ]
    );
}

#[test]
fn a_hook_is_registered_as_it_is_declared() {
    // AH-17, AH-28, AH-66
    let case = Case::new();
    case.hook(
        &format!("{USER}/h"),
        "name: h\npriority: 7\ntimeout: 5000\non_failure: block\nmatcher: {tool: Shell}",
    );
    let loaded = case.load();
    let foreign = &loaded.hooks[0];
    let hook = &foreign.hook;
    assert_eq!((hook.dialect, hook.layer, hook.priority), ("agenthooks", Layer::User, 7));
    assert_eq!((hook.part, hook.on_failure), (Part::Amender, OnFailure::Block));
    assert_eq!(hook.timeout, Duration::from_millis(6500));
    assert_eq!(hook.origin.as_ref().unwrap().line, 4);
    assert_eq!(hook.select.as_ref().unwrap().describe(), "tool=/Shell/");
    assert_eq!((foreign.trigger.as_str(), foreign.points[0].name), ("before_tool", "before_tool"));
    assert_eq!(foreign.points.len(), 1);
    let point = |name| AgentHooks.point(name, &lineside_core::json::Map::new()).map(|point| point.name);
    assert_eq!(point("pre-tool-call"), Some("before_tool"));
    assert_eq!(point("pre_compact"), Some("before_compact"));
    assert_eq!(point("on_idle"), None);
}

#[test]
fn the_log_goes_where_the_variable_says() {
    // AH-68
    let case = Case::new();
    let log = |value: &str| case.load_with(&[("LINESIDE_AGENTHOOKS_DEBUG", value)], Trust::Granted).log;
    assert_eq!(log(""), None);
    assert_eq!(log("1"), Some(LogTarget::Stderr));
    assert_eq!(log("a.log"), Some(LogTarget::File(case.root().join("project/a.log"))));
    assert_eq!(log("/tmp/a.log"), Some(LogTarget::File("/tmp/a.log".into())));
}
