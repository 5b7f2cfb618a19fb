//! The bounds, counted in steps and never by the clock, so that a loaded machine decides the same.

/// Bytes of a text.
pub(crate) const TEXT: usize = 64 * 1024;
/// Bytes of a text of plain words.
pub(crate) const PLAIN: usize = 1024;
/// Levels of text: `bash -c "bash -c '…'"`.
pub(crate) const LEVELS: usize = 16;
/// Levels of nested commands, over all texts.
pub(crate) const NESTING: usize = 64;
/// Programs of a command.
pub(crate) const PROGRAMS: usize = 256;
/// Words of a command, over all of its texts.
pub(crate) const WORDS: usize = 4096;
/// Words of one brace expansion.
pub(crate) const BRACES: usize = 1000;
/// Bytes that all values together may take while a command is read.
pub(crate) const VALUES: usize = 1024 * 1024;
/// Bytes of text that are parsed altogether, inner texts and those of functions included.
pub(crate) const PARSED: usize = 4 * TEXT;
/// Signs of patterns that are compared with those of values altogether, and bytes that replacements bring.
pub(crate) const STEPS: usize = 1024 * 1024;
/// Folders that are read for the links in them that a glob may mean.
const FOLDERS: usize = 256;
/// Names of these folders, and of those that are looked through for the other names of a file.
pub(crate) const NAMES: usize = 16 * 1024;
/// Paths that a glob may mean whose links are followed.
const FOLLOWED: usize = 2048;
/// Files of the command itself that lie below what is copied, over all that is copied.
const COPIED: usize = 1024;
/// Commands that are read with another value of a variable that branches set.
const EITHER: usize = 64;
/// Values that a variable may have which branches set.
pub(crate) const VALUES_OF_BRANCHES: usize = 4;
/// Readings of one command by the values of what it names.
pub(crate) const READINGS: usize = 8;
/// What is left of the bounds on what is read of folders, and with other values.
pub(crate) struct Left {
    pub(crate) either: usize,
    /// Readings of one command that are under way.
    pub(crate) readings: usize,
    pub(crate) folders: usize,
    pub(crate) names: usize,
    pub(crate) followed: usize,
    pub(crate) copied: usize,
}

impl Default for Left {
    fn default() -> Left {
        Left {
            either: EITHER,
            readings: 1,
            folders: FOLDERS,
            names: NAMES,
            followed: FOLLOWED,
            copied: COPIED,
        }
    }
}

/// Lines in front of a syntax error at which an end is tried.
pub(crate) const RETRIES: usize = 8;
/// Signs that open a level, before the parser is asked at all: data may hold some that are no level.
const OPENED: usize = 192;
/// Substitutions of a text: a parser reads what is behind each of them once more.
const SUBSTITUTIONS: usize = 512;
/// Here-documents of a text.
const DOCUMENTS: usize = 128;

/// Parameters within parameters: a parser takes the fifth power of that.
const PARAMETERS: usize = 32;
/// Brackets within brackets of one word: a parser takes the square of that.
const BRACKETS: usize = 64;
/// Words that open an index and do not close it: a parser looks for its end up to that of the text.
const INDEXES: usize = 256;
/// Words of a text that are each a level of a parser without a bound of its own, if they stand before one another.
const FRONT: usize = 128;
/// These words.
const IN_FRONT: [&str; 3] = ["time", "!", "coproc"];

/// No text of so few bytes passes a bound: a bracket takes one of them, and a parameter two.
const SHORT: usize = BRACKETS;

/// Which bound a text passes that the parser is not to be asked about.
pub(crate) fn exceeded(text: &str) -> Option<&'static str> {
    if text.len() > TEXT {
        return Some("it is longer than 64 KiB");
    }
    if text.len() <= SHORT {
        return None;
    }
    let (mut open, mut documents, mut substitutions, mut before) = (0_usize, 0, 0, 0);
    // Parameters that are open, each whether that is within quotes.
    let mut parameters: Vec<bool> = Vec::new();
    let (mut is_quoted, mut is_literal) = (false, false);
    for byte in text.bytes() {
        match byte {
            // Within a parameter a single quote begins what is literal.
            b'\'' if is_literal || !is_quoted && parameters.last() == Some(&false) => {
                is_literal = !is_literal;
            }
            _ if is_literal => {}
            // What stands behind a backslash is none of these.
            _ if before == b'\\' => {
                before = 0;
                continue;
            }
            b'(' | b'{' => {
                open += 1;
                substitutions += usize::from(matches!(before, b'$' | b'<' | b'>'));
                if byte == b'{' && before == b'$' {
                    parameters.push(is_quoted);
                }
            }
            b'`' => substitutions += 1,
            b')' => open = open.saturating_sub(1),
            b'}' => {
                open = open.saturating_sub(1);
                parameters.pop_if(|within| *within == is_quoted);
            }
            b'"' => is_quoted = !is_quoted,
            b'<' if before == b'<' => documents += 1,
            _ => {}
        }
        before = byte;
        if open > OPENED || parameters.len() > PARAMETERS {
            return Some("it is nested too deeply");
        }
    }
    // With fewer brackets neither bound on them is passed; each word in front takes a sign at least, and one that ends it.
    let brackets = text.bytes().filter(|byte| *byte == b'[').count();
    if brackets > BRACKETS && nests_brackets(text) || text.len() > 2 * FRONT && nests_in_front(text) {
        return Some("it is nested too deeply");
    }
    if substitutions > SUBSTITUTIONS {
        return Some("it has too many substitutions");
    }
    (documents > DOCUMENTS).then_some("it has too many here-documents")
}

/// Whether the brackets of a word are too deep, or too many words open an index.
fn nests_brackets(text: &str) -> bool {
    let mut indexes = 0;
    for word in
        text.split(|sign: char| sign.is_ascii_whitespace() || sign == ';').filter(|word| word.contains('['))
    {
        let (mut brackets, mut deepest) = (0_usize, 0);
        for byte in word.bytes() {
            match byte {
                b'[' => brackets += 1,
                b']' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
            deepest = brackets.max(deepest);
        }
        let named = |(name, _): &(&str, &str)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        indexes += usize::from(brackets > 0 && word.split_once('[').as_ref().is_some_and(named));
        if deepest > BRACKETS || indexes > INDEXES {
            return true;
        }
    }
    false
}

/// Whether too many of [`IN_FRONT`] stand before one another.
fn nests_in_front(text: &str) -> bool {
    let mut front = 0;
    text.lines().any(|line| {
        // A line that begins with another word goes on with none of them.
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        if !IN_FRONT.contains(&first) && !first.starts_with(['-', '\\']) && !first.contains(['<', '>']) {
            front = 0;
        }
        let words = line.split(|sign: char| sign.is_ascii_whitespace() || ";&|<>(){}`".contains(sign));
        front += words.filter(|word| IN_FRONT.contains(word)).count();
        front > FRONT
    })
}
