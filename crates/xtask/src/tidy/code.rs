//! Rust sources reduced to code: comments blank, contents of strings filled in, lines and columns kept.
//!
//! This is a reader of tokens, not of syntax: enough to know where code is, and nothing of what it means.

/// What the reader is in the middle of.
enum Inside {
    Code,
    LineComment,
    /// With how many `*/` are still to come.
    BlockComment(usize),
    /// A string with escapes.
    Text,
    /// A raw string, which ends with a quote and this many `#`.
    RawText(usize),
}

/// The same text with spaces for comments and `_` for what strings and characters hold.
pub(super) fn bare(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut bare = String::with_capacity(source.len());
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next, taken) = step(&inside, &chars, at);
        let filling = filling(&inside, &next);
        let token = &chars[at..(at + taken).min(chars.len())];
        if let (Inside::Code, ['\'', held @ .., '\'']) = (&inside, token) {
            bare.push('\'');
            bare.extend(held.iter().map(|_| '_'));
            bare.push('\'');
        } else {
            bare.extend(token.iter().map(|&char| if char == '\n' { char } else { filling.unwrap_or(char) }));
        }
        (inside, at) = (next, at + taken);
    }
    bare
}

/// What stands in for characters between two states. Code and the quotes around a string stand for themselves.
fn filling(before: &Inside, after: &Inside) -> Option<char> {
    use Inside::{BlockComment, LineComment, RawText, Text};
    match (before, after) {
        (LineComment | BlockComment(_), _) | (_, LineComment | BlockComment(_)) => Some(' '),
        (Text | RawText(_), Text | RawText(_)) => Some('_'),
        _ => None,
    }
}

/// What comes after the characters at `at`, and how many of them belong together.
fn step(inside: &Inside, chars: &[char], at: usize) -> (Inside, usize) {
    let follows = |text: &str| text.chars().enumerate().all(|(i, char)| chars.get(at + i) == Some(&char));
    match *inside {
        Inside::Code if follows("//") => (Inside::LineComment, 2),
        Inside::Code if follows("/*") => (Inside::BlockComment(1), 2),
        Inside::Code if follows("\"") => (Inside::Text, 1),
        Inside::Code if follows("'") => (Inside::Code, character(chars, at)),
        Inside::Code => match raw_start(chars, at) {
            Some((hashes, taken)) => (Inside::RawText(hashes), taken),
            None => (Inside::Code, 1),
        },
        Inside::LineComment if follows("\n") => (Inside::Code, 1),
        Inside::LineComment => (Inside::LineComment, 1),
        Inside::BlockComment(depth) if follows("/*") => (Inside::BlockComment(depth + 1), 2),
        Inside::BlockComment(1) if follows("*/") => (Inside::Code, 2),
        Inside::BlockComment(depth) if follows("*/") => (Inside::BlockComment(depth - 1), 2),
        Inside::BlockComment(depth) => (Inside::BlockComment(depth), 1),
        Inside::Text if follows("\\") => (Inside::Text, 2),
        Inside::Text if follows("\"") => (Inside::Code, 1),
        Inside::Text => (Inside::Text, 1),
        Inside::RawText(hashes) if follows(&format!("\"{}", "#".repeat(hashes))) => {
            (Inside::Code, 1 + hashes)
        }
        Inside::RawText(hashes) => (Inside::RawText(hashes), 1),
    }
}

/// How long the character literal at `at` is; 1 when the quote begins a lifetime.
fn character(chars: &[char], at: usize) -> usize {
    if chars.get(at + 1) == Some(&'\\') {
        let end = chars.iter().skip(at + 3).take(10).position(|char| *char == '\'');
        return end.map_or(1, |end| end + 4);
    }
    if chars.get(at + 2) == Some(&'\'') { 3 } else { 1 }
}

/// The `#`s of a raw string that starts at `at`, and the length of its start.
fn raw_start(chars: &[char], at: usize) -> Option<(usize, usize)> {
    let in_word =
        at.checked_sub(1).is_some_and(|before| is_word(chars[before]) && !matches!(chars[before], 'b' | 'c'));
    if in_word || chars[at] != 'r' {
        return None;
    }
    let hashes = chars[at + 1..].iter().take_while(|char| **char == '#').count();
    (chars.get(at + 1 + hashes) == Some(&'"')).then_some((hashes, hashes + 2))
}

/// `bare` code without the module of tests with which a file may end.
pub(super) fn without_tests(bare: &str) -> &str {
    const MARKS: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test,"];
    let last = |mark: &&str| bare.rfind(&format!("\n{mark}"));
    let Some(start) = MARKS.iter().filter_map(last).max() else { return bare };
    let mut lines = bare[start + 1..].lines().skip_while(|line| line.starts_with("#["));
    let opens = lines.next().is_some_and(|line| line == "mod tests {");
    let rest: Vec<&str> = lines.skip_while(|line| *line != "}").skip(1).collect();
    if opens && rest.iter().all(|line| line.trim().is_empty()) { &bare[..=start] } else { bare }
}

/// Whether `line` says `words`, not as part of a longer name.
pub(super) fn says(line: &str, words: &str) -> bool {
    let ends_in_word = words.ends_with(is_word);
    line.match_indices(words).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + words.len()..].chars().next();
        let apart = !(words.starts_with(is_word) && before.is_some_and(is_word));
        apart && !(ends_in_word && after.is_some_and(is_word))
    })
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blank() {
        assert_eq!(bare("a // b\nc"), "a     \nc");
        assert_eq!(bare("a /* b /* c */ d */ e"), "a                   e");
    }

    #[test]
    fn strings_hold_nothing() {
        assert_eq!(bare(r#"f("a // \" b") // c"#), r#"f("_________")     "#);
        assert_eq!(bare("r\"a\\\" r#\"b\"c\"# br\"d\""), "r\"__\" r#\"___\"# br\"_\"");
        assert_eq!(bare("\"a\nb\""), "\"_\n_\"");
    }

    #[test]
    fn a_quote_may_be_a_character_or_a_lifetime() {
        assert_eq!(bare(r#"'"' 'a' '\'' '\u{1f}' "x""#), r#"'_' '_' '__' '______' "_""#);
        assert_eq!(bare(r#"fn f<'a>(x: &'a str) // y"#), r#"fn f<'a>(x: &'a str)     "#);
        assert_eq!(bare("for r in r#type // y"), "for r in r#type     ");
    }

    #[test]
    fn only_tests_at_the_end_are_left_out() {
        let code = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(without_tests(code), "fn a() {}\n\n");
        let unix = code.replace("cfg(test)", "cfg(all(test, unix))");
        assert_eq!(without_tests(&unix), "fn a() {}\n\n");
        let more = format!("{code}fn c() {{}}\n");
        assert_eq!(without_tests(&more), more);
        let helper = "fn a() {}\n\n#[cfg(test)]\nimpl A {\n}\n";
        assert_eq!(without_tests(helper), helper);
    }

    #[test]
    fn words_are_whole() {
        assert!(says("let x = std::fs::read();", "std::fs"));
        assert!(!says("let x = my_std::fs_x();", "std::fs"));
        assert!(says("env::var_os(x)", "env::var_os"));
        assert!(!says("env::var_os(x)", "env::var"));
    }
}
