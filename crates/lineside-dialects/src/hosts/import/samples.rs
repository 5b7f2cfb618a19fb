//! Files of hosts, for the tests of this folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use lineside_core::Layer;
use tempfile::TempDir;

use crate::dialect::{Loaded, Places, Trust};
use crate::find;
use crate::handler::Handler;

/// A home and a project in a folder of their own.
pub(super) struct Room {
    folder: TempDir,
    environment: BTreeMap<String, String>,
}

impl Room {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let home = folder.path().join("home").to_string_lossy().into_owned();
        Self { folder, environment: BTreeMap::from([("HOME".to_owned(), home)]) }
    }

    pub(super) fn with(mut self, variables: &[(&str, &str)]) -> Self {
        self.environment
            .extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// What a load of a format finds.
    pub(super) fn loaded(&self, dialect: &str) -> Loaded {
        let places = Places {
            environment: self.environment.clone(),
            project_root: Some(self.project()),
            cwd: self.project(),
            trust: Trust::Granted,
        };
        find(dialect).unwrap().load(&places)
    }

    /// The handlers of a format, in plan order, each with its layer.
    pub(super) fn handlers(&self, dialect: &str) -> Vec<(Layer, Arc<dyn Handler>)> {
        let loaded = self.loaded(dialect);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.hooks.into_iter().map(|hook| (hook.hook.layer, hook.handler)).collect()
    }

    pub(super) fn handler(&self, dialect: &str) -> Arc<dyn Handler> {
        self.handlers(dialect).remove(0).1
    }
}
