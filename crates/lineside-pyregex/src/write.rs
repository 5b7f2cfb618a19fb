//! Writes a pattern for the engine, from pieces whose meaning there is beyond doubt.
//!
//! No flag is ever set for more than one piece, no group has a name, and every character that the engine could read as
//! an operator is written as `\x{…}`.

use super::syntax::{Branches, Category, CategoryKind, Flags, Greed, Item, Node, Place};

/// The pattern in the engine's syntax.
pub(super) fn write(branches: &Branches) -> String {
    let mut out = String::new();
    alternatives(branches, &mut out);
    out
}

fn alternatives(branches: &Branches, out: &mut String) {
    for (index, branch) in branches.iter().enumerate() {
        if index > 0 {
            out.push('|');
        }
        sequence(branch, out);
    }
}

fn sequence(nodes: &[Node], out: &mut String) {
    let mut rest = nodes;
    while let Some(first) = rest.first() {
        let run = literal_run(rest);
        if run > 1 {
            literals(&rest[..run], out);
        } else {
            piece(first, out);
        }
        rest = &rest[run.max(1)..];
    }
}

/// How many pieces from here are characters under the same flags.
fn literal_run(nodes: &[Node]) -> usize {
    let Some(Node::Literal(_, flags)) = nodes.first() else {
        return 0;
    };
    nodes.iter().take_while(|node| matches!(node, Node::Literal(_, other) if other == flags)).count()
}

fn literals(nodes: &[Node], out: &mut String) {
    let mut text = String::new();
    let mut folded = false;
    for node in nodes {
        if let Node::Literal(character, flags) = node {
            folded = flags.ignore_case && !flags.ascii;
            match character {
                letter if flags.ignore_case && flags.ascii && letter.is_ascii_alphabetic() => {
                    class(false, &[Item::Range(*letter, *letter)], *flags, &mut text);
                }
                other => escaped(*other, &mut text),
            }
        }
    }
    if folded {
        out.push_str("(?i:");
        out.push_str(&text);
        out.push(')');
    } else {
        out.push_str(&text);
    }
}

fn piece(node: &Node, out: &mut String) {
    match node {
        Node::Literal(..) => literals(std::slice::from_ref(node), out),
        Node::Any(flags) if flags.dot_all => out.push_str("(?s:.)"),
        Node::Any(_) => out.push_str("[^\\n]"),
        Node::Set { negated, items, flags } => {
            if flags.ignore_case && !flags.ascii {
                out.push_str("(?i:");
                class(*negated, items, *flags, out);
                out.push(')');
            } else {
                class(*negated, items, *flags, out);
            }
        }
        Node::At(place, flags) => out.push_str(match (place, flags.multi_line, flags.ascii) {
            (Place::LineStart, true, _) => "(?m:^)",
            (Place::LineStart | Place::TextStart, _, _) => "\\A",
            (Place::LineEnd, true, _) => "(?m:$)",
            // Not before a final line feed (AH-25).
            (Place::LineEnd | Place::TextEnd, _, _) => "\\z",
            (Place::WordEdge, _, false) => "\\b",
            (Place::NotWordEdge, _, false) => "\\B",
            (Place::WordEdge, _, true) => ASCII_EDGE,
            (Place::NotWordEdge, _, true) => ASCII_NO_EDGE,
        }),
        Node::Group { number, inner } => {
            group(if number.is_some() { "(" } else { "(?:" }, inner, out);
        }
        Node::Atomic(inner) => group("(?>", inner, out),
        Node::Look { behind, negated, inner } => group(
            match (behind, negated) {
                (false, false) => "(?=",
                (false, true) => "(?!",
                (true, false) => "(?<=",
                (true, true) => "(?<!",
            },
            inner,
            out,
        ),
        Node::Reference(number, flags) => {
            let open = if flags.ignore_case { "(?i:" } else { "(?:" };
            push(out, format_args!("{open}\\{number})"));
        }
        Node::Conditional { group, yes, no } => {
            push(out, format_args!("(?({group})(?:"));
            sequence(yes, out);
            out.push_str(")|(?:");
            sequence(no, out);
            out.push_str("))");
        }
        // The engine repeats nothing that takes no character; once more makes no difference.
        Node::Repeat { item, least, greed, .. } if takes_nothing(item) => {
            let (open, close) = match (least, greed) {
                (0, Greed::Lazy) => ("(?:|", ")"),
                (0, _) => ("(?:", "|)"),
                _ => ("(?:", ")"),
            };
            out.push_str(open);
            piece(item, out);
            out.push_str(close);
        }
        Node::Repeat { item, least, most, greed } => {
            if *greed == Greed::Possessive {
                out.push_str("(?>");
            }
            if matches!(**item, Node::Conditional { .. }) {
                out.push_str("(?:");
                piece(item, out);
                out.push(')');
            } else {
                // One piece for the engine too; groups around it would count against its bound on nesting.
                piece(item, out);
            }
            match (least, most) {
                (0, None) => out.push('*'),
                (1, None) => out.push('+'),
                (0, Some(1)) => out.push('?'),
                (least, None) => push(out, format_args!("{{{least},}}")),
                (least, Some(most)) => push(out, format_args!("{{{least},{most}}}")),
            }
            match greed {
                Greed::Greedy => {}
                Greed::Lazy => out.push('?'),
                Greed::Possessive => out.push(')'),
            }
        }
    }
}

