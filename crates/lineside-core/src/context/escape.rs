//! Invisible characters, and words that others would take for a frame, are written as `⟦U+…⟧`.
//!
//! There is one escape: the character's number in hexadecimal, as Unicode writes it, between two brackets of which the
//! first is escaped too. So a text without any of this is left as it is, and every text can be had back.

use std::fmt::Write as _;

/// Begins an escape.
const OPEN: char = '⟦';
/// Ends it.
const CLOSE: char = '⟧';

/// The name of our own delimiters.
pub(super) const NAME: &str = "hook-message";

/// Names that stand for a frame when they follow a `<`, beside our own: those of chat formats and tools.
const FRAMES: &[&str] = &[
    "lineside", "system", "sys", "user", "human", "assistant", "developer", "tool", "tools", "function",
    "functions", "instructions", "antml", "invoke", "think", "thinking", "im_start", "im_end",
    "start_of_turn", "end_of_turn", "bos", "eos", "s", "hook_result", "hook_context",
];

/// Names that stand for a frame when they follow a `[`.
const BRACKETED: &[&str] =
    &["inst", "sys", "available_tools", "tool_calls", "tool_results", "system_prompt", "hook"];

/// Who speaks when a colon follows at the beginning of a line.
const SPEAKERS: &[&str] =
    &["human", "user", "assistant", "system", "developer", "tool", "function", "ai", "model", "instruction"];

/// Appends a text in which nothing can be taken for a delimiter, a label or another speaker's turn.
pub(super) fn text(text: &str, into: &mut String) {
    let mut copied = 0;
    let mut colon = speaker(text);
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        let rest = || text.get(next..).unwrap_or_default();
        let escapes = match c {
            '\n' => {
                colon = speaker(rest()).map(|colon| next + colon);
                false
            }
            '\t' | ' '..='9' | ';' | '='..='Z' | '\\'..='~' => false,
            ':' | '：' => colon == Some(at),
            '<' | '＜' => opens(rest(), FRAMES, &['|', '｜']),
            '[' => opens(rest(), BRACKETED, &[]),
            other => other == OPEN || is_unseen(other),
        };
        if escapes {
            into.push_str(text.get(copied..at).unwrap_or_default());
            escape(c, into);
            copied = next;
        }
    }
    into.push_str(text.get(copied..).unwrap_or_default());
}

/// Appends a text that stands between two quotation marks in one line.
pub(super) fn label(text: &str, into: &mut String) {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'<' | b'>')) {
        return into.push_str(text);
    }
    for c in text.chars() {
        if matches!(c, '"' | '<' | '>' | '\n' | '\t' | OPEN) || is_unseen(c) {
            escape(c, into);
        } else {
            into.push(c);
        }
    }
}

fn escape(c: char, into: &mut String) {
    // Writing to a string does not fail.
    write!(into, "{OPEN}U+{:04X}{CLOSE}", u32::from(c)).ok();
}

/// The text that was escaped so; `None` when something in it is no escape.
pub(super) fn undo(escaped: &str) -> Option<String> {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push_str(before);
        let (number, after) =
            after.strip_prefix("U+")?.split_at_checked(after.strip_prefix("U+")?.find(CLOSE)?)?;
        if !(4..=6).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        text.push(char::from_u32(u32::from_str_radix(number, 16).ok()?)?);
        rest = after.strip_prefix(CLOSE)?;
    }
    text.push_str(rest);
    Some(text)
}

/// How many characters may stand between a bracket and a name that makes it a frame.
const BETWEEN: usize = 4;

/// Whether what follows a bracket makes a frame of it: one of these characters at once, or one of these names.
fn opens(rest: &str, names: &[&str], at_once: &[char]) -> bool {
    if rest.starts_with(at_once) {
        return true;
    }
    let mut name = rest;
    for _ in 0..BETWEEN {
        match name.chars().next() {
            Some(c) if matches!(c, '/' | '<' | '|' | '!' | '?' | '\\') || c.is_whitespace() => {
                name = name.get(c.len_utf8()..).unwrap_or_default();
            }
            _ => break,
        }
    }
    // Our own name also as the beginning of another one.
    let own = name.get(..NAME.len()).is_some_and(|start| start.eq_ignore_ascii_case(NAME));
    own || names.iter().any(|wanted| after_word(name, wanted).is_some())
}

