//! What a pattern is made of once it has been read: every name resolved, every flag in its place.

/// Alternatives, each a sequence.
pub(super) type Branches = Vec<Vec<Node>>;

/// The flags in force at one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// `i`
    pub(super) ignore_case: bool,
    /// `m`
    pub(super) multi_line: bool,
    /// `s`
    pub(super) dot_all: bool,
    /// `x`
    pub(super) verbose: bool,
    /// `a`
    pub(super) ascii: bool,
}

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// One character.
    Literal(char, Flags),
    /// `.`
    Any(Flags),
    /// `[…]`, or a category outside of one.
    Set {
        /// Whether it begins with `^`.
        negated: bool,
        /// What is in it.
        items: Vec<Item>,
        /// The flags.
        flags: Flags,
    },
    /// A place between characters.
    At(Place, Flags),
    /// `(…)` with a number, `(?:…)` without.
    Group {
        /// The number of a capturing group.
        number: Option<u32>,
        /// What is in it.
        inner: Branches,
    },
    /// `(?>…)`
    Atomic(Branches),
    /// `(?=…)`, `(?!…)`, `(?<=…)`, `(?<!…)`
    Look {
        /// Ahead or behind.
        behind: bool,
        /// Whether it must not match.
        negated: bool,
        /// What is looked for.
        inner: Branches,
    },
    /// `\1`, `(?P=name)`
    Reference(u32, Flags),
    /// `(?(1)yes|no)`
    Conditional {
        /// The group asked for.
        group: u32,
        /// When it has matched.
        yes: Vec<Node>,
        /// When it has not.
        no: Vec<Node>,
    },
    /// `*`, `+`, `?`, `{m,n}`
    Repeat {
        /// What is repeated.
        item: Box<Node>,
        /// The least.
        least: u32,
        /// The most; absent for no bound.
        most: Option<u32>,
        /// How eagerly.
        greed: Greed,
    },
}

/// How a repetition takes its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greed {
    /// As much as possible.
    Greedy,
    /// As little as possible (`?`).
    Lazy,
    /// As much as possible, and never gives back (`+`).
    Possessive,
}

/// A place between characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `^`
    LineStart,
    /// `$`
    LineEnd,
    /// `\A`
    TextStart,
    /// `\Z`
    TextEnd,
    /// `\b`
    WordEdge,
    /// `\B`
    NotWordEdge,
}

/// Something in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// From one character to another, both included.
    Range(char, char),
    /// A category.
    Category(Category),
}

/// `\d`, `\s`, `\w` and their opposites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Category {
    /// Which.
    pub(super) kind: CategoryKind,
    /// Whether it is the opposite.
    pub(super) negated: bool,
}

/// The kinds of categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CategoryKind {
    /// `\d`
    Digit,
    /// `\s`
    Space,
    /// `\w`
    Word,
}

impl Category {
    /// The category that a letter after a backslash stands for.
    pub(super) fn of(letter: char) -> Option<Self> {
        let kind = match letter.to_ascii_lowercase() {
            'd' => CategoryKind::Digit,
            's' => CategoryKind::Space,
            'w' => CategoryKind::Word,
            _ => return None,
        };
        Some(Self { kind, negated: letter.is_ascii_uppercase() })
    }
}

/// The least and the greatest number of characters that something matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width {
    /// The least.
    pub(super) least: u64,
    /// The greatest; `u64::MAX` for no bound.
    pub(super) most: u64,
}

impl Width {
    /// Exactly that many.
    pub(super) fn exactly(count: u64) -> Self {
        Self { least: count, most: count }
    }

    fn then(self, other: Self) -> Self {
        Self { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }

    fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// The width of alternatives, given the widths of the groups so far.
    pub(super) fn of(branches: &Branches, groups: &[Option<Self>]) -> Self {
        branches
            .iter()
            .map(|branch| Self::of_sequence(branch, groups))
            .reduce(Self::or)
            .unwrap_or(Self::exactly(0))
    }

    /// Whether a part of it, also one that has no width, may be of any length.
    pub(super) fn looks_anywhere(branches: &Branches) -> bool {
        branches.iter().flatten().any(|node| match node {
            Node::Repeat { most: None, .. } => true,
            Node::Repeat { item, .. } => Self::looks_anywhere(&vec![vec![(**item).clone()]]),
            Node::Group { inner, .. } | Node::Atomic(inner) | Node::Look { inner, .. } => {
                Self::looks_anywhere(inner)
            }
            Node::Conditional { yes, no, .. } => Self::looks_anywhere(&vec![yes.clone(), no.clone()]),
            Node::Literal(..) | Node::Any(_) | Node::Set { .. } | Node::At(..) | Node::Reference(..) => false,
        })
    }

    fn of_sequence(sequence: &[Node], groups: &[Option<Self>]) -> Self {
        sequence.iter().fold(Self::exactly(0), |width, node| width.then(Self::of_node(node, groups)))
    }

    fn of_node(node: &Node, groups: &[Option<Self>]) -> Self {
        match node {
            Node::Literal(..) | Node::Any(_) | Node::Set { .. } => Self::exactly(1),
            Node::At(..) | Node::Look { .. } => Self::exactly(0),
            Node::Group { inner, .. } | Node::Atomic(inner) => Self::of(inner, groups),
            Node::Reference(number, _) => usize::try_from(*number)
                .ok()
                .and_then(|number| groups.get(number).copied().flatten())
                .unwrap_or(Self::exactly(0)),
            Node::Conditional { yes, no, .. } => {
                Self::of_sequence(yes, groups).or(Self::of_sequence(no, groups))
            }
            Node::Repeat { item, least, most, .. } => {
                let width = Self::of_node(item, groups);
                Self {
                    least: width.least.saturating_mul(u64::from(*least)),
                    most: match most {
                        Some(most) => width.most.saturating_mul(u64::from(*most)),
                        None if width.most == 0 => 0,
                        None => u64::MAX,
                    },
                }
            }
        }
    }
}
