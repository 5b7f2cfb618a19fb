//! What a person sees before they trust: every hook with what it starts, and every file whole, or what has changed of it.
//! Every character that cannot be seen is shown as its escape, and no line is cut.

use lineside::json::{Value, json};
use lineside::trust::{Content, Item, Kind, Store};

use crate::loading::finding_lines;
use crate::page::unified::unified;
use crate::painter::one_line;
use crate::project::Found;
use crate::style::{Style, Tone};

/// The page.
pub(super) fn lines(found: &Found, content: &Content, store: &Store, style: Style) -> Vec<String> {
    let root = one_line(&found.root().display().to_string());
    let mut lines = vec![style.paint(Tone::Bold, &format!("{root}: {}", found.word()))];
    lines.extend(found.wrong().map(|(what, _)| one_line(&what)));
    lines.extend([String::new(), "What its hooks would run:".to_owned()]);
    lines.extend(found.read.runs().iter().map(|run| format!("  {}", one_line(run))));
    let findings = found.read.files.diagnostics().flat_map(|finding| finding_lines(finding, style));
    lines.extend(findings.map(|line| format!("  {line}")));
    let unsealed = found.read.unsealed(store);
    lines.extend(
        unsealed.iter().flat_map(|finding| finding_lines(finding, style)).map(|line| format!("  {line}")),
    );
    lines.push(String::new());
    match found.record() {
        Some(record) => {
            let changes = content.since(&record.items);
            if changes.is_empty() {
                lines.push("Its content is what was trusted.".to_owned());
            }
            for change in changes {
                let text =
                    |item: Option<&Item>| item.and_then(|item| store.bytes(&item.digest)).unwrap_or_default();
                let before = text(change.before.as_ref());
                let now = change.now.as_ref().map(|item| content.bytes(item)).unwrap_or_default();
                let kinds = [&change.before, &change.now]
                    .map(|item| item.as_ref().map_or("nothing", |item| item.kind.as_str()));
                let kinds = if kinds[0] == kinds[1] { kinds[0].to_owned() } else { kinds.join(" to ") };
                let head = format!("{} {} ({kinds})", one_line(&change.path), change.verb());
                lines.push(style.paint(Tone::Bold, &head));
                lines.extend(difference(&before, now, style));
            }
        }
        None => {
            for item in content.items() {
                lines.push(
                    style.paint(Tone::Bold, &format!("{} ({})", one_line(&item.path), item.kind.as_str())),
                );
                lines.extend(whole(item, content.bytes(item)));
            }
        }
    }
    let digest = format!("digest {}", content.digest());
    lines.extend([String::new(), style.paint(Tone::Dim, &digest)]);
    lines
}

/// The hooks, for programs.
pub(super) fn hooks(found: &Found) -> Vec<Value> {
    found.read.runs().iter().map(|run| json!(run)).collect()
}

fn whole(item: &Item, bytes: &[u8]) -> Vec<String> {
    let shown = |text: &str| text.split('\n').map(|line| format!("  {}", seen(line))).collect::<Vec<_>>();
    match std::str::from_utf8(bytes) {
        Ok(target) if item.kind == Kind::Link => vec![format!("  leads to {}", one_line(target))],
        Ok(text) => shown(text.strip_suffix('\n').unwrap_or(text)),
        Err(_) => vec![binary(bytes)],
    }
}

fn difference(before: &[u8], now: &[u8], style: Style) -> Vec<String> {
    let (Ok(before), Ok(now)) = (std::str::from_utf8(before), std::str::from_utf8(now)) else {
        return vec![binary(now)];
    };
    let toned = |line: &str| {
        let tone = match line.as_bytes() {
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            _ => Tone::Plain,
        };
        format!("  {}", style.paint(tone, &seen(line)))
    };
    unified(before, now, None).split('\n').filter(|line| !line.is_empty()).map(toned).collect()
}

fn binary(bytes: &[u8]) -> String {
    format!("  {} bytes that are no text; look at them with another program", bytes.len())
}

/// A line whose indentation by tabs is one of blanks, and whose other invisible characters are their escapes.
fn seen(line: &str) -> String {
    let text = line.trim_start_matches('\t');
    format!("{}{}", "    ".repeat(line.len() - text.len()), one_line(text))
}
