//! What an edit changes, as a unified diff.

use lineside::dialects::Places;
use lineside::hosts::install::Act;

use crate::page::unified;
use crate::painter::one_line;
use crate::places::shown;
use crate::style::{Style, Tone};

/// The diff as programs read it.
pub(super) fn text(act: &Act) -> String {
    let file = act.file.display().to_string();
    unified(act, &file)
}

/// The diff as people read it; an invisible character is shown as its escape.
pub(super) fn lines(act: &Act, places: &Places, style: Style) -> Vec<String> {
    if !act.is_change() {
        return vec![style.paint(Tone::Dim, "  nothing changes")];
    }
    let toned = |line: &str| {
        let tone = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Tone::Bold,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            [b'@', ..] => Tone::Message,
            [b'\\', ..] => Tone::Dim,
            _ => Tone::Plain,
        };
        style.paint(tone, &one_line(&line.trim_end_matches('\r').replace('\t', "    ")))
    };
    unified(act, &shown(&act.file, places)).lines().map(toned).collect()
}

fn unified(act: &Act, file: &str) -> String {
    let side = |text: &Option<String>| (if text.is_some() { file } else { "/dev/null" }).to_owned();
    let (before, after) =
        (act.before.as_deref().unwrap_or_default(), act.after.as_deref().unwrap_or_default());
    unified::unified(before, after, Some([&side(&act.before), &side(&act.after)]))
}
