//! One plugin in a home and a project of its own, played through the original and through lineside.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Ground;
use super::artifacts::Artifact;

/// The events, each in the words of both programmes.
const EVENTS: &str = include_str!("events.jsonl");
/// What plays them through OpenClaw.
const ORIGINAL: &str = include_str!("original.mjs");

/// Where one plugin is played.
pub(super) struct Scene {
    folder: PathBuf,
    /// Whether the machine has OpenClaw and its Node, for lineside.
    has_openclaw: bool,
}

/// What lineside has printed.
pub(super) struct Ours {
    /// A receipt for each event.
    pub(super) receipts: Vec<Value>,
    /// What it said beside them.
    pub(super) said: Vec<String>,
}

impl Scene {
    /// A home for each programme: the original is given the path of the plugin, lineside finds it where OpenClaw's
    /// installer puts it, or is given the path of what OpenClaw ships.
    pub(super) fn lay_out(ground: &Ground, artifact: &Artifact, plugin: &Path) -> Result<Self> {
        let name = artifact.package.trim_start_matches('@').replace('/', "-");
        let folder = ground.folder.join(&name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let scene = Self { folder, has_openclaw: artifact.needs_openclaw };
        for place in [
            "project",
            "original/.openclaw",
            "lineside/.openclaw/npm/projects",
            "lineside/.openclaw/extensions",
        ] {
            fs::create_dir_all(scene.folder.join(place))?;
        }
        let shipped = artifact.package.starts_with("openclaw/");
        let project = plugin.ancestors().find(|above| above.ends_with("node_modules")).and_then(Path::parent);
        if !artifact.inside.is_empty() {
            symlink(plugin, scene.folder.join("lineside/.openclaw/extensions").join(artifact.id))?;
        } else if let Some(project) = project.filter(|_| !shipped) {
            symlink(project, scene.folder.join("lineside/.openclaw/npm/projects").join(name))?;
        }
        for (home, is_given) in [("original", true), ("lineside", shipped)] {
            let file = scene.folder.join(home).join(".openclaw/openclaw.json");
            fs::write(file, configuration(artifact, is_given.then_some(plugin))?.to_string())?;
        }
        // On a busy machine the whole SDK takes its time.
        let patient = "{ loadTimeoutMs: 120000 }";
        fs::write(scene.folder.join("lineside/.openclaw/lineside.json"), patient)?;
        if scene.has_openclaw {
            for place in ["everybody/bin", "everybody/lib/node_modules"] {
                fs::create_dir_all(scene.folder.join(place))?;
            }
            symlink(&ground.node, scene.folder.join("everybody/bin/node"))?;
            symlink(&ground.openclaw, scene.folder.join("everybody/lib/node_modules/openclaw"))?;
        }
        fs::write(scene.folder.join("original.mjs"), ORIGINAL)?;
        fs::write(scene.folder.join("events.jsonl"), EVENTS)?;
        let lines: Vec<Value> = EVENTS.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let ours: Vec<String> = lines.iter().map(|line| line["lineside"].to_string()).collect();
        fs::write(scene.folder.join("lineside.jsonl"), ours.join("\n") + "\n")?;
        Ok(scene)
    }

    /// What the original makes of the events.
    pub(super) fn original(&self, ground: &Ground) -> Result<Value> {
        // Its answer goes through a file of its own: plugins print.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec timeout 300 \"$0\" \"$@\" 3> ../original.json"]).arg(&ground.node);
        command
            .arg(self.folder.join("original.mjs"))
            .arg(&ground.openclaw)
            .arg(self.folder.join("events.jsonl"));
        let said = self.run(&mut command, "original")?;
        let answer = fs::read_to_string(self.folder.join("original.json"))?;
        serde_json::from_str(&answer)
            .with_context(|| format!("OpenClaw gave no answer: {}", said.join(" | ")))
    }

    /// What lineside makes of them.
    pub(super) fn lineside(&self, ground: &Ground) -> Result<Ours> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec timeout 300 \"$0\" \"$@\" > ../lineside.out"]).arg(&ground.lineside);
        command.args(["run", "--project", ".", "--dialect", "openclaw", "--ordered", "--receipts"]);
        command.arg(self.folder.join("lineside.jsonl"));
        command.env("XDG_CACHE_HOME", ground.folder.join("cache"));
        if self.has_openclaw {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut folders = vec![self.folder.join("everybody/bin")];
            folders.extend(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders)?);
        }
        let said = self.run(&mut command, "lineside")?;
        let out = fs::read_to_string(self.folder.join("lineside.out"))?;
        let receipts = out.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        ensure!(
            receipts.len() == EVENTS.lines().count(),
            "lineside decided {} events of {}: {}",
            receipts.len(),
            EVENTS.lines().count(),
            said.join(" | ")
        );
        Ok(Ours { receipts, said })
    }

    /// Runs a programme in the project with this home; gives what it said on standard error.
    fn run(&self, command: &mut Command, home: &str) -> Result<Vec<String>> {
        let home = self.folder.join(home);
        command.current_dir(self.folder.join("project")).env("HOME", &home).env("OPENCLAW_HOME", &home);
        // A file and no pipe: what a plugin starts may have it open for longer than the programme lives.
        let said = home.with_extension("said");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?);
        command.status().context("it did not start")?;
        Ok(String::from_utf8_lossy(&fs::read(&said)?).lines().map(str::to_owned).collect())
    }
}

/// What OpenClaw's configuration says of the plugin: it alone is allowed.
fn configuration(artifact: &Artifact, path: Option<&Path>) -> Result<Value> {
    let config: Value = serde_json::from_str(artifact.config)?;
    let entry = json!({ "enabled": true, "hooks": { "allowConversationAccess": true }, "config": config });
    let mut slots = json!({ "memory": "none" });
    if let Some(slot) = artifact.slot {
        slots[slot] = artifact.id.into();
    }
    let paths: Vec<&Path> = path.into_iter().collect();
    Ok(json!({ "plugins": {
        "allow": [artifact.id],
        "slots": slots,
        "load": { "paths": paths },
        "entries": { artifact.id: entry },
    } }))
}
