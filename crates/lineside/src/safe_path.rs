//! Python that a hook hands to its interpreter as text, as `python3 -c` and `python3 -` do: it imports modules from the
//! working directory first, which is a project that the author of the hook need not trust.

use lineside_core::invocation::Invocation;

/// Keeps Python from importing modules of the working directory.
const SAFE_PATH: &str = "PYTHONSAFEPATH";

/// Has Python that is given as text import nothing from the working directory, unless the hook sets the variable itself.
/// A script is left as it is: it may import what lies beside it.
pub(crate) fn keep(invocation: &mut Invocation) {
    let is_set = invocation.environment.set.iter().any(|(name, _)| name == SAFE_PATH);
    let takes_text = || takes_text(invocation.program.argv.iter().filter_map(|word| word.to_str()));
    if !is_set && takes_text() {
        invocation.environment.set.push((SAFE_PATH.into(), "1".into()));
    }
}

/// Whether a command, or a line of it for a shell, starts Python without the file of a script.
fn takes_text<'a>(command: impl Iterator<Item = &'a str>) -> bool {
    let command: Vec<_> = command.collect();
    let line = command.join(" ");
    line.match_indices("python").any(|(at, name)| {
        let is_within_word = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
        let rest =
            line[at + name.len()..].trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        !line[..at].ends_with(is_within_word) && !rest.starts_with(is_within_word) && has_no_script(rest)
    })
}

/// Whether what stands behind the name of the interpreter names no script.
fn has_no_script(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['"', '\'']);
    let mut words = rest
        .split([';', '&', '|', '<', '>', '(', ')', '`', '\n'])
        .next()
        .unwrap_or_default()
        .split_whitespace();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return false,
            Some("W" | "X") => drop(words.next()),
            Some(options) if options.starts_with('-') => {}
            Some(options) if options.is_empty() || options.contains(['c', 'm']) => return true,
            Some(_) => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::takes_text;

    #[test]
    fn python_that_is_given_as_text_is_known_and_a_script_is_none() {
        for line in [
            "python3 -c 'import json'",
            "/usr/bin/python3.11 -Ic pass",
            "sh -c cat | python3",
            "bash -c x=$(python3 - <<'EOF'\nimport json\nEOF\n)",
            "env python -W ignore -m guard",
            "sh -c \"python3\" -c pass",
        ] {
            assert!(takes_text(line.split(' ')), "{line}");
        }
        for line in [
            "python3 guard.py",
            "python3 -u -X utf8 /opt/guard.py -c",
            "cat python3.txt",
            "pythonic -c x",
            "my-python -c",
            "ls",
        ] {
            assert!(!takes_text(line.split(' ')), "{line}");
        }
    }
}
