//! The `load` steps of the open case file: the hooks that are loaded, their order, and what is reported of the others.
//!
//! What happens when hooks run is judged by the conformance runner; so a hook that a script of a case makes on the way
//! is not here, and a case whose scripts run before its `load` step is passed over.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use lineside_core::Severity;
use lineside_core::json::Value;
use lineside_dialects::agenthooks::AgentHooks;
use lineside_dialects::{Dialect as _, Loaded, Places, Trust, yaml_value};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/agenthooks.cases.yaml");

fn text(value: &Value, case: &str) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(long) => long["$text"].as_array().unwrap().iter().map(part).collect(),
        other => panic!("{other} is no text"),
    };
    text.replace("$CASE", case)
}

fn part(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        repeated => {
            let times = usize::try_from(repeated["times"].as_u64().unwrap()).unwrap();
            repeated["of"].as_str().unwrap().repeat(times)
        }
    }
}

fn lay_out(root: &Path, files: &Value) {
    let case = root.to_str().unwrap();
    for folder in ["project", "home"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    for (path, file) in files.as_object().into_iter().flatten() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(target) = file.get("symlink") {
            symlink(text(target, case), &path).unwrap();
            continue;
        }
        let content = file.get("text").unwrap_or(file);
        fs::write(&path, text(content, case)).unwrap();
        let mode = file.get("mode").map_or("644", |mode| mode.as_str().unwrap());
        let mode = u32::from_str_radix(mode, 8).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn places(root: &Path, case: &Value) -> Places {
    let root_text = root.to_str().unwrap();
    let mut environment: BTreeMap<String, String> = [
        ("HOME", format!("{root_text}/home")),
        ("XDG_CONFIG_HOME", format!("{root_text}/home/.config")),
        ("PATH", std::env::var("PATH").unwrap_or_default()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    for (name, value) in case["env"].as_object().into_iter().flatten() {
        environment.insert(name.clone(), text(value, root_text));
    }
    Places {
        environment,
        project_root: Some(root.join("project")),
        cwd: root.join("project"),
        trust: if case["trust"] == "ask" { Trust::Withheld } else { Trust::Granted },
    }
}

/// What differs from the expectation.
fn judge(loaded: &Loaded, expected: &Value, case: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let names: Vec<_> = loaded.hooks.iter().map(|hook| hook.hook.name.to_string()).collect();
    if let Some(hooks) = expected["hooks"].as_array() {
        let hooks: Vec<_> = hooks.iter().map(|hook| text(hook, case)).collect();
        if names != hooks {
            wrong.push(format!("hooks {names:?} instead of {hooks:?}"));
        }
    }
    let told: Vec<_> = loaded.diagnostics.iter().map(|one| (one.severity, one.to_string())).collect();
    if let Some(diagnostics) = expected["diagnostics"].as_array() {
        if diagnostics.is_empty() && !told.is_empty() {
            wrong.push(format!("diagnostics {told:?} instead of none"));
        }
        for diagnostic in diagnostics {
            let severity = match diagnostic["severity"].as_str() {
                Some("error") => Severity::Error,
                _ => Severity::Warning,
            };
            let contains = text(&diagnostic["contains"], case);
            if !told.iter().any(|(one, text)| *one == severity && text.contains(&contains)) {
                wrong.push(format!("no {severity:?} {contains:?} in {told:?}"));
            }
        }
    }
    wrong
}

#[test]
fn every_load_step_of_the_open_cases_holds() {
    let suite: Value = yaml_value(&fs::read_to_string(CASES).unwrap()).unwrap();
    let (mut steps, mut wrong) = (0, Vec::new());
    for case in suite["cases"].as_array().unwrap() {
        let root = tempfile::tempdir().unwrap();
        lay_out(root.path(), &case["files"]);
        let places = places(root.path(), case);
        for step in case["steps"].as_array().unwrap() {
            if step.get("load").is_none() {
                // From here on scripts may have changed the files.
                break;
            }
            steps += 1;
            let loaded = AgentHooks.load(&places);
            for problem in judge(&loaded, &step["expect"], root.path().to_str().unwrap()) {
                wrong.push(format!("{}: {problem}", case["id"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(steps >= 60, "only {steps} load steps were found");
}
