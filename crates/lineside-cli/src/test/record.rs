//! `lineside test --record`: logged decisions as a case file, which passes.
//!
//! A case has the hooks of its project as they are now, one event, and what was decided about it. It is run before it is kept:
//! a decision that comes out differently now would be a case that fails from the first day. Where those of the project do not
//! decide it, it also has the user's own file of hooks.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use lineside::core::hook::NATIVE;
use lineside::json::{Map, Value, json};
use lineside::log::Kept;
use lineside::points;

use super::case_run::{self, Keeping};
use super::crew::Crew;
use super::layout::{HOME, PROJECT};
use super::outcome::{Outcome, Status};
use super::{Planned, yaml_text};
use crate::daemon_paths::DaemonPaths;
use crate::log::StoreArgs;
use crate::page::subject::subject;
use crate::painter::one_line;
use crate::places::environment;
use crate::progress::Progress;
use crate::project::{at, of_user};
use crate::replay::recording::{Recording, Source};
use crate::style::{count, tell};

/// How many cases a file gets at most.
const MOST: usize = 200;

/// Writes what a query finds into a case file.
///
/// # Errors
/// The file is there already or cannot be written, or the log cannot be read.
pub(super) async fn record(query: &str, file: &Path, store: &StoreArgs) -> Result<ExitCode> {
    if file.exists() {
        bail!("{} is there already", file.display());
    }
    let mut left_out = BTreeMap::new();
    let mut cases = Vec::new();
    let (mut known, mut files) = (HashSet::new(), BTreeMap::new());
    let folder = std::path::absolute(file)?.parent().context("the file has no folder")?.to_path_buf();
    for recording in Source::of_log(&[query.to_owned()], store)? {
        let recording = recording?;
        let mut leave = |why: &'static str| *left_out.entry(why).or_insert(0_usize) += 1;
        let about =
            (recording.text("point").to_owned(), recording.fields.get("payload").map(Value::to_string));
        match () {
            () if recording.kept == Kept::Cut => leave("too long to be kept whole"),
            () if !known.insert(about) => leave("the same as another"),
            () if cases.len() == MOST => leave("more than a file gets"),
            () => {
                let root = PathBuf::from(recording.text("project_root"));
                let of_project = files.entry(root).or_insert_with_key(|root| hooks(root, &folder));
                match of_project {
                    Ok(files) => cases.push(case(&recording, files)),
                    Err(_) => leave("of a project whose hooks are not there or not trusted"),
                }
            }
        }
    }
    if known.is_empty() && left_out.is_empty() {
        tell(&format!("nothing that `{}` asks for is in the log", one_line(query)));
    }
    let of_project = passing(&cases, file).await?;
    let own = of_user_file(&folder);
    if let Some((copy, path)) = &own {
        for case in cases.iter_mut().filter(|case| !is_among(case, &of_project)) {
            if let Some(Value::Object(files)) = case.get_mut("files") {
                files.insert(format!("{HOME}/{OWN}"), copy.clone());
            }
        }
        let others: Vec<Map> = cases.iter().filter(|case| !is_among(case, &of_project)).cloned().collect();
        let passing = passing(&others, file).await?;
        if !passing.is_empty() {
            tell(&format!("{} with the hooks of {path}, which is copied", count(passing.len(), "case")));
        }
        let all = cases.len();
        cases.retain(|case| is_among(case, &of_project) || is_among(case, &passing));
        leave_differing(&mut left_out, all - cases.len());
    } else {
        let all = cases.len();
        cases.retain(|case| is_among(case, &of_project));
        leave_differing(&mut left_out, all - cases.len());
    }
    if !cases.is_empty() {
        std::fs::write(file, yaml_text::document(&suite(&cases)))
            .with_context(|| format!("failed to write {}", file.display()))?;
        tell(&format!("{} written to {}", count(cases.len(), "case"), one_line(&file.display().to_string())));
    }
    for (why, number) in left_out {
        tell(&format!("{} left out: {why}", count(number, "decision")));
    }
    if cases.is_empty() {
        tell("no case was written");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn leave_differing(left_out: &mut BTreeMap<&'static str, usize>, differing: usize) {
    if differing > 0 {
        let why =
            "decided differently by the hooks.yaml of the user and the hooks of the project, as they are now";
        left_out.insert(why, differing);
    }
}

fn is_among(case: &Map, ids: &HashSet<String>) -> bool {
    case.get("id").and_then(Value::as_str).is_some_and(|id| ids.contains(id))
}

/// Where the user's own hooks lie, below a home.
const OWN: &str = ".config/lineside/hooks.yaml";

/// The user's own file of hooks as an entry of a case, and as a person knows it.
fn of_user_file(folder: &Path) -> Option<(Value, String)> {
    let environment = environment();
    let home = PathBuf::from(environment.get("HOME")?);
    let config = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let path = config.map_or_else(|| home.join(OWN), |config| config.join("lineside/hooks.yaml"));
    let from = path.strip_prefix(folder).unwrap_or(&path);
    let shown = one_line(&path.display().to_string());
    path.is_file().then(|| (json!({"copy": from.display().to_string()}), shown))
}

fn suite(cases: &[Map]) -> Value {
    json!({"dialect": NATIVE, "cases": cases})
}

/// The files of the hooks of a project, as they lie there, named from the folder of the case file.
fn hooks(root: &Path, folder: &Path) -> Result<Map> {
    let found = at(root, &of_user(environment()), &DaemonPaths::usual()?);
    // A case is run, and an event in the log names whatever project its agent worked in.
    if found.read.has_hooks() && !found.is_trusted() {
        bail!("{} is not trusted", root.display());
    }
    let content = found.read.content.as_ref().map_err(|error| anyhow!("{error}"))?;
    let mut files = Map::new();
    for item in content.items() {
        let from = root.join(&item.path);
        let from = from.strip_prefix(folder).map_or(from.clone(), Path::to_path_buf);
        files.insert(format!("{PROJECT}/{}", item.path), json!({"copy": from.display().to_string()}));
    }
    Ok(files)
}

/// A decision as a case.
fn case(recording: &Recording, files: &Map) -> Map {
    let mut event = Map::new();
    for field in ["point", "session", "agent", "host", "payload"] {
        if let Some(value) = recording.fields.get(field) {
            event.insert(field.to_owned(), value.clone());
        }
    }
    let payload = recording.fields.get("payload").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut expect = Map::new();
    expect.insert("verdict".to_owned(), json!(recording.verdict));
    if let Some(reason) = &recording.reason {
        expect.insert("reason".to_owned(), json!(reason));
    }
    if let Some(left) = recording.left.as_ref().filter(|left| **left != payload) {
        let changed = left.iter().filter(|(field, value)| payload.get(field) != Some(*value));
        expect.insert(
            "payload".to_owned(),
            Value::Object(changed.map(|(field, value)| (field.clone(), value.clone())).collect()),
        );
    }
    let id: String = recording.id.as_deref().unwrap_or_default().chars().rev().take(12).collect();
    let id: String = id.chars().rev().collect();
    let known = points::find(recording.text("point")).ok();
    let known = known.and_then(|point| (point.decode)(point, payload).ok());
    let about = known.map(|payload| subject(&*payload)).unwrap_or_default();
    let title = format!("{} {}: {}", recording.text("point"), about, recording.verdict);
    let case = json!({
        "id": format!("recorded.{id}"), "title": one_line(&title), "files": files,
        "steps": [{"publish": event, "expect": expect}],
    });
    case.as_object().cloned().unwrap_or_default()
}

/// The ids of those that come out as they say.
async fn passing(cases: &[Map], file: &Path) -> Result<HashSet<String>> {
    if cases.is_empty() {
        return Ok(HashSet::new());
    }
    // In the folder of the file, from which the hooks are named.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let tried = tempfile::Builder::new().prefix(".recorded-").suffix(".cases.yaml").tempfile_in(folder);
    let tried = tried.with_context(|| format!("failed to write into {}", folder.display()))?;
    std::fs::write(tried.path(), yaml_text::document(&suite(cases)))?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut crew = Crew::new(jobs, Keeping::Nothing, Arc::new(case_run::inherited(environment())));
    let outcome =
        Planned::read(tried.path().to_path_buf()).run(&mut crew, &mut Progress::on_stderr(false)).await;
    match outcome.outcome {
        Outcome::Ran(cases) => Ok(cases
            .into_iter()
            .filter(|case| matches!(case.status, Status::Passed))
            .map(|case| case.id)
            .collect()),
        Outcome::Broken(errors) => Err(anyhow!("{}", errors.join("; "))),
        Outcome::Skipped { why, .. } => Err(anyhow!("{why}")),
    }
}
