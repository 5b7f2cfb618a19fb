//! Texts of which nothing but their substitutions counts.

use super::{Fields, Mode, backquoted};
use crate::scan::closing;
use crate::walk::Walk;

impl Walk<'_> {
    /// RunsFilter the substitutions in a text of which nothing else counts: `[[ … ]]`, `(( … ))`, an index.
    pub(crate) fn only_substitutions(&mut self, text: &str) {
        let mut at = 0;
        while let Some(found) = text[at..].find(['$', '`', '\'', '\\', '<', '>']) {
            let sign = at + found;
            let rest = &text[sign + 1..];
            at = sign + 1;
            match text.as_bytes()[sign] {
                b'\\' => at += rest.chars().next().map_or(0, char::len_utf8),
                b'\'' => {
                    // `[[ -v 'a[$(…)]' ]]` runs what a quoted index holds.
                    if let Some(end) = rest.find('\'') {
                        if rest[..end].contains("[$(") {
                            self.only_substitutions(&rest[..end]);
                        }
                        at += end + 1;
                    }
                }
                b'<' | b'>' if !rest.starts_with('(') => {}
                b'$' | b'`' => {
                    let mut fields = Fields::default();
                    if text.as_bytes()[sign] == b'$' {
                        at = self.dollar(text, sign + 1, Mode::Quoted, &mut fields);
                    } else {
                        let end = closing(text, sign + 1, '`').unwrap_or(text.len());
                        let inner = backquoted(&text[sign + 1..end], false);
                        self.substitute(&inner);
                        at = (end + 1).min(text.len());
                    }
                }
                _ => {
                    let end = closing(text, sign + 2, ')').unwrap_or(text.len());
                    self.process(&text[sign + 2..end], text.as_bytes()[sign] == b'<');
                    at = (end + 1).min(text.len());
                }
            }
        }
    }
}
