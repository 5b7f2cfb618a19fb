//! What installing and uninstalling make of the text of a settings file (HO-60 to HO-62).
//!
//! Texts in, texts out. Every edit is read back: it is an error if anything but our entries would have changed.

use serde::{Deserialize, Serialize};

use super::super::import::Syntax;
use super::entry::{self, Wanted, is_our_handler, words};
use super::piece::{Content, EditError, Member, Piece, has_trailing_commas, read};
use super::splice::{Change, New, Page, apply};

/// The list of hooks.
const HOOKS: &str = "hooks";

/// How the file of a host is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) syntax: Syntax,
    /// The value of `version` in a file that is created.
    pub(super) version: Option<u32>,
}

/// A text that was inserted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inserted {
    /// Where it begins in the new text, in bytes.
    pub(super) at: usize,
    /// The text.
    pub(super) text: String,
}

/// What installing makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// The new text.
    pub(super) text: String,
    /// What was inserted into the old one to make it; none if something was replaced as well.
    pub(super) inserted: Vec<Inserted>,
    /// The lists that were made for our entries: `hooks` and names of events.
    pub(super) made: Vec<String>,
}

/// Adds the entries that are missing; one of ours that starts another command, or lets it run for another time, is replaced.
///
/// # Errors
/// The file cannot be read or has another shape.
pub(super) fn add(text: Option<&str>, form: Form, wanted: &[Wanted]) -> Result<Edit, EditError> {
    let Some(text) = text else { return Ok(created(form, wanted)) };
    let root = match text.trim_start_matches('\u{feff}').trim() {
        // A file with nothing in it is one that was not there.
        "" => {
            let created = created(form, wanted);
            let inserted = vec![Inserted { at: text.len(), text: created.text.clone() }];
            return Ok(Edit { text: format!("{text}{}", created.text), inserted, ..created });
        }
        _ => read(text, form.syntax)?,
    };
    let page = Page::new(text, &root, form.syntax);
    let mut plan = Plan { page, changes: Vec::new(), made: Vec::new() };
    match form.syntax {
        Syntax::Json => plan.json(&root, wanted)?,
        Syntax::Toml => plan.toml(&root, wanted)?,
    }
    let Plan { mut changes, made, .. } = plan;
    changes.sort_by_key(|change| (change.at.start, change.at.end));
    let edited = apply(text, &changes);
    let read_back = read(&edited, form.syntax).map_err(|_| EditError::Unsafe)?;
    let is_complete = wanted.iter().all(|entry| {
        let handlers = handlers(&read_back, form.syntax, entry.event);
        handlers.iter().any(|handler| entry.is_said_by(handler))
    });
    if !is_complete || rest(&root, form.syntax) != rest(&read_back, form.syntax) {
        return Err(EditError::Unsafe);
    }
    Ok(Edit { inserted: insertions(&changes), text: edited, made })
}

/// Removes our entries, and of the lists that were made for them those that are empty then.
///
/// # Errors
/// The file cannot be read or has another shape.
pub(super) fn remove(text: &str, syntax: Syntax, made: &[String]) -> Result<String, EditError> {
    let root = read(text, syntax)?;
    let page = Page::new(text, &root, syntax);
    let mut changes = match (syntax, root.member(HOOKS)) {
        (_, None) => Vec::new(),
        (Syntax::Json, Some(hooks)) => cut_json(&page, &root, hooks, made),
        (Syntax::Toml, Some(hooks)) => {
            let elements = hooks.value.elements();
            let ours: Vec<usize> = (0..elements.len()).filter(|at| is_our_handler(&elements[*at])).collect();
            if is_of_tables(text, &hooks.value) {
                ours.iter().map(|at| page.cut_table(&elements[*at])).collect()
            } else {
                page.cut(&hooks.value, &ours)
            }
        }
    };
    changes.sort_by_key(|change| (change.at.start, change.at.end));
    let edited = apply(text, &changes);
    let read_back = read(&edited, syntax).map_err(|_| EditError::Unsafe)?;
    if rest(&root, syntax) != rest(&read_back, syntax) || !our_handlers(&read_back, syntax).is_empty() {
        return Err(EditError::Unsafe);
    }
    Ok(edited)
}

/// The text as it was before the insertions; `None` if they do not stand where they were made.
pub(super) fn reverted(text: &str, inserted: &[Inserted]) -> Option<String> {
    let mut reverted = String::with_capacity(text.len());
    let mut at = 0;
    for Inserted { at: start, text: inserted } in inserted {
        let end = start.checked_add(inserted.len())?;
        if text.get(*start..end)? != inserted {
            return None;
        }
        reverted.push_str(text.get(at..*start)?);
        at = end;
    }
    reverted.push_str(text.get(at..)?);
    Some(reverted)
}

