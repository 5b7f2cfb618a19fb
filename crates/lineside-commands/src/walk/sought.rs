//! What a search is asked for: names and paths as globs.

use super::spread::SOME;

/// The glob of the names that an expression finds: of one that is more than a plain text, any.
pub(super) fn name_of(expression: &str) -> String {
    let plain = expression.trim_start_matches('^').trim_end_matches('$').replace("\\.", ".");
    if plain.contains(['\\', '*', '+', '?', '[', '(', '|', '{', '^', '$', '/']) {
        return "*".to_owned();
    }
    let end = |is_end: bool| if is_end { "" } else { "*" };
    format!("{}{plain}{}", end(expression.starts_with('^')), end(expression.ends_with('$')))
}

/// The paths below a root that a pattern of whole paths fits, whose stars stand for slashes as well: `*/.ssh/*`, `*nginx*`.
pub(super) fn paths_of(root: &str, pattern: &str) -> Vec<String> {
    let root = root.trim_end_matches('/');
    let below = pattern.trim_start_matches('*');
    let asked = below.trim_end_matches('*').trim_end_matches('/');
    let inner = asked.trim_start_matches('/').replace("/*/", "/**/");
    if inner.is_empty() {
        return vec![format!("{root}/**")];
    }
    // The root may be what it asks for.
    if root.ends_with(asked) || format!("{root}/").contains(&format!("{asked}/")) {
        return vec![root.to_owned(), format!("{root}/")];
    }
    // A star stands for no dot in front of a name, where it is one of a name.
    let front = if below.starts_with(['/', '.']) { "" } else { "*" };
    let end = match below.strip_prefix(asked) {
        Some("") | None => "",
        Some(end) if end.starts_with('/') => "/*",
        Some(_) => "*",
    };
    ["", "**/"].map(|between| format!("{root}/{between}{front}{inner}{end}")).into()
}

/// The name that an expression of whole paths asks for, where it has one: `.*/\.env`.
pub(super) fn name_of_path(asked: &str) -> Option<String> {
    let name = asked.rsplit('/').next().filter(|_| asked.contains('/'))?.trim_end_matches('$');
    let glob = name.replace("\\.", "\u{0}").replace(".*", "*").replace('\u{0}', ".");
    (!glob.is_empty() && !glob.contains(['\\', '+', '?', '(', '[', '|', '^'])).then_some(glob)
}

/// What the tests of `find` so far ask of a name, in each group that is open: an action is for what those before it in its
/// own alternative have found.
#[derive(Default)]
pub(super) struct Names {
    groups: Vec<Group>,
    outer: Group,
}

#[derive(Default)]
struct Group {
    /// Of the alternative that has begun.
    now: Vec<(bool, String)>,
    /// Of those before it.
    before: Vec<(bool, String)>,
    /// Whether one of those asks for no name.
    any: bool,
    negated: bool,
}

impl Names {
    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().unwrap_or(&mut self.outer)
    }

    pub(super) fn and(&mut self, name: (bool, String)) {
        let now = &mut self.group().now;
        now.retain(|(_, asked)| asked != SOME);
        now.push(name);
    }

    /// What is empty, or a link: of all such names none is a loss.
    pub(super) fn little(&mut self) {
        if self.group().now.is_empty() {
            self.and((true, SOME.to_owned()));
        }
    }

    pub(super) fn or(&mut self) {
        let group = self.group();
        group.any |= group.now.is_empty();
        group.before.append(&mut group.now);
    }

    pub(super) fn begin(&mut self, negated: bool) {
        self.groups.push(Group { negated, ..Group::default() });
    }

    pub(super) fn end(&mut self) {
        self.or();
        let Some(group) = self.groups.pop() else { return };
        if !group.any && !group.negated {
            self.group().now.extend(group.before);
        }
    }

    /// Of all that is found.
    pub(super) fn all(mut self) -> Vec<(bool, String)> {
        while !self.groups.is_empty() {
            self.end();
        }
        self.or();
        if self.outer.any { Vec::new() } else { self.outer.before }
    }

    pub(super) fn now(&self) -> Vec<(bool, String)> {
        let all = std::iter::once(&self.outer).chain(&self.groups);
        // What is asked for within a group that is to be false is what is not found.
        let asked = all.filter(|group| !group.negated);
        asked.flat_map(|group| group.now.iter().cloned()).collect()
    }
}
