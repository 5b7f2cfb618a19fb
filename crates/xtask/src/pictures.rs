//! `cargo xtask pictures`: the pages of the dashboard in a browser, beside the pictures of them that the repository has.
//!
//! A private daemon has agents that have done the same each time; Chromium shows its pages with one, fifty and two thousand
//! of them, light and dark and on a telephone. What differs from its picture by more than times and the agents that are at
//! work just then do, and what axe finds to keep people out, fails. How soon the pages are there is said as figures, which fail nothing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::bench::figures::{self, Figure};
use crate::programme::{FOR_A_BUILD, must};
use crate::tools::{NODE, Program, need_programs, npm_locked};
use crate::workspace::Workspace;

const CHROMIUM: Program = Program { name: "chromium", package: "chromium" };

/// What looks, and the pictures.
const HOME: &str = "crates/lineside-dashboard/pictures";

/// What part of a picture's pixels may be others. Times make up to 1 %, and which of two thousand agents are at work when it is
/// taken up to 7 %.
const TOLERANCE: f64 = 0.1;

/// How wide and high the windows are.
const WINDOW: (u32, u32) = (1280, 800);
const TELEPHONE: (u32, u32) = (390, 844);

/// A page: the name of its picture, where it is, how large, and whether it is dark.
type Page = (&'static str, &'static str, (u32, u32), bool);

/// So many agents beside three whose questions wait, which do so many things a second and in all, and what is looked at of them.
const SCENES: [(u32, u32, u32, &[Page]); 3] = [
    (1, 40, 40, &[("fleet-1", "", WINDOW, false)]),
    (
        47,
        200,
        600,
        &[
            ("fleet-50", "", WINDOW, false),
            ("fleet-50-dark", "", WINDOW, true),
            ("fleet-50-telephone", "", TELEPHONE, false),
            ("lineage-50", "lineage", WINDOW, false),
            ("hooks-50", "hooks", WINDOW, false),
            ("decisions-50", "decisions?q=verdict:block", WINDOW, false),
            ("timeline-50", "sessions/atlas-0000", WINDOW, true),
            ("approvals", "approvals", WINDOW, false),
            ("lab", "lab", WINDOW, true),
            ("flow", "lab/flow", WINDOW, false),
        ],
    ),
    (
        2_000,
        2_000,
        6_000,
        &[
            ("fleet-2000", "", WINDOW, true),
            ("fleet-2000-light", "", WINDOW, false),
            ("lineage-2000", "lineage", WINDOW, true),
        ],
    ),
];

/// What a figure is to be at most, in milliseconds or a second.
const FIGURES: [(&str, f64, &str); 4] = [
    ("dashboard/fleet_first_paint", 500.0, "ms"),
    ("dashboard/lineage_first_paint", 1_000.0, "ms"),
    ("dashboard/input_delay_p95", 100.0, "ms"),
    ("dashboard/updates_a_second", 10.0, "per second"),
];

