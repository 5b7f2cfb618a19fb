//! Lines `export NAME=value` that a hook leaves for later hooks of its session (CL-22).

/// Whether a text can be the name of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()) && name.chars().all(is_name)
}

/// The assignments of a text, with the lines that they stand in. A line that is none is passed over; references to
/// other variables are not resolved.
pub(crate) fn assignments(text: &str) -> Vec<(&str, (String, String))> {
    let assigned = |line| {
        let rest = str::trim(line).strip_prefix("export")?;
        let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
        let (name, value) = rest.split_once('=')?;
        is_variable(name).then(|| (str::trim(line), (name.to_owned(), unquoted(value))))
    };
    text.lines().filter_map(assigned).collect()
}

/// The first word of a text, without the quotes and backslashes of a shell.
fn unquoted(text: &str) -> String {
    let mut word = String::new();
    let mut characters = text.chars();
    let mut quote = None;
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, '\\') => word.extend(characters.next()),
            (Some('"'), '\\') => match characters.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => word.push('\\'),
            },
            (None, ' ' | '\t' | ';' | '#') => break,
            _ => word.push(character),
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::{assignments, is_variable};

    #[test]
    fn lines_that_export_a_value_are_read_as_a_shell_reads_them() {
        let text = "export A=1\n# no\nB=2\n export C='a b'\"c\\\"d\"\nexport D=x\\ y z\nexport 1E=3\nexport F=\nexportG=1\n";
        let read: Vec<(String, String)> = assignments(text).into_iter().map(|(_, pair)| pair).collect();
        let expected = [("A", "1"), ("C", "a bc\"d"), ("D", "x y"), ("F", "")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_name_is_that_of_a_variable() {
        for (name, expected) in [
            ("A", true),
            ("_a1_B", true),
            ("1A", false),
            ("A-B", false),
            ("", false),
            ("é", false),
            ("Aé", false),
        ] {
            assert_eq!(is_variable(name), expected, "{name}");
        }
    }
}