/// The text without the insertions where it was edited elsewhere since, before all of them, behind them, or between two; it
/// was `length` bytes long. `None` if they do not stand there, or something else would go with them.
pub(super) fn reverted_elsewhere(
    text: &str,
    syntax: Syntax,
    inserted: &[Inserted],
    length: usize,
) -> Option<String> {
    let root = read(text, syntax).ok()?;
    let moved = |(index, one): (usize, &Inserted), unmoved: usize| {
        let at =
            if index < unmoved { one.at } else { one.at.checked_add(text.len())?.checked_sub(length)? };
        Some(Inserted { at, text: one.text.clone() })
    };
    (0..=inserted.len()).rev().find_map(|unmoved| {
        let moved: Option<Vec<_>> = inserted.iter().enumerate().map(|one| moved(one, unmoved)).collect();
        let edited = reverted(text, &moved?)?;
        let read_back = read(&edited, syntax).ok()?;
        let is_clean =
            rest(&root, syntax) == rest(&read_back, syntax) && our_handlers(&read_back, syntax).is_empty();
        // A comma that stood before one of our entries is that of nothing now.
        let is_strict = syntax == Syntax::Toml || !has_trailing_commas(&edited) || has_trailing_commas(text);
        (is_clean && is_strict).then_some(edited)
    })
}

/// The events at which a file has an entry of ours.
///
/// # Errors
/// The file cannot be read.
pub(super) fn events(text: &str, syntax: Syntax) -> Result<Vec<String>, EditError> {
    Ok(entries(text, syntax)?.into_iter().map(|(event, ..)| event).collect())
}

/// An entry of ours: its event, the words of its command, and its limit in the unit of its host.
pub(super) type Entry = (String, Vec<String>, Option<u64>);

/// Our entries in a file.
///
/// # Errors
/// The file cannot be read.
pub(super) fn entries(text: &str, syntax: Syntax) -> Result<Vec<Entry>, EditError> {
    let root = read(text, syntax)?;
    let ours = our_handlers(&root, syntax).into_iter();
    Ok(ours.map(|(event, handler)| (event, words(handler), entry::limit(handler))).collect())
}

/// Whether a file of JSON has entries of ours, and no handler that is none.
#[must_use]
pub fn has_ours_alone(text: &str) -> bool {
    let Ok(root) = read(text, Syntax::Json) else { return false };
    let Some(hooks) = root.member(HOOKS) else { return false };
    let mut handlers = hooks.value.members().iter().flat_map(|list| handlers_of(&list.value)).peekable();
    handlers.peek().is_some() && handlers.all(is_our_handler)
}

/// Whether a file that was created has nothing left in it.
pub(super) fn is_nothing(text: &str, form: Form) -> bool {
    let Ok(root) = read(text, form.syntax) else { return false };
    let has_comments = text.contains("//") || text.contains("/*") || text.contains('#');
    let is_empty = |member: &Member| match member.key.as_str() {
        "version" => form.version.is_some_and(|version| said(&member.value) == version.to_string()),
        HOOKS => member.value.members().is_empty() && member.value.elements().is_empty(),
        _ => false,
    };
    !has_comments && root.members().iter().all(is_empty)
}

struct Plan<'a> {
    page: Page<'a>,
    changes: Vec<Change>,
    made: Vec<String>,
}