/// Looks; with `--renew` what is seen becomes the pictures of the repository.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<ExitCode> {
    let renews = match arguments {
        [] => false,
        ["--renew"] => true,
        other => bail!("`pictures` does not take `{}`; `cargo xtask` shows what it takes", other.join(" ")),
    };
    need_programs(&[NODE, CHROMIUM])?;
    let home = workspace.root.join(HOME);
    let folder = npm_locked(workspace, "pictures", &home)?;
    fs::copy(home.join("look.mjs"), folder.join("look.mjs")).context("cannot copy look.mjs")?;
    let taken = workspace.target.join("pictures");
    fs::create_dir_all(&taken).with_context(|| format!("cannot make {}", workspace.shown(&taken)))?;
    let mut build = workspace.cargo(["build", "--release", "--workspace", "--example", "fleet"]);
    must(&mut build, FOR_A_BUILD)?;
    let seen = look(workspace, &folder, &home, &taken)?;
    let (measured, pictures): (Vec<_>, Vec<_>) = seen.iter().partition(|one| one["figure"].is_string());
    let pictures = pictures.into_iter().map(judged).collect::<Result<Vec<_>>>()?;
    let wrong: Vec<String> = pictures.into_iter().flatten().collect();
    figures::print(&measured.into_iter().map(figure).collect::<Result<Vec<_>>>()?);
    let names: Vec<&str> = seen.iter().filter_map(|one| one["picture"].as_str()).collect();
    let expected = SCENES.iter().map(|(.., pages)| pages.len()).sum::<usize>();
    ensure!(names.len() == expected, "{} of {expected} pictures were taken", names.len());
    if renews {
        for name in names {
            let file = format!("{name}.png");
            fs::copy(taken.join(&file), home.join(&file)).with_context(|| format!("cannot renew {file}"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    println!("what was seen is in {}", workspace.shown(&taken));
    println!("{} passed, {} failed", expected - wrong.len().min(expected), wrong.len());
    wrong.iter().for_each(|why| println!("    {why}"));
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was seen, an object for each picture and each figure.
fn look(workspace: &Workspace, folder: &Path, golden: &Path, taken: &Path) -> Result<Vec<Value>> {
    let page = |&(name, path, (width, height), dark): &Page| json!({"name": name, "path": path, "width": width, "height": height, "dark": dark});
    let scenes: Vec<Value> = SCENES
        .iter()
        .map(|(agents, rate, events, pages)| {
            let pages: Vec<Value> = pages.iter().map(page).collect();
            json!({"agents": agents, "rate": rate, "events": events, "pages": pages})
        })
        .collect();
    let order = json!({
        "browser": "/usr/bin/chromium",
        "program": workspace.target.join("release/examples/fleet"),
        "golden": golden,
        "taken": taken,
        "scenes": scenes,
    });
    let mut node = Command::new("node");
    node.arg("look.mjs").current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().context("cannot start node")?;
    if let Some(mut input) = node.stdin.take() {
        input.write_all(order.to_string().as_bytes()).context("node does not read")?;
    }
    let output = node.wait_with_output().context("node does not end")?;
    ensure!(output.status.success(), "the browser was not looked at: {}", output.status);
    let text = String::from_utf8(output.stdout).context("node does not write UTF-8")?;
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("`{line}` is no JSON")))
        .collect()
}

/// What was measured, beside what it is to be.
fn figure(seen: &Value) -> Result<Figure> {
    let name = seen["figure"].as_str().context("a figure without a name")?;
    let row = FIGURES.iter().find(|(known, ..)| *known == name);
    let (_, most, unit) = row.with_context(|| format!("`{name}` is no figure"))?;
    let value = seen["value"].as_f64().with_context(|| format!("{name} has no value"))?;
    Ok(Figure {
        name: name.to_owned(),
        value: format!("{value:.1}"),
        unit: (*unit).to_owned(),
        target: format!("<={most}"),
    })
}

/// Says what was seen; gives what is wrong with it.
fn judged(seen: &Value) -> Result<Option<String>> {
    let name = seen["picture"].as_str().context("neither a picture nor a figure")?;
    let axe: Vec<&str> = seen["axe"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let why = match seen["differs"].as_f64() {
        None => Some("there is no picture of it; `cargo xtask pictures --renew` makes one".to_owned()),
        Some(part) if part > TOLERANCE => Some(format!("{:.1} % of it differ", part * 100.0)),
        Some(_) => None,
    };
    let why: Vec<String> =
        why.into_iter().chain(axe.into_iter().map(|found| format!("axe: {found}"))).collect();
    let differs = seen["differs"].as_f64().map_or("new".to_owned(), |part| format!("{:.2} %", part * 100.0));
    println!("{name}: {differs}{}", why.iter().map(|why| format!("; {why}")).collect::<String>());
    Ok((!why.is_empty()).then(|| format!("{name}: {}", why.join("; "))))
}
