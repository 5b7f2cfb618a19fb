//! Events to nodes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use granit_parser::{Event, ScalarStyle, ScanError, Span, Tag};

use super::{
    BuildError, Content, DEEPEST, Document, Documents, DuplicateKey, MOST_NODES, Node, OF_VALUE, absolute,
    escapes, scalar,
};

/// Makes a document of the events of a parser.
pub(super) fn build<'a>(
    text: &str,
    events: impl Iterator<Item = Result<(Event<'a>, Span), ScanError>>,
    first_line: u32,
    documents: Documents,
) -> Result<Document, BuildError> {
    let mut builder = Builder {
        first_line,
        stack: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
        documents: 0,
        duplicates: Vec::new(),
    };
    for event in events {
        let (event, span) = event.map_err(BuildError::Scan)?;
        if documents == Documents::First && matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.event(text, event, span)?;
    }
    let root = builder.root.unwrap_or(Node::new(first_line, Content::Null));
    builder.duplicates.sort_by_key(|duplicate| duplicate.line);
    Ok(Document { root, duplicates: builder.duplicates, kept: Vec::new() })
}

struct Builder {
    first_line: u32,
    stack: Vec<Open>,
    /// Values that an alias may stand for, and the size of each.
    anchors: HashMap<usize, (Node, Size)>,
    nodes: usize,
    root: Option<Node>,
    documents: usize,
    duplicates: Vec<DuplicateKey>,
}

/// What a value counts as.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    /// How many collections are within one another in it, itself included.
    levels: usize,
}

/// A collection that is not closed yet.
struct Open {
    anchor: usize,
    line: u32,
    /// How many nodes there were when it began.
    before: usize,
    /// The levels within it.
    levels: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Mapping(Vec<(Node, Node)>, Option<Node>),
}

impl Builder {
    fn event(&mut self, text: &str, event: Event<'_>, span: Span) -> Result<(), BuildError> {
        let line = absolute(span.start.line(), self.first_line);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(BuildError::Bound("more than one document", line));
                }
                Ok(())
            }
            Event::Scalar(value, style, anchor, tag) => {
                let quoted =
                    if style == ScalarStyle::DoubleQuoted { escapes::source(span.slice(text)) } else { None };
                let node = Node {
                    line,
                    content: scalar_content(&value, style, tag.as_deref(), line)?,
                    quoted: quoted.map(|source| Cow::into_owned(source).into()),
                    plain: (style == ScalarStyle::Plain).then(|| value.as_ref().into()),
                };
                self.place(node, anchor, Size { nodes: 1 + value.len() / OF_VALUE, levels: 0 })
            }
            Event::SequenceStart(_, anchor, _) => self.open(anchor, line, Items::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.open(anchor, line, Items::Mapping(Vec::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some((node, size)) => {
                    let (node, size) = (node.clone(), *size);
                    self.place(Node { line, ..node }, 0, size)
                }
                None => Err(BuildError::Bound("an alias stands for what it is part of", line)),
            },
            _ => Ok(()),
        }
    }

    fn open(&mut self, anchor: usize, line: u32, items: Items) -> Result<(), BuildError> {
        let before = self.nodes;
        self.count(Size { nodes: 1, levels: 1 }, line)?;
        self.stack.push(Open { anchor, line, before, levels: 0, items });
        Ok(())
    }

    fn close(&mut self) -> Result<(), BuildError> {
        let Some(open) = self.stack.pop() else { return Ok(()) };
        let content = match open.items {
            Items::List(items) => Content::List(items),
            Items::Mapping(entries, _) => {
                self.find_duplicates(&entries);
                Content::Mapping(entries)
            }
        };
        let node = Node::new(open.line, content);
        let size = Size { nodes: self.nodes - open.before, levels: open.levels + 1 };
        self.remember(&node, open.anchor, size);
        self.attach(node, size);
        Ok(())
    }

    fn place(&mut self, node: Node, anchor: usize, size: Size) -> Result<(), BuildError> {
        self.count(size, node.line)?;
        self.remember(&node, anchor, size);
        self.attach(node, size);
        Ok(())
    }

    fn count(&mut self, size: Size, line: u32) -> Result<(), BuildError> {
        self.nodes = self.nodes.saturating_add(size.nodes);
        if self.nodes > MOST_NODES {
            let problem = "more than 100000 values, where aliases count as what they stand for and each 64 bytes of a text as one";
            return Err(BuildError::Bound(problem, line));
        }
        if self.stack.len() + size.levels > DEEPEST {
            return Err(BuildError::Bound("more than 64 levels, aliases counted", line));
        }
        Ok(())
    }

    fn remember(&mut self, node: &Node, anchor: usize, size: Size) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
    }

    fn attach(&mut self, node: Node, size: Size) {
        if let Some(open) = self.stack.last_mut() {
            open.levels = open.levels.max(size.levels);
        }
        match self.stack.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Mapping(entries, key)) => match key.take() {
                None => *key = Some(node),
                Some(key) => entries.push((key, node)),
            },
        }
    }

    fn find_duplicates(&mut self, entries: &[(Node, Node)]) {
        let mut seen = HashSet::new();
        for (key, _) in entries {
            let mut identity = String::new();
            identify(key, &mut identity);
            if !seen.insert(identity) {
                self.duplicates.push(DuplicateKey { key: key.label(), line: key.line });
            }
        }
    }
}

fn scalar_content(
    value: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    line: u32,
) -> Result<Content, BuildError> {
    let core = tag.and_then(Tag::core_suffix);
    match core {
        Some("str") => return Ok(Content::Text(value.to_owned())),
        Some(kind @ ("int" | "bool" | "null" | "float")) => {
            let content = scalar::plain(value);
            let fits = match content {
                Content::Integer(_) => kind == "int" || kind == "float",
                Content::Boolean(_) => kind == "bool",
                Content::Null => kind == "null",
                Content::Float(_) => kind == "float",
                _ => false,
            };
            return if fits {
                Ok(content)
            } else {
                Err(BuildError::Bound("a value that does not fit its tag", line))
            };
        }
        _ => {}
    }
    Ok(if style == ScalarStyle::Plain && tag.is_none() {
        scalar::plain(value)
    } else {
        Content::Text(value.to_owned())
    })
}

/// A text that two nodes share exactly when they are the same key.
fn identify(node: &Node, out: &mut String) {
    let mut push = |text: std::fmt::Arguments<'_>| out.push_str(&text.to_string());
    match &node.content {
        Content::Null => push(format_args!("n;")),
        Content::Boolean(value) => push(format_args!("b{value};")),
        Content::Integer(value) => push(format_args!("i{value};")),
        Content::Float(value) => push(format_args!("f{value};")),
        Content::Text(text) => push(format_args!("t{}:{text};", text.len())),
        Content::List(items) => {
            push(format_args!("l{}:", items.len()));
            for item in items {
                identify(item, out);
            }
        }
        Content::Mapping(entries) => {
            push(format_args!("m{}:", entries.len()));
            for (key, value) in entries {
                identify(key, out);
                identify(value, out);
            }
        }
    }
}
