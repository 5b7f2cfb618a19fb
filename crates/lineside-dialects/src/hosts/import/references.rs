//! References to variables in the texts of handlers.

/// A text in which `$NAME` and `${NAME}` stand for values; a name without a value stays as it is.
pub(crate) fn expand(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        written.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (name, length) = match rest.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
                let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
                (&rest[..length], length)
            }
        };
        match value(name).filter(|_| !name.is_empty()) {
            Some(value) => written.push_str(&value),
            None => {
                written.push('$');
                written.push_str(&rest[..length]);
            }
        }
        rest = &rest[length..];
    }
    written.push_str(rest);
    written
}

/// A text in which `${NAME}` stands for one of these values; a name without one stays, and so does `$NAME`.
pub(super) fn expand_braced(text: &str, values: &[(String, String)]) -> String {
    let value = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut parts = text.split("${");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(name, rest)| Some((value(name)?, rest))) {
            Some((value, rest)) => written.extend([value, rest]),
            None => written.extend(["${", part]),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn names_stand_for_values() {
        let value = |name: &str| (name == "A").then(|| "x".to_owned());
        for (text, expected) in [
            ("$A", "x"),
            ("a${A}b", "axb"),
            ("$B ${B}", "$B ${B}"),
            ("$", "$"),
            ("$A_", "$A_"),
            ("1$A/2", "1x/2"),
        ] {
            assert_eq!(expand(text, value), expected);
        }
    }
}
