//! The front matter of a Markdown file: what stands between its first two lines of hyphens.

/// Why a text has no front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SplitTextError {
    #[error("HOOK.md must start with YAML frontmatter (---)")]
    NoFrontmatter,
    #[error("HOOK.md frontmatter not properly closed with ---")]
    Unclosed,
}

/// The text between the two lines of hyphens, and the number of its first line (AH-7).
pub(crate) fn split(text: &str) -> Result<(&str, u32), SplitTextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut opened = None;
    for (line, number) in text.split_inclusive('\n').zip(1_u32..) {
        let start = at;
        at += line.len();
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        match opened {
            None if content.trim_matches([' ', '\t']).is_empty() => {}
            None if is_fence(content) => opened = Some((at, number + 1)),
            None => return Err(SplitTextError::NoFrontmatter),
            Some((from, first_line)) if is_fence(content) => {
                return Ok((text.get(from..start).unwrap_or_default(), first_line));
            }
            Some(_) => {}
        }
    }
    Err(match opened {
        None => SplitTextError::NoFrontmatter,
        Some(_) => SplitTextError::Unclosed,
    })
}

fn is_fence(line: &str) -> bool {
    let hyphens = line.trim_end_matches([' ', '\t']);
    hyphens.len() >= 3 && hyphens.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::split;

    fn check(text: &str, expected: Result<(&str, u32), &str>) {
        let got = split(text).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{text:?}");
    }

    #[test]
    fn the_frontmatter_stands_between_two_lines_of_hyphens() {
        // AH-7, E1, E2
        let none = Err("HOOK.md must start with YAML frontmatter (---)");
        let open = Err("HOOK.md frontmatter not properly closed with ---");
        check("---\na: b\n---\nrest", Ok(("a: b\n", 2)));
        check("\u{feff}---\r\na: b\r\n---\r\n", Ok(("a: b\r\n", 2)));
        check("\n \t\n-----\t \na\n --- \n------\n---", Ok(("a\n --- \n", 4)));
        check("---\na: ---\n--- b\n---", Ok(("a: ---\n--- b\n", 2)));
        check("---\n---", Ok(("", 2)));
        for text in ["", "\n\n", "# x", "--\na\n--", " ---\na\n---", "---a\n---", "\u{b}\n---\n---"] {
            check(text, none);
        }
        check("---", open);
        check("---\na\n ---\n", open);
    }
}
