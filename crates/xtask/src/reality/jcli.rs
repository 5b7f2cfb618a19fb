//! The hooks of jcli's own guide, through jcli's library and through lineside.
//!
//! The crate comes from crates.io; its guide has whole hooks, each file under the path that it belongs at. Each hook is put
//! there alone, and both programs play the same events.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::scene::Scene;
use super::table::{Outcome, Row};
use crate::programme::{FOR_A_BUILD, must};
use crate::workspace::Workspace;

/// The events, each in the words of both programs.
const EVENTS: &str = include_str!("jcli/events.jsonl");
/// What plays them through jcli's library.
const ORIGINAL: &str = include_str!("jcli/original.rs");
pub(super) const CRATE: (&str, &str) = ("j-cli", "12.10.44");
/// The folder of the user's hooks, as the guide writes it.
const PLACE: &str = "~/.jdata/agent/hooks/";
const WITHOUT_A_MODEL: &str = "it asks a model, and neither has one here: both report a failure and go on";

/// The files of each hook.
type Hooks = BTreeMap<String, BTreeMap<String, String>>;

/// Builds the original, and plays each hook of the guide through both.
pub(super) fn rows(workspace: &Workspace, folder: &Path) -> Result<Vec<Row>> {
    let (original, guide) = built(workspace, &folder.join("jcli/original"))?;
    let lineside = workspace.target.join("debug/lineside");
    let hooks = hooks_of(&fs::read_to_string(guide)?);
    ensure!(!hooks.is_empty(), "the guide of {} has no hook", CRATE.0);
    let rows = hooks.iter().map(|(name, files)| {
        let shown = format!("`{}` {}: `{name}` of its guide", CRATE.0, CRATE.1);
        println!("{shown}");
        let played = played(&folder.join("jcli/scenes").join(name), files, name, &original, &lineside);
        let mut row = Row::of(shown, played);
        let asks_a_model = files.values().any(|text| text.lines().any(|line| line == "type: llm"));
        if row.outcome == Outcome::Same && asks_a_model {
            row.outcome = Outcome::Explained(WITHOUT_A_MODEL.to_owned());
        }
        row
    });
    Ok(rows.collect())
}