fn takes_nothing(node: &Node) -> bool {
    match node {
        Node::At(..) | Node::Look { .. } => true,
        Node::Group { inner, .. } | Node::Atomic(inner) => inner.iter().flatten().all(takes_nothing),
        Node::Conditional { yes, no, .. } => yes.iter().chain(no).all(takes_nothing),
        Node::Repeat { item, .. } => takes_nothing(item),
        Node::Literal(..) | Node::Any(_) | Node::Set { .. } | Node::Reference(..) => false,
    }
}

/// `\b` and `\B` when words are ASCII only.
const ASCII_EDGE: &str = "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))";
const ASCII_NO_EDGE: &str = "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))";

fn group(open: &str, inner: &Branches, out: &mut String) {
    out.push_str(open);
    alternatives(inner, out);
    out.push(')');
}

fn class(negated: bool, items: &[Item], flags: Flags, out: &mut String) {
    if let ([Item::Category(only)], false) = (items, negated) {
        return category(*only, flags, out);
    }
    out.push_str(if negated { "[^" } else { "[" });
    for item in items {
        match item {
            Item::Range(from, to) => {
                range(*from, *to, out);
                if flags.ignore_case && flags.ascii {
                    other_case(*from, *to, out);
                }
            }
            Item::Category(inner) => category(*inner, flags, out),
        }
    }
    out.push(']');
}

fn range(from: char, to: char, out: &mut String) {
    escaped(from, out);
    if from != to {
        out.push('-');
        escaped(to, out);
    }
}

/// The ASCII letters of a range, in their other case.
fn other_case(from: char, to: char, out: &mut String) {
    for (first, last, flip) in
        [('a', 'z', char::to_ascii_uppercase as fn(&char) -> char), ('A', 'Z', char::to_ascii_lowercase)]
    {
        let (from, to) = (from.max(first), to.min(last));
        if from <= to {
            range(flip(&from), flip(&to), out);
        }
    }
}

fn category(category: Category, flags: Flags, out: &mut String) {
    out.push_str(match (category.kind, category.negated, flags.ascii) {
        (CategoryKind::Digit, false, false) => "\\p{Nd}",
        (CategoryKind::Digit, true, false) => "\\P{Nd}",
        // What `str.isspace` holds to be white space: the separators 1C to 1F as well.
        (CategoryKind::Space, false, false) => "[\\s\\x{1C}-\\x{1F}]",
        (CategoryKind::Space, true, false) => "[^\\s\\x{1C}-\\x{1F}]",
        // What `str.isalnum` holds to be a letter or a number, and `_`.
        (CategoryKind::Word, false, false) => "[\\p{L}\\p{N}_]",
        (CategoryKind::Word, true, false) => "[^\\p{L}\\p{N}_]",
        (CategoryKind::Digit, false, true) => "[0-9]",
        (CategoryKind::Digit, true, true) => "[^0-9]",
        (CategoryKind::Space, false, true) => "[\\x{9}-\\x{D}\\x{20}]",
        (CategoryKind::Space, true, true) => "[^\\x{9}-\\x{D}\\x{20}]",
        (CategoryKind::Word, false, true) => "[0-9A-Za-z_]",
        (CategoryKind::Word, true, true) => "[^0-9A-Za-z_]",
    });
}

fn escaped(character: char, out: &mut String) {
    if character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii() {
        out.push(character);
    } else {
        push(out, format_args!("\\x{{{:X}}}", u32::from(character)));
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.push_str(&arguments.to_string());
}
