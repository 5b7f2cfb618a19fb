//! The plugins of Claude Code whose hooks are imported: those that their user has named (CL-13).
//!
//! They stand in a file of the user, one folder a line. What is in a folder is for the format to read.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lineside_files::{Boundary, OpenFileError, ReplaceFileError, read_if_there, replace};

use crate::dialect::{CONFIGURATION as LONGEST, Places};

/// The file with the hooks of a plugin, below its folder.
const HOOKS: &str = "hooks/hooks.json";

/// Why a plugin was not named, or is still named.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamePluginError {
    /// The home of the user is not known.
    #[error("HOME is not set to an absolute path, so it is not known where plugins are named")]
    NoHome,
    /// The folder has no file with hooks, or its path is none that a line can have.
    #[error("{} is no folder of a plugin with hooks: it has no {HOOKS}", .0.display())]
    NoHooks(PathBuf),
    /// The list of plugins cannot be read.
    #[error("failed to read {}", .file.display())]
    List {
        /// The list.
        file: PathBuf,
        /// Why.
        source: OpenFileError,
    },
    /// The list of plugins cannot be written.
    #[error("failed to write {}", .file.display())]
    Write {
        /// The list.
        file: PathBuf,
        /// Why.
        source: ReplaceFileError,
    },
}

/// The file in which plugins are named.
pub(super) fn list(places: &Places) -> Option<PathBuf> {
    Some(places.configuration()?.join("lineside/claude-plugins"))
}

/// The plugins that are named: the name of each, and its folder. A second one of the same name gets `#2`.
pub(super) fn named(places: &Places) -> Vec<(String, PathBuf)> {
    let text = list(places).and_then(|list| read_if_there(&list, Boundary::Own, LONGEST)?.ok());
    let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
    let folders = text.lines().map(Path::new).filter(|folder| folder.is_absolute());
    let mut of_name: HashMap<String, u32> = HashMap::new();
    let named = folders.filter_map(|folder| {
        let name = name(folder)?;
        let count = of_name.entry(name.clone()).or_default();
        *count += 1;
        let name = if *count > 1 { format!("{name}#{count}") } else { name };
        Some((name, folder.to_owned()))
    });
    named.collect()
}

/// The file with the hooks of a plugin.
pub(super) fn hooks(folder: &Path) -> PathBuf {
    folder.join(HOOKS)
}

/// The folder of the plugin that a file of hooks is of.
pub(super) fn folder(hooks: &Path) -> Option<&Path> {
    hooks.ancestors().nth(2)
}

fn name(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_str()?.to_owned())
}

/// Has the hooks of the plugin in this folder imported, or no longer. Gives whether that is news.
///
/// # Errors
/// The folder has no hooks, or the list of plugins cannot be read or written.
pub fn name_plugin(places: &Places, folder: &Path, is_imported: bool) -> Result<bool, NamePluginError> {
    let file = list(places).ok_or(NamePluginError::NoHome)?;
    let line = folder.to_str().filter(|line| folder.is_absolute() && !line.contains('\n'));
    let has_hooks = !is_imported || hooks(folder).is_file();
    let line = line.filter(|_| has_hooks).ok_or_else(|| NamePluginError::NoHooks(folder.to_owned()))?;
    let before = read_if_there(&file, Boundary::Own, LONGEST).transpose();
    let before = before.map_err(|source| NamePluginError::List { file: file.clone(), source })?;
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default()).into_owned();
    if text.lines().any(|known| known == line) == is_imported {
        return Ok(false);
    }
    let others = text.lines().filter(|known| *known != line);
    let lines: Vec<&str> = others.chain(is_imported.then_some(line)).collect();
    let after: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let written = match file.parent().map(fs::create_dir_all) {
        Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => replace(&file, before.as_deref(), after.as_bytes()),
    };
    written.map(|()| true).map_err(|source| NamePluginError::Write { file, source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lineside_core::hook::Standby;

    use super::*;
    use crate::dialect::{Dialect as _, Trust};
    use crate::hosts::CLAUDE;

    #[test]
    fn cl_13_the_hooks_of_a_plugin_run_when_it_is_named_and_as_long_as_it_is() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let environment = BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]);
        let places =
            Places { environment, project_root: None, cwd: home.join("project"), trust: Trust::Withheld };
        let plugin = home.join("plugins/fmt");
        let error = name_plugin(&places, &plugin, true).unwrap_err();
        assert!(error.to_string().ends_with("it has no hooks/hooks.json"), "{error}");
        fs::create_dir_all(plugin.join("hooks")).unwrap();
        let handlers = r#"{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PLUGIN_DATA}"]},
            {"type": "command", "command": "\"$CLAUDE_PLUGIN_ROOT\"/run"}"#;
        let text = format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{handlers}]}}]}}}}"#);
        fs::write(hooks(&plugin), &text).unwrap();
        assert!(CLAUDE.load(&places).hooks.is_empty(), "it is not named");
        assert!(name_plugin(&places, &plugin, true).unwrap());
        assert!(!name_plugin(&places, &plugin, true).unwrap(), "twice is once");
        let names = || -> Vec<String> {
            CLAUDE.load(&places).hooks.iter().map(|hook| hook.hook.name.to_string()).collect()
        };
        assert_eq!(names(), ["plugin:fmt.PreToolUse.1", "plugin:fmt.PreToolUse.2"]);
        assert!(CLAUDE.watched(&places).iter().any(|watched| watched.path == list(&places).unwrap()));
        let start = CLAUDE.load(&places).hooks[0].handler.start(&home);
        let start = format!("{start:?}");
        let (root, data) = (plugin.display().to_string(), home.join(".claude/plugins/data/fmt"));
        assert!(start.contains(&format!("{root}/run")) && start.contains(data.to_str().unwrap()), "{start}");
        assert!(start.contains("CLAUDE_PLUGIN_ROOT"), "{start}");
        // Another plugin of this name.
        let other = home.join("others/fmt");
        fs::create_dir_all(other.join("hooks")).unwrap();
        fs::write(hooks(&other), text.replace("CLAUDE_PLUGIN_DATA", "OTHER")).unwrap();
        assert!(name_plugin(&places, &other, true).unwrap());
        assert_eq!(names()[2..], ["plugin:fmt#2.PreToolUse.1", "plugin:fmt#2.PreToolUse.2"]);
        assert!(name_plugin(&places, &other, false).unwrap());
        // CL-15: what switches the hooks of the user off does so with those of plugins.
        fs::create_dir_all(home.join(".claude")).unwrap();
        fs::write(home.join(".claude/settings.json"), r#"{"disableAllHooks": true}"#).unwrap();
        let hooks = CLAUDE.load(&places).hooks;
        assert!(hooks.iter().all(|hook| matches!(hook.hook.standby, Standby::Off(_))) && hooks.len() == 2);
        assert!(name_plugin(&places, &plugin, false).unwrap());
        assert!(!name_plugin(&places, &plugin, false).unwrap());
        assert!(names().is_empty());
    }
}
