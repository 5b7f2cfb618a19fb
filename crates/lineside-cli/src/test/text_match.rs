//! A text match: equality, a part of the text, a regular expression, or anything.

use anyhow::{Context as _, Result};
use lineside::json::Value;
use regex::Regex;

use super::excerpt::shown;
use super::fields::Fields;

/// What a text must be like.
#[derive(Debug, Clone)]
pub(super) enum TextMatch {
    Equal(String),
    Contains(String),
    Matches(Regex),
    Any,
}

impl TextMatch {
    /// Reads one.
    ///
    /// # Errors
    /// It is no text match.
    pub(super) fn read(place: &str, value: &Value) -> Result<Self> {
        if let Value::String(text) = value {
            return Ok(Self::Equal(text.clone()));
        }
        let mut fields = Fields::of(format!("the text match {place}"), value)?;
        let contains: Option<String> = fields.optional("contains")?;
        let matches: Option<String> = fields.optional("matches")?;
        let any: Option<bool> = fields.optional("any")?;
        fields.finish()?;
        match (contains, matches, any) {
            (Some(part), None, None) => Ok(Self::Contains(part)),
            (None, Some(regex), None) => {
                let regex = Regex::new(&regex).with_context(|| format!("`matches` of {place}"))?;
                Ok(Self::Matches(regex))
            }
            (None, None, Some(true)) => Ok(Self::Any),
            _ => anyhow::bail!(
                "the text match {place} must be a string or one of contains, matches, any: true"
            ),
        }
    }

    /// Whether a text is like this.
    pub(super) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equal(expected) => text == expected,
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Matches(regex) => regex.is_match(text),
            Self::Any => true,
        }
    }

    /// What it asks for, for people.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Equal(text) => shown(text),
            Self::Contains(part) => format!("a text with {}", shown(part)),
            Self::Matches(regex) => format!("a match of /{regex}/"),
            Self::Any => "any text".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside::json::json;

    use super::*;

    #[test]
    fn each_kind_fits_what_it_should() {
        for (expected, text, fits) in [
            (json!("ab"), "ab", true),
            (json!("ab"), "abc", false),
            (json!({"contains": "b"}), "abc", true),
            (json!({"contains": "x"}), "abc", false),
            (json!({"matches": "^a.c$"}), "abc", true),
            (json!({"matches": "^b"}), "abc", false),
            (json!({"any": true}), "", true),
        ] {
            assert_eq!(TextMatch::read("x", &expected).unwrap().fits(text), fits, "{expected} {text}");
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for wrong in [
            json!(null),
            json!(1),
            json!({}),
            json!({"any": false}),
            json!({"contains": "a", "any": true}),
            json!({"contain": "a"}),
            json!({"matches": "("}),
        ] {
            assert!(TextMatch::read("x", &wrong).is_err(), "{wrong}");
        }
    }
}