/// The program that plays events through the original, and the original's guide.
fn built(workspace: &Workspace, folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let (name, version) = CRATE;
    let manifest = format!(
        "[package]\nname = \"original\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[profile.dev]\n\
         debug = 0\nincremental = false\n\n[dependencies]\n{name} = \"={version}\"\nserde_json = \"1\"\n"
    );
    fs::create_dir_all(folder.join("src"))?;
    for (file, text) in [("Cargo.toml", manifest.as_str()), ("src/main.rs", ORIGINAL)] {
        let file = folder.join(file);
        // A file that is as it was is left alone, so that nothing is built anew.
        if fs::read_to_string(&file).is_ok_and(|there| there == text) {
            continue;
        }
        fs::write(file, text)?;
    }
    let mut build = workspace.cargo(["build", "--jobs", "1"]);
    must(build.current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target")), FOR_A_BUILD)?;
    let mut metadata = workspace.cargo(["metadata", "--format-version", "1"]);
    let described = metadata.current_dir(folder).stderr(Stdio::null()).output()?;
    let described: Value = serde_json::from_slice(&described.stdout).context("cargo describes no package")?;
    let package =
        described["packages"].as_array().into_iter().flatten().find(|package| package["name"] == name);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let source =
        manifest.and_then(|manifest| Path::new(manifest).parent()).context("the crate has no source")?;
    Ok((folder.join("target/debug/original"), source.join("assets/help/hook.md")))
}

/// The blocks of the guide whose first comment is a path below the folder of hooks; of two for one file the later one.
fn hooks_of(guide: &str) -> Hooks {
    let mut hooks = Hooks::new();
    let mut block: Option<String> = None;
    for line in guide.lines() {
        match (line.starts_with("```"), block.take()) {
            (true, None) => block = Some(String::new()),
            (true, Some(text)) => {
                let comments = text.lines().filter_map(|line| line.strip_prefix("# "));
                let path = comments.filter_map(|comment| comment.strip_prefix(PLACE)).next();
                if let Some((hook, file)) = path.and_then(|path| path.split_once('/')) {
                    hooks.entry(hook.to_owned()).or_default().insert(file.to_owned(), text.clone());
                }
            }
            (false, Some(text)) => block = Some(text + line + "\n"),
            (false, None) => {}
        }
    }
    hooks
}

/// How many events the hook has in both, how many met it, and where both differ.
fn played(
    folder: &Path,
    files: &BTreeMap<String, String>,
    name: &str,
    original: &Path,
    lineside: &Path,
) -> Result<([usize; 3], Vec<String>)> {
    let place = Path::new(".jdata/agent/hooks").join(name);
    let scene = Scene::lay_out(folder, &place, EVENTS)?;
    let hooks = folder.join("home").join(place);
    for (file, text) in files {
        fs::write(hooks.join(file), text)?;
        fs::set_permissions(hooks.join(file), fs::Permissions::from_mode(0o755))?;
    }
    let mut play = Command::new(original);
    play.arg("../events.jsonl").env("J_DATA_PATH", folder.join("home/.jdata"));
    let there = scene.answers("jcli", &mut play)?;
    let here = scene.lineside(lineside, "jcli")?;
    let mut differences = Vec::new();
    let (mut met_there, mut met_here) = (0, 0);
    for ((there, here), line) in there.iter().zip(&here).zip(&scene.lines) {
        let (there, here) = (of_original(there, &line["lineside"]["payload"]), of_ours(here));
        met_there += usize::from(there["ran"] == true);
        met_here += usize::from(here["ran"] == true);
        if there != here {
            let event = &line["jcli"]["event"];
            differences
                .push(format!("{}: {there} in jcli, {here} in lineside", event.as_str().unwrap_or_default()));
        }
    }
    Ok(([met_there, met_here, met_there], differences))
}

/// What one event came to: whether the hook ran and failed, whether the event is refused, and what its text is now.
fn of_original(answer: &Value, given: &Value) -> Value {
    let has = |list: &str| answer[list].as_array().is_some_and(|hooks| !hooks.is_empty());
    let result = &answer["result"];
    let text = match result["user_input"].as_str() {
        Some(text) => json!(without_the_time(text)),
        None => given["prompt"].clone(),
    };
    json!({ "ran": has("ran"), "failed": has("failed"),
        "refused": result["skip"] == true || result["stop"] == true, "prompt": text })
}

fn of_ours(receipt: &Value) -> Value {
    let ran = |hook: &&Value| hook.get("skipped").is_none();
    let hooks: Vec<&Value> = receipt["hooks"].as_array().into_iter().flatten().filter(ran).collect();
    let text = match receipt["payload"]["prompt"].as_str() {
        Some(text) => json!(without_the_time(text)),
        None => Value::Null,
    };
    json!({ "ran": !hooks.is_empty(), "failed": hooks.iter().any(|hook| hook.get("failed").is_some()),
        "refused": receipt["verdict"] != "continue", "prompt": text })
}

/// A hook of the guide puts the time of day before the text.
fn without_the_time(text: &str) -> String {
    match text.split_once("] ") {
        Some((time, rest)) if time.len() == 6 && time.starts_with('[') => format!("[time] {rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_of_a_guide_are_the_blocks_with_a_path() {
        let guide = "```yaml\n# ~/.jdata/agent/hooks/a/HOOK.yaml\nevents: [stop]\n```\n\n```yaml\nevents: [x]\n```\n\
                     ```bash\n#!/bin/bash\n# ~/.jdata/agent/hooks/a/run.sh\ncat\n```\n";
        let hooks = hooks_of(guide);
        let files: Vec<&str> = hooks["a"].keys().map(String::as_str).collect();
        assert_eq!(files, ["HOOK.yaml", "run.sh"]);
        assert!(hooks["a"]["run.sh"].starts_with("#!/bin/bash\n"));
        assert_eq!(hooks.len(), 1);
    }

    #[test]
    fn a_time_of_day_before_a_text_is_no_difference() {
        assert_eq!(without_the_time("[12:34] hello"), "[time] hello");
        assert_eq!(without_the_time("[a longer word] hello"), "[a longer word] hello");
    }
}
