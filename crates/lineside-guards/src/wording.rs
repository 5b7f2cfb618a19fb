//! Texts with fields in braces: those of the event, and what made a filter match.

use lineside_core::control::{KeyTemplate, TemplateError};
use lineside_core::nearest::suggestion;
use lineside_core::{AnyEvent, PointInfo};

use crate::found::Found;

/// What of a match may stand in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Program,
    Path,
    Way,
    Command,
    Why,
}

const OWN: [(&str, Own); 5] = [
    ("program", Own::Program),
    ("path", Own::Path),
    ("way", Own::Way),
    ("command", Own::Command),
    ("why", Own::Why),
];

/// A text with fields: `{program}`, `{path}`, `{way}`, `{command}` and `{why}` of what made the filter match, and those of
/// the event that keys have too.
///
/// ```
/// use lineside_guards::Wording;
///
/// assert!(Wording::read("{program} is run by {way} in {session}", &[]).is_ok());
/// assert!(Wording::read("{programm} is run", &[]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Of(KeyTemplate),
    Own(Own),
}

/// Why a text is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct WordingError(#[from] TemplateError);

impl Wording {
    /// Reads a text for events of these points.
    ///
    /// # Errors
    /// Its braces do not fit, or it names a field that events of one of the points do not have.
    pub fn read(text: &str, points: &[&PointInfo]) -> Result<Self, WordingError> {
        let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
        let bytes = text.as_bytes();
        while let Some(open) = text[at..].find('{').map(|open| at + open) {
            if bytes.get(open + 1) == Some(&b'{') {
                at = open + 2;
                continue;
            }
            let Some(close) = text[open..].find('}').map(|close| open + close) else { break };
            let name = text[open + 1..close].trim();
            if let Some((_, own)) = OWN.iter().find(|(known, _)| *known == name) {
                piece(&text[from..open], points, &mut pieces)?;
                pieces.push(Piece::Own(*own));
                from = close + 1;
            }
            at = close + 1;
        }
        piece(&text[from..], points, &mut pieces)?;
        Ok(Self { pieces })
    }

    /// Whether it names something of what made the filter match.
    pub(crate) fn names_what_matched(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Own(_)))
    }

    /// Whether it names why it is not known that the filter matches.
    pub(crate) fn names_why(&self) -> bool {
        self.pieces.contains(&Piece::Own(Own::Why))
    }

    /// The text for an event. A field that it does not have is empty.
    #[must_use]
    pub fn render(&self, event: &AnyEvent, found: Option<&Found>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Of(template) => template.render(event, &mut text),
                Piece::Own(own) => {
                    if let Some(found) = found {
                        own.push(found, &mut text);
                    }
                }
            }
        }
        text
    }
}

impl Own {
    fn push(self, found: &Found, text: &mut String) {
        match self {
            // Where it is in doubt whether there is one, which one it is may be what is not known.
            Self::Program => text.push_str(found.program.as_deref().unwrap_or(found.unknown("a program"))),
            Self::Path => {
                let path = found.path.as_ref().map(|(_, path)| &**path);
                text.push_str(path.unwrap_or(found.unknown("a path")));
            }
            Self::Way => text.push_str(&found.way.join(" → ")),
            Self::Command => text.push_str(found.command.as_deref().unwrap_or_default()),
            Self::Why => text.push_str(&found.to_string()),
        }
    }
}

fn piece(text: &str, points: &[&PointInfo], pieces: &mut Vec<Piece>) -> Result<(), WordingError> {
    if text.trim().is_empty() {
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        return Ok(());
    }
    let template = KeyTemplate::read(text, points).map_err(|error| match error {
        TemplateError::UnknownField { field, nearest: None } => {
            let nearest = suggestion(&field, OWN.iter().map(|(own, _)| *own)).map(str::to_owned);
            TemplateError::UnknownField { field, nearest }
        }
        error => error,
    })?;
    pieces.push(Piece::Of(template));
    Ok(())
}
