//! The line of a file that a finding is about, with the place underlined.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use lineside::core::Origin;
use rustix::fs::OFlags;

use crate::picture::{self, Label};
use crate::style::{Style, Tone, columns};

/// No file of hooks or settings has more bytes.
const LONGEST: u64 = 16 << 20;

/// The excerpt for what is said of a place; nothing where the file has no such line, or nothing there is named.
pub(crate) fn of(origin: &Origin, said: &str, style: Style) -> Vec<String> {
    at(&origin.file, origin.line, said, style).unwrap_or_default()
}

/// The same for a text that begins with its place, as `/home/me/hooks.yaml:3: …`.
pub(crate) fn of_text(text: &str, style: Style) -> Vec<String> {
    let placed = text.split_once(": ").and_then(|(place, said)| {
        let (file, line) = place.rsplit_once(':')?;
        at(Path::new(file), line.parse().ok()?, said, style)
    });
    placed.unwrap_or_default()
}

fn at(file: &Path, line: u32, said: &str, style: Style) -> Option<Vec<String>> {
    let text = read(file)?;
    let number = usize::try_from(line).ok()?;
    let line = text.lines().nth(number.checked_sub(1)?)?;
    let place = place(line, said).or_else(|| (number > 1).then(|| whole(line)))?;
    let label = Label { place, tone: Tone::Bad, text: String::new() };
    Some(picture::lines_from(number, line, &[label], columns(), style))
}

/// The text of a file. What a stranger may have put there is not waited for, and no link is followed.
fn read(file: &Path) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(flags.bits().cast_signed());
    let open = options.open(file).ok().filter(|_| file.is_absolute())?;
    let mut text = String::new();
    let is_file = open.metadata().is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    open.take(if is_file { LONGEST } else { return None }).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What a line has of what is named between backquotes: its value, if that is named too.
fn place(line: &str, said: &str) -> Option<Range<usize>> {
    let named = said.split('`').skip(1).step_by(2);
    let names = named.flat_map(|named| [Some(named), named.rsplit('.').next()]).flatten();
    let key = names.filter(|name| !name.is_empty()).find_map(|name| word(line, 0, name))?;
    let value = said.split('"').nth(1).filter(|value| !value.is_empty());
    Some(value.and_then(|value| word(line, key.end, value)).unwrap_or(key))
}

/// Where a word stands by itself, from a byte on.
fn word(line: &str, from: usize, word: &str) -> Option<Range<usize>> {
    let is_of_word =
        |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || "_-".contains(char));
    let places = line.get(from..)?.match_indices(word).map(|(at, _)| from + at..from + at + word.len());
    places.into_iter().find(|place| {
        !is_of_word(line[..place.start].chars().next_back()) && !is_of_word(line[place.end..].chars().next())
    })
}

fn whole(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start + 1).min(line.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_named_is_underlined_and_its_value_where_that_is_named_too() {
        let underlined = |line: &'static str, said: &str| place(line, said).map(|place| &line[place]);
        for (line, said, expected) in [
            ("    on_failure: deny", "`on_failure` is \"deny\", not block or continue", Some("deny")),
            ("  - name: on, on: befor_tool", "`on` has no point `befor_tool`", Some("on")),
            ("{name: only, on: x}", "`on` names `x` twice", Some("on")),
            ("  match: {tool: Bsh}", "`match.tool` is `Bsh`", Some("tool")),
            ("hooks: 5", "the file is not a mapping", None),
            ("a: é`b", "`b` is \"\"", Some("b")),
        ] {
            assert_eq!(underlined(line, said), expected, "{line}");
        }
    }

    #[test]
    fn a_place_that_is_no_line_of_a_file_has_no_excerpt() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hooks.yaml");
        fs::write(&file, "hooks:\n- {name: g, on: befor_tool}\n").unwrap();
        let told =
            |line: u32, said: &str| of_text(&format!("{}:{line}: {said}", file.display()), Style::PLAIN);
        let said = "`on` has no point `befor_tool`";
        assert_eq!(told(2, said), ["  2 │ - {name: g, on: befor_tool}", "                  ──"]);
        assert_eq!(told(2, "the entry is broken")[1].trim().chars().count(), 27);
        for (line, said) in [(1, "the file cannot be read"), (3, said), (0, said)] {
            assert_eq!(told(line, said), [""; 0], "{line}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(of_text(&format!("{}:2: {said}", link.display()), Style::PLAIN), [""; 0]);
        assert_eq!(of_text("hooks.yaml:2: `on` is wrong", Style::PLAIN), [""; 0]);
    }
}