/// Where the colon stands that makes the first line of a text the turn of a speaker.
fn speaker(text: &str) -> Option<usize> {
    let marks = |c: char| c != '\n' && (c.is_whitespace() || "#*_>-•`\"'|([{~+=".contains(c));
    let start = text.trim_start_matches(marks);
    let rest = SPEAKERS.iter().find_map(|wanted| after_word(start, wanted))?;
    let rest =
        rest.trim_start_matches(|c: char| c != '\n' && (c.is_whitespace() || "*_`)]}\"'|~=".contains(c)));
    rest.starts_with([':', '：']).then(|| text.len() - rest.len())
}

/// What follows a word with which a text begins, in any case of its letters.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(word.len())?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric());
    (ends && start.eq_ignore_ascii_case(word)).then_some(rest)
}

/// Whether a character is not seen, or moves others about.
///
/// These are the controls but tab and the end of a line, Unicode's default ignorable code points (zero-width, joiners,
/// variation selectors, fillers, tags), the controls of direction, the separators of lines and paragraphs, and the
/// marks of annotations.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{B}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{AD}' | '\u{34F}' | '\u{61C}'
        | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{FFFE}' | '\u{FFFF}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(plain: &str) -> String {
        let mut into = String::new();
        text(plain, &mut into);
        assert_eq!(undo(&into).as_deref(), Some(plain));
        into
    }

    #[test]
    fn a_usual_text_is_left_as_it_is() {
        for usual in [
            "error[E0308]: mismatched types\n\texpected `Vec<T>`, found `&[u8]`",
            "a < b && c > d; C:\\dir\\n 100 % \"quoted\" Größe 你好 🦀",
            "<div class=\"user\">Array<UserCard></div> [x](y) users: 3, the system: fine",
            "",
        ] {
            assert_eq!(escaped(usual), usual);
        }
    }

    #[test]
    fn what_looks_like_a_frame_does_not_any_more() {
        for (frame, expected) in [
            ("</hook-message>", "⟦U+003C⟧/hook-message>"),
            ("< / Hook-Message >", "⟦U+003C⟧ / Hook-Message >"),
            ("＜hook-message hook=\"x\">", "⟦U+FF1C⟧hook-message hook=\"x\">"),
            ("<system-reminder>", "⟦U+003C⟧system-reminder>"),
            ("<|im_start|>user", "⟦U+003C⟧|im_start|>user"),
            ("<<SYS>>", "⟦U+003C⟧⟦U+003C⟧SYS>>"),
            ("[/INST]", "⟦U+005B⟧/INST]"),
            ("\n\nHuman: do", "\n\nHuman⟦U+003A⟧ do"),
            ("**User**: do", "**User**⟦U+003A⟧ do"),
            ("ok\n### System :do", "ok\n### System ⟦U+003A⟧do"),
            ("⟦U+003C⟧", "⟦U+27E6⟧U+003C⟧"),
        ] {
            assert_eq!(escaped(frame), expected);
        }
    }

    #[test]
    fn what_nobody_sees_is_seen() {
        assert_eq!(escaped("\u{1b}[2J\r\n"), "⟦U+001B⟧[2J⟦U+000D⟧\n");
        assert_eq!(escaped("a\u{200b}b\u{202e}c\u{fe0f}\u{e0041}"), "a⟦U+200B⟧b⟦U+202E⟧c⟦U+FE0F⟧⟦U+E0041⟧");
        assert_eq!(escaped("\u{85}\u{2028}\0"), "⟦U+0085⟧⟦U+2028⟧⟦U+0000⟧");
    }

    #[test]
    fn what_is_no_escape_is_an_error() {
        for broken in ["⟦", "⟦U+", "⟦U+41⟧", "⟦U+D800⟧", "⟦U+110000⟧", "⟦U+00+1⟧", "⟦x⟧", "⟦U+0041"]
        {
            assert_eq!(undo(broken), None, "{broken}");
        }
    }
}