impl Plan<'_> {
    fn json(&mut self, root: &Piece, wanted: &[Wanted]) -> Result<(), EditError> {
        let element = |entry: &Wanted| New::List(vec![New::Line(entry.element.clone())]);
        let Some(hooks) = root.member(HOOKS) else {
            let events = wanted.iter().map(|entry| (entry.event.to_owned(), element(entry))).collect();
            self.made.push(HOOKS.to_owned());
            for entry in wanted {
                self.made.push(entry.event.to_owned());
            }
            self.changes.extend(self.page.append(root, &[(Some(HOOKS), New::Object(events))]));
            return Ok(());
        };
        if !matches!(hooks.value.content, Content::Object(_)) {
            return Err(EditError::Shape { part: HOOKS.to_owned(), must: "an object" });
        }
        let mut lists = Vec::new();
        for entry in wanted {
            let Some(list) = hooks.value.member(entry.event) else {
                self.made.push(entry.event.to_owned());
                lists.push((Some(entry.event), element(entry)));
                continue;
            };
            if !matches!(list.value.content, Content::List(_)) {
                let part = format!("{HOOKS}.{}", entry.event);
                return Err(EditError::Shape { part, must: "a list" });
            }
            let ours = || handlers_of(&list.value).into_iter().filter(|handler| is_our_handler(handler));
            if ours().any(|handler| entry.is_said_by(handler)) {
                continue;
            }
            match ours().next() {
                Some(old) => self.changes.push(Change { at: old.span.clone(), text: entry.handler.clone() }),
                None => {
                    let new = New::Line(entry.element.clone());
                    self.changes.extend(self.page.append(&list.value, &[(None, new)]));
                }
            }
        }
        if !lists.is_empty() {
            self.changes.extend(self.page.append(&hooks.value, &lists));
        }
        Ok(())
    }

    fn toml(&mut self, root: &Piece, wanted: &[Wanted]) -> Result<(), EditError> {
        let list = root.member(HOOKS).map(|hooks| &hooks.value);
        if list.is_some_and(|list| !matches!(list.content, Content::List(_))) {
            return Err(EditError::Shape { part: HOOKS.to_owned(), must: "a list" });
        }
        let handlers = list.map(Piece::elements).unwrap_or_default();
        let in_brackets = list.filter(|list| !is_of_tables(self.page.text(), list));
        let between = if in_brackets.is_some() { ", " } else { "\n" };
        let mut missing = Vec::new();
        for entry in wanted {
            let ours = || {
                handlers
                    .iter()
                    .filter(|handler| handler.text("event") == Some(entry.event) && is_our_handler(handler))
            };
            if ours().any(|handler| entry.is_said_by(handler)) {
                continue;
            }
            let old = ours().next();
            let Some((old, command)) = old.and_then(|old| Some((old, old.member("command")?))) else {
                missing.push(entry);
                continue;
            };
            let [_, new, time] = &entry.fields;
            match old.member("timeout") {
                Some(old) => {
                    self.changes.push(Change { at: command.span.clone(), text: new.clone() });
                    self.changes.push(Change { at: old.span.clone(), text: time.clone() });
                }
                None => {
                    let text = format!("{new}{between}{time}");
                    self.changes.push(Change { at: command.span.clone(), text });
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        match in_brackets {
            Some(list) => {
                let new: Vec<_> =
                    missing.iter().map(|entry| (None, New::Line(entry.element.clone()))).collect();
                self.changes.extend(self.page.append(list, &new));
            }
            None => {
                let tables: Vec<String> = missing.iter().map(|entry| entry.table()).collect();
                self.changes.extend(self.page.append_tables(&tables));
            }
        }
        Ok(())
    }
}

/// A file with our entries alone.
fn created(form: Form, wanted: &[Wanted]) -> Edit {
    let nothing = Piece { span: 0..0, content: Content::Object(Vec::new()) };
    let page = Page::new("", &nothing, form.syntax);
    let text = match form.syntax {
        Syntax::Toml => apply("", &page.append_tables(&wanted.iter().map(Wanted::table).collect::<Vec<_>>())),
        Syntax::Json => {
            let lists = wanted
                .iter()
                .map(|entry| (entry.event.to_owned(), New::List(vec![New::Line(entry.element.clone())])));
            let version = form.version.map(|version| ("version".to_owned(), New::Line(version.to_string())));
            let hooks = (HOOKS.to_owned(), New::Object(lists.collect()));
            page.written(&New::Object(version.into_iter().chain([hooks]).collect()), "", true) + "\n"
        }
    };
    let made =
        std::iter::once(HOOKS).chain(wanted.iter().map(|entry| entry.event)).map(str::to_owned).collect();
    Edit { text, inserted: Vec::new(), made }
}

/// What was inserted, where it stands now; none if something was replaced.
fn insertions(changes: &[Change]) -> Vec<Inserted> {
    if changes.iter().any(|change| !change.at.is_empty()) {
        return Vec::new();
    }
    let mut before = 0;
    let inserted = changes.iter().map(|change| {
        let at = change.at.start + before;
        before += change.text.len();
        Inserted { at, text: change.text.clone() }
    });
    inserted.collect()
}

fn cut_json(page: &Page<'_>, root: &Piece, hooks: &Member, made: &[String]) -> Vec<Change> {
    let is_made = |name: &str| made.iter().any(|made| made == name);
    let mut changes = Vec::new();
    let mut emptied = Vec::new();
    for (at, list) in hooks.value.members().iter().enumerate() {
        let mut gone = Vec::new();
        let mut within = Vec::new();
        for (index, element) in list.value.elements().iter().enumerate() {
            let group = element.member(HOOKS).map(|group| &group.value);
            let Some(group) = group.filter(|group| matches!(group.content, Content::List(_))) else {
                if is_our_handler(element) {
                    gone.push(index);
                }
                continue;
            };
            let handlers = group.elements();
            let ours: Vec<usize> = (0..handlers.len()).filter(|at| is_our_handler(&handlers[*at])).collect();
            if !ours.is_empty() && ours.len() == handlers.len() {
                gone.push(index);
            } else if !ours.is_empty() {
                within.extend(page.cut(group, &ours));
            }
        }
        let length = list.value.elements().len();
        if !gone.is_empty() && gone.len() == length && is_made(&list.key) {
            emptied.push(at);
        } else {
            changes.append(&mut within);
            if !gone.is_empty() {
                changes.extend(page.cut(&list.value, &gone));
            }
        }
    }
    if !emptied.is_empty() && emptied.len() == hooks.value.members().len() && is_made(HOOKS) {
        let at = root.members().iter().position(|member| member.key == HOOKS);
        return page.cut(root, &at.into_iter().collect::<Vec<_>>());
    }
    if !emptied.is_empty() {
        changes.extend(page.cut(&hooks.value, &emptied));
    }
    changes
}

/// The handlers of a list of an event, of groups and by themselves.
pub(super) fn handlers_of(list: &Piece) -> Vec<&Piece> {
    let mut handlers = Vec::new();
    for element in list.elements() {
        match element.member(HOOKS) {
            Some(group) => handlers.extend(group.value.elements()),
            None => handlers.push(element),
        }
    }
    handlers
}

/// The handlers of an event.
pub(super) fn handlers<'a>(root: &'a Piece, syntax: Syntax, event: &str) -> Vec<&'a Piece> {
    let Some(hooks) = root.member(HOOKS) else { return Vec::new() };
    match syntax {
        Syntax::Json => hooks.value.member(event).map(|list| handlers_of(&list.value)).unwrap_or_default(),
        Syntax::Toml => {
            hooks.value.elements().iter().filter(|handler| handler.text("event") == Some(event)).collect()
        }
    }
}

