//! The record of a trust, and how records lie in files.

use std::fmt;
use std::path::Path;

use lineside_core::json;
use lineside_files::{Boundary, OpenFileError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::content::{Item, digest};
use crate::sha256;

/// The version of the records that are written, and of those that are read.
pub(crate) const SCHEMA: u32 = 1;

/// No file of the store is longer, in bytes.
const LONGEST: usize = 8 << 20;

/// What a person has trusted of one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub(crate) schema: u32,
    /// The root of the project, without links.
    pub root: String,
    /// The user whose folder that is.
    pub owner: u32,
    /// The digest of the content.
    pub digest: String,
    /// Whether every project with this content is trusted.
    pub anywhere: bool,
    /// The guards that were trusted: they stand closed when the content is another one.
    pub guards: Vec<Guard>,
    /// The content.
    pub items: Vec<Item>,
}

/// A guard that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Its name.
    pub hook: String,
    /// Its format.
    pub dialect: String,
    /// The point at which it may refuse.
    pub point: String,
    /// The file that declares it.
    pub file: String,
    /// The line in it.
    pub line: u32,
}

/// Why a file of the store is not believed. Completes "the record cannot be read: ".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadRecordError {
    /// It cannot be opened, or others may have written it.
    #[error(transparent)]
    Open(#[from] OpenFileError),
    /// It is damaged.
    #[error("it is damaged")]
    Damaged,
    /// It was written by another version of this program.
    #[error("it was written by another version of lineside")]
    OtherSchema,
    /// It is the record of another project, or of another user.
    #[error("it is the record of {0}")]
    Other(String),
}

/// The text of a file: the digest of what follows, and that.
pub(crate) fn sealed(content: &impl Serialize) -> Result<String, json::Error> {
    let text = json::to_value(content)?.to_string();
    Ok(format!("{}\n{text}\n", sha256(&text)))
}

/// What such a file has; `None` when it is not there.
///
/// # Errors
/// It cannot be read, or it is not as it was written.
pub(crate) fn unsealed<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, ReadRecordError> {
    let Some(bytes) = lineside_files::read_if_there(file, Boundary::Own, LONGEST) else { return Ok(None) };
    let text = String::from_utf8(bytes?).map_err(|_| ReadRecordError::Damaged)?;
    let (seal, rest) = text.split_once('\n').ok_or(ReadRecordError::Damaged)?;
    let content = rest.strip_suffix('\n').filter(|content| sha256(content) == seal);
    let value: json::Value =
        content.and_then(|content| json::from_str(content).ok()).ok_or(ReadRecordError::Damaged)?;
    match json::from_value(&value) {
        Ok(content) => Ok(Some(content)),
        Err(_) if value.get("schema").is_some_and(|schema| *schema != SCHEMA) => {
            Err(ReadRecordError::OtherSchema)
        }
        Err(_) => Err(ReadRecordError::Damaged),
    }
}

impl Record {
    /// Whether everything in it fits together.
    pub(crate) fn check(self, root: Option<&Path>) -> Result<Self, ReadRecordError> {
        if self.schema != SCHEMA {
            return Err(ReadRecordError::OtherSchema);
        }
        if digest(&self.items) != self.digest {
            return Err(ReadRecordError::Damaged);
        }
        match root {
            Some(root) if Path::new(&self.root) != root => Err(ReadRecordError::Other(self.root)),
            _ => Ok(self),
        }
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" at {} ({}:{})", self.hook, self.point, self.file, self.line)
    }
}
