//! The stage: the demo project, unpacked into a temporary folder of its own and taken away at the end.
//!
//! Its files are in the program, so that an installed one plays as well as one in its repository. Nothing of the person
//! who runs it is on the stage: neither their home nor their hooks.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lineside::dialects::{Places, Trust};
use tempfile::TempDir;

/// One file of the demo project: its path there and its text.
macro_rules! of_project {
    ($($path:literal),* $(,)?) => {
        [$( ($path, include_str!(concat!("../../embedded/hooks/", $path))) ),*]
    };
}

const FILES: [(&str, &str); 15] = of_project![
    ".agents/hooks/block-dangerous-commands/HOOK.md",
    ".agents/hooks/block-dangerous-commands/scripts/run.sh",
    ".agents/hooks/format-check/HOOK.md",
    ".agents/hooks/format-check/scripts/run.sh",
    ".agents/hooks/note-edits/HOOK.md",
    ".agents/hooks/note-edits/scripts/run.sh",
    ".agents/hooks/subagent-brief/HOOK.md",
    ".agents/hooks/subagent-brief/scripts/run.sh",
    ".agents/hooks/withhold-secrets/HOOK.md",
    ".agents/hooks/withhold-secrets/scripts/run.sh",
    ".chord/config.yaml",
    ".flyto/settings.json",
    ".jcli/hooks/name-the-crate/HOOK.yaml",
    ".openclaw/plugins/fmt-all/openclaw.plugin.json",
    ".openclaw/plugins/fmt-all/index.mjs",
];

/// The unpacked project. Dropping it removes it.
pub(super) struct Stage {
    folder: TempDir,
}

impl Stage {
    /// Unpacks the project.
    ///
    /// # Errors
    /// The folder for temporary files cannot be written to.
    pub(super) fn set() -> Result<Self> {
        // No other user may look into it.
        let private = Permissions::from_mode(0o700);
        let mut builder = tempfile::Builder::new();
        let stage = Self { folder: builder.prefix("lineside-demo-").permissions(private).tempdir()? };
        for (path, text) in FILES {
            let path = stage.project().join(path);
            write(&path, text).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(stage)
    }

    /// The root of the project.
    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Where `note-edits` writes.
    fn edit_log(&self) -> PathBuf {
        self.folder.path().join("edits.log")
    }

    /// What `note-edits` has written so far.
    pub(super) fn edits(&self) -> Vec<String> {
        fs::read_to_string(self.edit_log()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Where hooks are looked for: only here. The project is the program's own, and therefore trusted.
    pub(super) fn places(&self) -> Places {
        Places {
            environment: self.environment(),
            project_root: Some(self.project()),
            cwd: self.project(),
            trust: Trust::Granted,
        }
    }

    /// The environment of the hooks: where programs are, and the stage.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), text(self.folder.path().join("home"))),
            ("EDIT_LOG".to_owned(), text(self.edit_log())),
        ])
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = if path.extension().is_some_and(|extension| extension == "sh") { 0o700 } else { 0o600 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_can_be_run_and_nothing_is_left() {
        let stage = Stage::set().unwrap();
        let root = stage.folder.path().to_owned();
        let script = stage.project().join(".agents/hooks/format-check/scripts/run.sh");
        assert_eq!(fs::metadata(script).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        drop(stage);
        assert!(!root.exists());
    }

    #[test]
    fn every_file_of_the_example_is_on_the_stage() {
        fn below(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    below(&path, root, found);
                } else {
                    found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hooks");
        let mut files = Vec::new();
        below(&root, &root, &mut files);
        files.retain(|file| file != "README.md");
        files.sort_unstable();
        let mut staged: Vec<_> = FILES.iter().map(|(path, _)| *path).collect();
        staged.sort_unstable();
        assert_eq!(staged, files);
    }
}