fn our_handlers(root: &Piece, syntax: Syntax) -> Vec<(String, &Piece)> {
    let Some(hooks) = root.member(HOOKS) else { return Vec::new() };
    let all: Vec<(String, &Piece)> = match syntax {
        Syntax::Json => {
            let lists = hooks.value.members().iter();
            lists
                .flat_map(|list| {
                    handlers_of(&list.value).into_iter().map(|handler| (list.key.clone(), handler))
                })
                .collect()
        }
        Syntax::Toml => {
            let named = hooks.value.elements().iter();
            named.filter_map(|handler| Some((handler.text("event")?.to_owned(), handler))).collect()
        }
    };
    all.into_iter().filter(|(_, handler)| is_our_handler(handler)).collect()
}

/// Whether a list of TOML is made of tables with headings.
fn is_of_tables(text: &str, list: &Piece) -> bool {
    list.elements().first().is_some_and(|first| text[first.span.clone()].starts_with('['))
}

/// A file without our entries, and without lists that would be empty then: what an edit must leave as it is.
fn rest(root: &Piece, syntax: Syntax) -> Vec<String> {
    let mut rest = Vec::new();
    for member in root.members() {
        match (member.key.as_str(), syntax) {
            (HOOKS, Syntax::Json) => {
                for list in member.value.members() {
                    let Content::List(elements) = &list.value.content else {
                        rest.push(format!("{}={}", list.key, said(&list.value)));
                        continue;
                    };
                    let others =
                        elements.iter().filter_map(others).map(|text| format!("{}:{text}", list.key));
                    rest.extend(others);
                }
            }
            (HOOKS, Syntax::Toml) => {
                rest.extend(member.value.elements().iter().filter(|entry| !is_our_handler(entry)).map(said));
            }
            _ => rest.push(format!("{}={}", member.key, said(&member.value))),
        }
    }
    rest
}

/// An element without our handlers; `None` if nothing remains of it.
fn others(element: &Piece) -> Option<String> {
    let Some(group) = element.member(HOOKS) else {
        return (!is_our_handler(element)).then(|| said(element));
    };
    let handlers = group.value.elements();
    let left: Vec<String> = handlers.iter().filter(|handler| !is_our_handler(handler)).map(said).collect();
    if left.is_empty() && !handlers.is_empty() {
        return None;
    }
    let beside = element.members().iter().filter(|member| member.key != HOOKS);
    let beside: Vec<String> =
        beside.map(|member| format!("{}={}", member.key, said(&member.value))).collect();
    Some(format!("{beside:?} {left:?}"))
}

/// A value, whatever its layout.
fn said(value: &Piece) -> String {
    match &value.content {
        Content::Object(members) => {
            let members: Vec<_> = members.iter().map(|m| format!("{:?}:{}", m.key, said(&m.value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Content::List(elements) => format!("[{}]", elements.iter().map(said).collect::<Vec<_>>().join(",")),
        Content::Text(text) => format!("{text:?}"),
        Content::Other(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests;
