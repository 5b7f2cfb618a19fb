//! Reading JSON5 within bounds: files of people, with comments and trailing commas.

use std::path::Path;

use lineside_core::json::{AtMost, DEEPEST, Value};
use lineside_files::{Boundary, OpenFileError};
use serde::Deserialize;
use serde::de::{DeserializeSeed as _, Deserializer};

/// Why a file has no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadFileError {
    #[error("{0}")]
    Open(#[from] OpenFileError),
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    #[error("it is not UTF-8")]
    Encoding,
    #[error("{0}")]
    Syntax(String),
}

/// The text of a file of at most so many bytes; nothing when there is none.
pub(super) fn text(
    file: &Path,
    boundary: Boundary<'_>,
    most: usize,
) -> Result<Option<String>, ReadFileError> {
    let Some(bytes) = lineside_files::read_if_there(file, boundary, most).transpose()? else {
        return Ok(None);
    };
    if bytes.len() > most {
        return Err(ReadFileError::TooLarge(most));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| ReadFileError::Encoding)
}

/// The value of a JSON5 file; nothing when there is none.
pub(super) fn read(file: &Path, boundary: Boundary<'_>, most: usize) -> Result<Option<Value>, ReadFileError> {
    match text(file, boundary, most)? {
        Some(text) => parse(&text).map(Some).map_err(ReadFileError::Syntax),
        None => Ok(None),
    }
}

/// Reads one JSON5 value of at most 64 levels. Of two equal keys the last one counts, as in JSON5.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    json5::from_str::<Whole>(text).map(|whole| whole.0).map_err(|error| error.to_string())
}

struct Whole(Value);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AtMost::levels(DEEPEST).deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Boundary, parse, read};
    use lineside_core::json::json;

    #[test]
    fn what_people_write_is_read() {
        // OC-6, OC-13
        let text =
            "\u{feff}{ // a comment\n id: 'x', /* b */ list: [1, -0x10, 1.5, null,], \"q\": \"\\u00e9\", }\n";
        assert_eq!(parse(text).unwrap(), json!({"id": "x", "list": [1, -16, 1.5, null], "q": "é"}));
    }

    #[test]
    fn what_cannot_be_json_is_refused() {
        assert!(parse("{ a: Infinity }").unwrap_err().contains("finite"));
        assert!(parse("{ a: 1 } { }").is_err());
        assert!(parse("{ a: ").is_err());
        assert!(parse("").is_err());
        assert!(parse(&format!("{}1{}", "[".repeat(64), "]".repeat(64))).is_ok());
        assert!(parse(&"[".repeat(100_000)).unwrap_err().contains("64 levels"));
    }

    #[test]
    fn files_are_read_within_bounds() {
        // OC-6
        let room = tempfile::tempdir().unwrap();
        let file = room.path().join("a.json");
        assert!(read(&file, Boundary::Open, 4).unwrap().is_none());
        std::fs::write(&file, "[12]").unwrap();
        assert_eq!(read(&file, Boundary::Open, 4).unwrap(), Some(json!([12])));
        assert!(read(&file, Boundary::Open, 3).unwrap_err().to_string().contains("larger than 3 bytes"));
        assert!(read(room.path(), Boundary::Open, 3).unwrap_err().to_string().contains("a folder"));
    }
}
