//! The directory of a case: what lies in it before the first step.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use lineside::json::{Map, Value};
use tempfile::TempDir;

use super::fields::Fields;
use crate::folder_copy::copy;

/// The home directory of a case.
pub(super) const HOME: &str = "home";

/// The root of the project of a case.
pub(super) const PROJECT: &str = "project";

/// Something that lies in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    File {
        text: String,
        mode: u32,
    },
    Link {
        target: String,
    },
    /// What lies beside the case file, with everything in it.
    Copy {
        from: PathBuf,
    },
}

/// The mode of a file that names none.
const MODE: u32 = 0o644;

/// The entries of `files`; what they copy is named from the folder of the case file.
///
/// # Errors
/// A path outside the directory, a value that is no entry, or a copy of what is not there.
pub(super) fn entries(value: &Value, folder: &Path) -> Result<Vec<(String, Entry)>> {
    let Value::Object(map) = value else { bail!("`files` must be an object") };
    map.iter().map(|(path, value)| Ok((inside(path)?.to_owned(), entry(path, value, folder)?))).collect()
}

fn entry(path: &str, value: &Value, folder: &Path) -> Result<Entry> {
    if let Value::String(text) = value {
        return Ok(Entry::File { text: text.clone(), mode: MODE });
    }
    let mut fields = Fields::of(format!("the file {path}"), value)?;
    let (link, copy) = (fields.optional("symlink")?, fields.optional::<PathBuf>("copy")?);
    let read = match (link, copy) {
        (Some(target), None) => Entry::Link { target },
        (None, Some(copy)) => {
            let from = folder.join(copy);
            fs::metadata(&from).with_context(|| format!("cannot copy {}", from.display()))?;
            Entry::Copy { from }
        }
        (Some(_), Some(_)) => bail!("the file {path} is a `symlink` or a `copy`, not both"),
        (None, None) => {
            // YAML has no quotes around digits.
            let mode = fields
                .value("mode")
                .map(|mode| mode.as_str().map_or_else(|| mode.to_string(), str::to_owned));
            Entry::File { text: fields.required("text")?, mode: mode.map_or(Ok(MODE), |mode| octal(&mode))? }
        }
    };
    fields.finish()?;
    Ok(read)
}

fn octal(mode: &str) -> Result<u32> {
    match u32::from_str_radix(mode, 8) {
        Ok(mode) if mode <= 0o7777 => Ok(mode),
        _ => bail!("{mode:?} is no mode; it is written in octal, as \"755\""),
    }
}

/// A path that stays below the directory of its case.
///
/// # Errors
/// It does not.
pub(super) fn inside(path: &str) -> Result<&str> {
    let mut components = Path::new(path).components();
    if path.is_empty() || !components.all(|component| matches!(component, Component::Normal(_))) {
        bail!("{path:?} does not lie below the directory of the case");
    }
    Ok(path)
}

/// The directory of a case while it runs; dropping it removes it.
pub(super) struct Directory {
    directory: TempDir,
    path: PathBuf,
}

impl Directory {
    /// A new directory, with nothing in it but a home and a project.
    ///
    /// # Errors
    /// The system refuses, or gives it a path that is not UTF-8.
    pub(super) fn new() -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("lineside-case-").tempdir();
        let directory = directory.context("failed to make the directory of the case")?;
        let path = directory.path().canonicalize()?;
        for child in [HOME, PROJECT] {
            fs::create_dir(path.join(child))?;
        }
        Ok(Self { directory, path })
    }

    /// Its path, without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lays the files out.
    ///
    /// # Errors
    /// The system refuses one.
    pub(super) fn lay_out(&self, files: &[(String, Entry)]) -> Result<()> {
        for (path, entry) in files {
            self.put(&self.path.join(path), entry).with_context(|| format!("failed to lay out {path}"))?;
        }
        Ok(())
    }

    fn put(&self, path: &Path, entry: &Entry) -> Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match entry {
            Entry::Link { target } => symlink(target, path)?,
            Entry::Copy { from } => copy(from, path)?,
            Entry::File { text, mode } => {
                fs::write(path, text)?;
                fs::set_permissions(path, Permissions::from_mode(*mode))?;
            }
        }
        Ok(())
    }

    /// Removes it.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub(super) fn remove(self) -> Result<()> {
        self.directory.close().context("failed to remove the directory of the case")
    }
}

/// The fields of a file that holds a JSON object.
///
/// # Errors
/// It holds something else.
pub(super) fn object(text: &str) -> Result<Map> {
    lineside::json::from_str(text).context("it holds no JSON object")
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    #[test]
    fn files_stay_in_their_directory() {
        for outside in ["", "/etc/passwd", "../x", "project/../../x", "./x"] {
            assert!(inside(outside).is_err(), "{outside}");
        }
        assert_eq!(inside("project/.agents/x").unwrap(), "project/.agents/x");
    }

    #[test]
    fn each_kind_of_entry_is_laid_out() {
        let files = json!({"project/a/x.sh": {"text": "hi", "mode": "750"}, "project/y": "yo", "l": {"symlink": "project/y"}});
        let directory = Directory::new().unwrap();
        directory.lay_out(&entries(&files, Path::new("")).unwrap()).unwrap();
        let mode =
            |path: &str| fs::metadata(directory.path().join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("project/a/x.sh"), mode("project/y")), (0o750, 0o644));
        assert_eq!(fs::read_to_string(directory.path().join("l")).unwrap(), "yo");
        let path = directory.path().to_path_buf();
        directory.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for wrong in [
            json!({"a": 1}),
            json!({"a": {}}),
            json!({"a": {"text": "", "mode": "9"}}),
            json!({"a": {"symlink": "x", "text": ""}}),
            json!([]),
        ] {
            assert!(entries(&wrong, Path::new("")).is_err(), "{wrong}");
        }
    }
}
