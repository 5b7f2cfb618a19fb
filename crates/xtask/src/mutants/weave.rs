//! Puts the switches of a file into its text, and remembers where: what does not compile is found by its place.

use std::cmp::Reverse;
use std::ops::Range;

use super::switches::Switch;

/// A file with its switches.
#[derive(Debug, Default)]
pub(super) struct Woven {
    pub(super) text: String,
    /// Where the piece of each change is, in the order of the text.
    pub(super) places: Vec<(Range<usize>, usize)>,
}

impl Woven {
    /// The change whose piece a range of the text is of; the next one after it where it is of none.
    pub(super) fn change_at(&self, range: &Range<usize>) -> Option<(usize, IsItsOwn)> {
        let holds = |place: &Range<usize>| place.start <= range.start && range.start < place.end;
        if let Some((_, change)) = self.places.iter().find(|(place, _)| holds(place)) {
            return Some((*change, IsItsOwn::Yes));
        }
        let next = self.places.iter().find(|(place, _)| place.start >= range.start);
        next.or(self.places.last()).map(|(_, change)| (*change, IsItsOwn::No))
    }
}

/// Whether what the compiler refuses is the change itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsItsOwn {
    Yes,
    No,
}

/// Where several meet, the inner ones end before the outer ones, and the outer ones begin before the inner ones.
pub(super) fn weave(text: &str, switches: &[Switch], left_out: impl Fn(usize) -> bool) -> Woven {
    let kept = |switch: &&Switch| {
        switch.before.iter().any(|piece| piece.change.is_some_and(|change| !left_out(change)))
    };
    let mut edits = Vec::new();
    for (index, switch) in switches.iter().filter(kept).enumerate() {
        let Range { start, end } = switch.range;
        let is_mark = start == end;
        // Of two with one range the first is the outer one.
        edits.push((start, 1, Reverse(if is_mark { usize::MAX } else { end }), index, Edit::Before(switch)));
        if !is_mark {
            edits.push((end, 0, Reverse(start), usize::MAX - index, Edit::After(switch.after)));
        }
    }
    edits.sort_by_key(|(at, order, tie, index, _)| (*at, *order, *tie, *index));
    let mut woven = Woven::default();
    let mut from = 0;
    for (at, _, _, _, edit) in edits {
        woven.text.push_str(&text[from..at]);
        from = at;
        match edit {
            Edit::After(after) => woven.text.push_str(after),
            Edit::Before(switch) => {
                for piece in &switch.before {
                    if piece.change.is_some_and(&left_out) {
                        continue;
                    }
                    let start = woven.text.len();
                    woven.text.push_str(&piece.text);
                    woven.places.extend(piece.change.map(|change| (start..woven.text.len(), change)));
                }
            }
        }
    }
    woven.text.push_str(&text[from..]);
    woven
}

enum Edit<'a> {
    Before(&'a Switch),
    After(&'static str),
}

#[cfg(test)]
mod tests {
    use super::super::change::{Change, Genre, Place, Span};
    use super::super::switches::switches;
    use super::*;

    fn change(genre: Genre, line: usize, column: usize, replacement: &str) -> Change {
        Change {
            name: String::new(),
            package: String::new(),
            file: String::new(),
            genre,
            replacement: replacement.to_owned(),
            span: Span { start: Place { line, column } },
        }
    }

    fn woven(text: &str, changes: &[Change], left_out: &[usize]) -> Woven {
        let changes: Vec<_> = changes.iter().enumerate().collect();
        let found = switches(text, &changes).unwrap();
        weave(text, &found.switches, |change| left_out.contains(&change))
    }

    #[test]
    fn an_operator_and_what_is_within_it_are_switched() {
        let text = "fn f() -> bool { !a && b }";
        let changes = [
            change(Genre::FnValue, 1, 18, "true"),
            change(Genre::UnaryOperator, 1, 18, ""),
            change(Genre::BinaryOperator, 1, 21, "||"),
        ];
        let all = woven(text, &changes, &[]);
        assert_eq!(
            all.text,
            "fn f() -> bool { if crate::__mutant(0) { return true; } \
             (if crate::__mutant(2) { ((!a) || (b)) } else { (\
             (if crate::__mutant(1) { (a) } else { (!a) }) && b) }) }"
        );
        let at = all.text.find("|| (b)").unwrap();
        assert_eq!(all.change_at(&(at..at + 1)), Some((2, IsItsOwn::Yes)));
        assert_eq!(all.change_at(&(0..1)), Some((0, IsItsOwn::No)));
        assert_eq!(woven(text, &changes, &[0, 1, 2]).text, text);
    }

    #[test]
    fn an_arm_its_guard_and_a_field_are_switched() {
        let text = "fn f() { match x { 1 => a, 2 if g => b, _ => S { c: 3, d, ..e } } }";
        let column = |what: &str| text.find(what).unwrap() + 1;
        let changes = [
            change(Genre::MatchArm, 1, column("1 =>"), ""),
            change(Genre::MatchArmGuard, 1, column("g =>"), "true"),
            change(Genre::MatchArmGuard, 1, column("g =>"), "false"),
            change(Genre::StructField, 1, column("c: 3"), ""),
            change(Genre::StructField, 1, column("d, .."), ""),
        ];
        assert_eq!(
            woven(text, &changes, &[]).text,
            "fn f() { match x { 1 if !crate::__mutant(0) => a, \
             2 if !crate::__mutant(2) && (crate::__mutant(1) || (g)) => b, \
             _ => S { c: (if crate::__mutant(3) { let rest: S = e; rest.c } else { (3) }), \
             d: (if crate::__mutant(4) { let rest: S = e; rest.d } else { (d) }), ..e } } }"
        );
    }

    #[test]
    fn what_is_constant_is_left_and_what_never_compiles_is_told() {
        let text =
            "const A: u8 = 1 + 2; const fn f() -> bool { a == b } fn g() { if let Some(a) = b && c {} }";
        let column = |what: &str| text.find(what).unwrap() + 1;
        let changes = [
            change(Genre::BinaryOperator, 1, column("+"), "-"),
            change(Genre::BinaryOperator, 1, column("=="), "!="),
            change(Genre::FnValue, 1, column("a =="), "true"),
            change(Genre::BinaryOperator, 1, column("&&"), "||"),
        ];
        let numbered: Vec<_> = changes.iter().enumerate().collect();
        let found = switches(text, &numbered).unwrap();
        assert!(found.switches.is_empty());
        assert_eq!(found.unviable, [3]);
    }
}
