//! Lines that go on behind the delimiter of a here-document, which the parser loses.

/// The text of the same length with blanks for each line break behind a backslash that stands right behind such a delimiter,
/// outside of the documents themselves. `Err` where the delimiter itself goes on in the next line.
pub(super) fn joined(text: &str) -> Result<Option<String>, ()> {
    if !text.contains("<<") || !text.contains("\\\n") {
        return Ok(None);
    }
    let mut out = text.to_owned();
    // Delimiters whose documents begin behind this line, each whether tabs may stand before it.
    let mut waiting: Vec<(&str, bool)> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        let end = at + line.len();
        for (from, _) in line.match_indices("<<") {
            let behind = &text[at + from + 2..];
            // `<<<` in either half.
            if behind.starts_with('<') || text[..at + from].ends_with('<') {
                continue;
            }
            let tabs = behind.starts_with('-');
            let word = behind.trim_start_matches('-').trim_start_matches([' ', '\t']);
            let length =
                word.find([' ', '\t', '\n', ';', '|', '&', '<', '>', '(', ')']).unwrap_or(word.len());
            let name = &word[..length];
            let rest = word[length..].trim_start_matches([' ', '\t']);
            if name.ends_with('\\') && word[length..].starts_with('\n') {
                return Err(());
            }
            if rest.starts_with("\\\n") {
                let broken = text.len() - rest.len();
                out.replace_range(broken..broken + 2, "  ");
            }
            waiting.push((name, tabs));
        }
        at = end;
        if line.ends_with("\\\n") {
            continue;
        }
        for (name, tabs) in waiting.drain(..) {
            let name: String = name.chars().filter(|sign| !"'\"\\".contains(*sign)).collect();
            let mut behind = at;
            // What ends nowhere was no document.
            for line in text[at..].split_inclusive('\n') {
                behind += line.len();
                let line = line.trim_end_matches('\n');
                if (if tabs { line.trim_start_matches('\t') } else { line }) == name {
                    at = behind;
                    break;
                }
            }
        }
    }
    Ok((out != text).then_some(out))
}
