//! Secrets by name: texts of a configuration that say which variable of the environment stands in them.
//!
//! A configuration is read by people and kept in repositories, so it names a secret and does not hold it. Which names it
//! may use is a list of their own: the permission to write a header is no permission to send the whole environment.
//! Looking the variables up is left to the caller.

use std::fmt;

use thiserror::Error;

use lineside_redact::REDACTED;

/// A text with secrets in it, which its `Debug` does not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for where it is used.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// A text with names of variables in it, as `${NAME}` or `{env:NAME}`.
///
/// `$$` is a dollar sign; any other `$` and `{` stands for itself.
///
/// ```
/// use lineside_core::secret::Template;
///
/// let header = Template::read("Bearer ${TOKEN}", &["TOKEN"])?;
/// let filled = header.fill(|name| (name == "TOKEN").then(|| "hunter2".to_owned())).expect("it is set");
/// assert_eq!(filled.reveal(), "Bearer hunter2");
/// assert!(Template::read("Bearer ${HOME}", &["TOKEN"]).is_err());
/// # Ok::<(), lineside_core::secret::ReadTemplateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable(String),
}

/// A text is no template that may be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadTemplateError {
    /// A name is unterminated or invalid.
    #[error("`{0}` has to be followed by a name and `}}`")]
    Broken(&'static str),
    /// A name is not on the list.
    #[error("the variable `{0}` is not on the list of those that may be used here")]
    Unlisted(String),
}

/// A template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FillTemplateError {
    /// A variable is not set, or is empty.
    #[error("the variable `{0}` is not set")]
    Missing(String),
    /// The value has a line end or another control character, and a text with it would be two.
    #[error("the variable `{0}` has a control character in it")]
    Control(String),
}

const OPENINGS: [&str; 2] = ["${", "{env:"];

impl Template {
    /// Reads a template whose variables are all on the list.
    ///
    /// ```
    /// use lineside_core::secret::{ReadTemplateError, Template};
    ///
    /// let template = Template::read("Bearer ${TOKEN}", &["TOKEN"])?;
    /// assert_eq!(template.names().collect::<Vec<_>>(), ["TOKEN"]);
    /// assert_eq!(Template::read("${HOME}", &["TOKEN"]), Err(ReadTemplateError::Unlisted("HOME".into())));
    /// # Ok::<_, ReadTemplateError>(())
    /// ```
    ///
    /// # Errors
    /// A name is missing, broken or not on the list.
    pub fn read<S: AsRef<str>>(text: &str, listed: &[S]) -> Result<Self, ReadTemplateError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(first) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("$$") {
                plain.push('$');
                rest = after;
                continue;
            }
            let opened = OPENINGS.iter().find_map(|opening| Some((opening, rest.strip_prefix(opening)?)));
            let Some((opening, inside)) = opened else {
                plain.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            };
            let closed = inside.split_once('}').filter(|(name, _)| is_name(name));
            let (name, after) = closed.ok_or(ReadTemplateError::Broken(opening))?;
            if !listed.iter().any(|known| known.as_ref() == name) {
                return Err(ReadTemplateError::Unlisted(name.to_owned()));
            }
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Variable(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }

    /// The names in it, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with the variables in it. What a variable brings in is not read again.
    ///
    /// ```
    /// use lineside_core::secret::{FillTemplateError, Template};
    ///
    /// let template = Template::read("Bearer ${TOKEN}", &["TOKEN"]).expect("its variable is listed");
    /// let filled = template.fill(|_| Some("t0ken".into()))?;
    /// assert_eq!(filled.reveal(), "Bearer t0ken");
    /// assert!(!format!("{filled:?}").contains("t0ken"));
    /// assert_eq!(template.fill(|_| None), Err(FillTemplateError::Missing("TOKEN".into())));
    /// # Ok::<_, FillTemplateError>(())
    /// ```
    ///
    /// # Errors
    /// A variable is not set, is empty, or has a control character in it.
    pub fn fill(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Secret, FillTemplateError> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Variable(name) => {
                    let value = variable(name).filter(|value| !value.is_empty());
                    let value = value.ok_or_else(|| FillTemplateError::Missing(name.clone()))?;
                    if value.chars().any(char::is_control) {
                        return Err(FillTemplateError::Control(name.clone()));
                    }
                    filled.push_str(&value);
                }
            }
        }
        Ok(Secret(filled))
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let template = match Template::read(text, &["A", "B_2", "EMPTY", "LINES", "AGAIN", "UNSET"]) {
            Ok(template) => template,
            Err(error) => return error.to_string(),
        };
        let value = template.fill(|name| {
            let value = match name {
                "A" => "one",
                "B_2" => "two",
                "EMPTY" => "",
                "LINES" => "a\r\nHost: b",
                "AGAIN" => "${A}",
                _ => return None,
            };
            Some(value.to_owned())
        });
        value.map_or_else(|error| error.to_string(), |secret| secret.reveal().to_owned())
    }

    #[test]
    fn variables_on_the_list_are_filled_in_once() {
        assert_eq!(filled("Bearer ${A}-{env:B_2}"), "Bearer one-two");
        assert_eq!(filled("${AGAIN}"), "${A}");
        for plain in ["", "plain", "a $ b", "$A", "{A}", "{env}", "$", "ä{ö"] {
            assert_eq!(filled(plain), plain);
        }
        assert_eq!(filled("$${A} $$$${A}"), "${A} $${A}");
    }

    #[test]
    fn everything_else_is_an_error_before_anything_is_sent() {
        assert_eq!(
            filled("${HOME}"),
            "the variable `HOME` is not on the list of those that may be used here"
        );
        assert_eq!(
            filled("{env:HOME}"),
            "the variable `HOME` is not on the list of those that may be used here"
        );
        for broken in ["${A", "${}", "${A B}", "${1}", "${A:-x}", "${$A}"] {
            assert_eq!(filled(broken), "`${` has to be followed by a name and `}`", "{broken}");
        }
        assert_eq!(filled("{env:}"), "`{env:` has to be followed by a name and `}`");
        assert_eq!(filled("${UNSET}"), "the variable `UNSET` is not set");
        assert_eq!(filled("${EMPTY}"), "the variable `EMPTY` is not set");
        assert_eq!(filled("${LINES}"), "the variable `LINES` has a control character in it");
    }

    #[test]
    fn c04_a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::from("hunter2".to_owned())), "[redacted]");
    }
}
