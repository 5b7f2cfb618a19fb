//! Files that are of the user and of the project at once: in the home of the user both have the same places. They are the
//! user's, and their hooks are there once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lineside_core::{Layer, Origin};

use crate::dialect::Loaded;

/// Takes away what was found in files of the project that are read as files of the user as well.
pub fn only_once(loaded: &mut Loaded) {
    let of_hooks = loaded.hooks.iter().map(|found| (found.hook.layer, &found.hook.origin));
    let found = of_hooks.chain(loaded.inert.iter().map(|inert| (inert.layer, &inert.origin)));
    let (mut of_project, mut others) = (HashSet::new(), HashSet::new());
    for (layer, origin) in found {
        if let Some(origin) = origin {
            if layer == Layer::Project { &mut of_project } else { &mut others }.insert(&origin.file);
        }
    }
    if of_project.is_empty() || others.is_empty() {
        return;
    }
    let real = |file: &Path| file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let others: HashSet<PathBuf> = others.into_iter().map(|file| real(file)).collect();
    let twice: HashMap<Arc<PathBuf>, bool> =
        of_project.into_iter().map(|file| (Arc::clone(file), others.contains(&real(file)))).collect();
    let is_twice = |layer, origin: &Option<Origin>| {
        layer == Layer::Project
            && origin.as_ref().is_some_and(|origin| twice.get(&origin.file).is_some_and(|twice| *twice))
    };
    loaded.hooks.retain(|found| !is_twice(found.hook.layer, &found.hook.origin));
    loaded.inert.retain(|inert| !is_twice(inert.layer, &inert.origin));
    let mut told = HashSet::new();
    loaded.diagnostics.retain(|finding| {
        // Its place may be part of the name of a hook.
        let text = finding.text.split_once('.').map_or(finding.text.as_str(), |(_, text)| text);
        let of_file = finding.origin.as_ref().filter(|origin| others.contains(&real(&origin.file)));
        of_file.is_none_or(|origin| told.insert((origin.line, text.to_owned())))
    });
}

#[cfg(all(test, feature = "claude", feature = "flyto"))]
mod tests {
    use crate::dialect::{Loaded, Places, Trust};

    fn loaded(dialect: &str, file: &str, text: &str, trust: Trust) -> (Loaded, Loaded) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let places = Places {
            environment: [("HOME".to_owned(), home.path().to_string_lossy().into_owned())].into(),
            project_root: Some(home.path().to_owned()),
            cwd: home.path().to_owned(),
            trust,
        };
        let load = || crate::find(dialect).unwrap().load(&places);
        let mut once = load();
        super::only_once(&mut once);
        (load(), once)
    }

    #[test]
    fn in_the_home_of_the_user_each_hook_of_a_file_is_there_once_and_the_users() {
        let text = r#"{"hooks": {"pre_tool_use": [{"command": "true"}]}}"#;
        let (twice, once) = loaded("flyto", ".flyto/settings.json", text, Trust::Granted);
        assert_eq!((twice.hooks.len(), once.hooks.len()), (2, 1), "{:?}", once.diagnostics);
        assert_eq!(once.hooks[0].hook.layer, lineside_core::Layer::User);
    }

    #[test]
    fn a_file_of_a_host_in_the_home_of_the_user_is_read_once_and_its_hooks_stand_for_no_others() {
        let hook = r#"{"type": "command", "command": "true"}"#;
        let text =
            format!(r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{hook}, {{"type": "command"}}]}}]}}}}"#);
        for trust in [Trust::Granted, Trust::Withheld] {
            let (_, once) = loaded("claude", ".claude/settings.json", &text, trust);
            assert_eq!((once.hooks.len(), once.diagnostics.len()), (1, 1), "{:?}", once.diagnostics);
            assert_eq!(once.hooks[0].hook.layer, lineside_core::Layer::User);
        }
    }
}
