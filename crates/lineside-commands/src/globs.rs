//! Lists of globs over paths, prepared so that a path is compared with the few that can fit it.

use std::borrow::Cow;

use crate::path::{begin_otherwise, is_pattern, is_within, meet, names_meet, tail};
use crate::state::Surroundings;

type Index<K> = std::collections::HashMap<K, Vec<usize>, foldhash::fast::FixedState>;

/// Globs of which one has to fit. `~` is home, what is relative lies in the project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Globs {
    all: Vec<Glob>,
    /// Those that end with a name, by it.
    by_name: Index<String>,
    /// The others, by their end.
    by_end: Index<End>,
}

#[derive(Clone, Debug)]
struct Glob {
    text: String,
    from: From,
    /// Where its name begins, if it asks for nothing else: `**/name`.
    name: Option<usize>,
    /// Where the signs begin that each path has to end with.
    tail: usize,
}

/// How a glob ends whose last name is a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum End {
    /// With this sign.
    With(u8),
    /// With the pattern, so that what it is below says more.
    Open(From),
}

/// What a glob is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum From {
    Anywhere,
    Root,
    Home,
    Project,
}

impl<S: Into<String>> Extend<S> for Globs {
    fn extend<I: IntoIterator<Item = S>>(&mut self, globs: I) {
        for text in globs.into_iter().map(Into::into) {
            let from = match text.as_bytes() {
                [b'~', ..] => From::Home,
                [b'/', ..] => From::Root,
                [b'*', b'*', ..] => From::Anywhere,
                _ => From::Project,
            };
            let alone = text.strip_prefix("**/").filter(|name| !name.contains('/') && !name.contains("**"));
            let name = alone.filter(|name| !name.is_empty()).map(|name| text.len() - name.len());
            let tail = text.len() - tail(&text).len();
            let last = last_name(&text);
            let alike = if !is_pattern(last) && !last.starts_with('~') && !last.contains('\\') {
                self.by_name.entry(last.to_owned()).or_default()
            } else {
                let end = text.as_bytes()[tail..].last().map_or(End::Open(from), |sign| End::With(*sign));
                self.by_end.entry(end).or_default()
            };
            alike.push(self.all.len());
            self.all.push(Glob { text, from, name, tail });
        }
    }
}

impl<S: Into<String>> FromIterator<S> for Globs {
    fn from_iter<I: IntoIterator<Item = S>>(globs: I) -> Globs {
        let mut list = Globs::default();
        list.extend(globs);
        list
    }
}

impl Globs {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|glob| glob.text.as_str())
    }

    /// Whether one is for what may lie in a folder of which all is written, though it is not known what: of globs that begin
    /// anywhere, for names in a folder whose own name begins with a dot.
    pub(crate) fn fit_below(&self, path: &str) -> bool {
        let anywhere = self.all.iter().filter(|glob| matches!(glob.from, From::Anywhere));
        anywhere.filter_map(|glob| glob.text.rsplit_once('/')).any(|(above, _)| is_hidden(above, path))
    }

    /// Whether one can be for a path that is changed, which is a pattern: of a folder that the glob names, any file that the
    /// pattern can mean.
    pub(crate) fn fit_changed(&self, path: &str, state: &Surroundings<'_>) -> bool {
        let search = path.split_once("/**/");
        let (folder, name) = match search.or_else(|| path.rsplit_once('/')) {
            Some((folder, name)) if search.is_some() || is_pattern(name) => (folder, name),
            _ => return false,
        };
        // Unlike a glob of the shell, a search finds names that begin with a dot, and a name wherever it lies.
        let dotted = search.filter(|_| name.starts_with('*')).map(|_| format!(".{name}"));
        let is_name = search.is_some() && !name.starts_with('*');
        self.all.iter().any(|glob| {
            let (above, last) = glob.text.rsplit_once('/').unwrap_or(("", &glob.text));
            let is_there = match glob.from {
                From::Anywhere => is_name && last != "**" || is_hidden(above, folder),
                From::Home if begin_otherwise(folder, state.home) => false,
                From::Root if above.is_empty() => false,
                // Where it lies is not known.
                _ if !path.starts_with('/') => false,
                _ => {
                    let above = absolute(above, state);
                    meet(folder, &above) || search.is_some() && last != "**" && is_within(&above, folder)
                }
            };
            is_there
                && (last == "**"
                    || names_meet(name, last)
                    || dotted.as_ref().is_some_and(|name| names_meet(name, last)))
        })
    }

    /// Whether one fits a path that may be a pattern itself.
    pub(crate) fn fit(&self, path: &str, state: &Surroundings<'_>) -> bool {
        if self.all.is_empty() {
            return false;
        }
        let end = tail(path);
        let (home, project) = (!begin_otherwise(path, state.home), !begin_otherwise(path, state.project));
        // What cannot fit, by its first or last signs.
        let may_fit = |glob: &&Glob| {
            let asked = glob.text.as_bytes().get(glob.tail..).unwrap_or_default();
            let known = asked.len().min(end.len());
            asked.last().zip(end.last()).is_none_or(|(asked, end)| asked == end)
                && asked[asked.len() - known..] == end[end.len() - known..]
                && match glob.from {
                    From::Anywhere => true,
                    From::Root => !begin_otherwise(path, &glob.text),
                    From::Home => home,
                    From::Project => project,
                }
        };
        if is_pattern(path) {
            let given = Pattern::new(path);
            return self.all.iter().filter(may_fit).any(|glob| given.fits(&glob.text, state));
        }
        let name = last_name(path);
        let Some(last) = end.last() else {
            return self.all.iter().filter(may_fit).any(|glob| glob.fits_name(path, name, state));
        };
        let named = self.by_name.get(name);
        let below =
            [(From::Anywhere, true), (From::Root, true), (From::Home, home), (From::Project, project)];
        let open = below.into_iter().filter(|(_, may_be)| *may_be).map(|(from, _)| End::Open(from));
        let ends = open.chain([End::With(*last)]).filter_map(|end| self.by_end.get(&end));
        let alike = named.into_iter().chain(ends).flatten();
        alike.map(|index| &self.all[*index]).filter(may_fit).any(|glob| glob.fits_name(path, name, state))
    }
}

/// Whether a folder that a glob names is this one, by a name that begins with a dot.
fn is_hidden(asked: &str, folder: &str) -> bool {
    last_name(asked).starts_with('.') && meet(folder, asked)
}

pub(crate) fn last_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

impl Glob {
    /// Whether it fits a path of this name that is no pattern; the same as [`Pattern::fits`] answers, without a copy of either.
    fn fits_name(&self, path: &str, name: &str, state: &Surroundings<'_>) -> bool {
        let below = |folder: &str, glob: &str| {
            path.strip_prefix(folder.trim_end_matches('/'))
                .is_some_and(|rest| (rest.is_empty() || rest.starts_with('/')) && meet(rest, glob))
        };
        if let Some(asked) = self.name.map(|name| &self.text[name..]) {
            return !begin_otherwise(name, asked) && !name.is_empty() && names_meet(name, asked);
        }
        match self.from {
            From::Home => below(state.home, self.text.get(1..).unwrap_or_default()),
            From::Root | From::Anywhere => meet(path, &self.text),
            From::Project => below(state.project, &self.text),
        }
    }
}

/// The path that a glob means.
pub(crate) fn absolute<'g>(glob: &'g str, state: &Surroundings<'_>) -> Cow<'g, str> {
    match glob.strip_prefix('~') {
        Some(rest) => format!("{}{rest}", state.home).into(),
        None if glob.starts_with('/') || glob.starts_with("**") => glob.into(),
        None => format!("{}/{glob}", state.project).into(),
    }
}

/// A path that may be a pattern itself.
struct Pattern<'p> {
    path: &'p str,
    /// A search from a folder on, `/proj/**/*.log`: the folder and what is searched for.
    search: Option<(&'p str, &'p str)>,
    name: &'p str,
}

impl<'p> Pattern<'p> {
    fn new(path: &'p str) -> Pattern<'p> {
        let name = path.rsplit('/').next().unwrap_or_default();
        Pattern { path, search: path.split_once("/**/"), name }
    }

    /// Whether a glob and it can mean one path.
    fn fits(&self, glob: &str, state: &Surroundings<'_>) -> bool {
        // A search finds what it is asked to by name, and all of a folder asked for: `/proj/.claude/settings.json/**` is
        // found by that name from `/proj` on.
        if let Some((folder, name)) = self.search {
            let asked = absolute(glob, state);
            let (asked_folder, asked_name) = asked.rsplit_once('/').unwrap_or(("", &asked));
            return match asked_name {
                "**" => meet(folder, &asked) || is_found(name, folder, asked_folder),
                // Every name, as `git ls-files` has it; a glob or a search that asks for all ends with `**`.
                _ if name == "*" && self.path.ends_with("/**/*") => false,
                _ if asked_folder == "**" || is_within(asked_folder, folder) => {
                    (asked_name.starts_with('*') || !name.starts_with('*')) && names_meet(name, asked_name)
                }
                _ => false,
            };
        }
        let asked = glob.rsplit('/').next().unwrap_or_default();
        // `logs/*` can mean any file; asked for are those that it is meant for.
        if self.name.starts_with('*')
            && (!asked.starts_with('*') || self.name.trim_matches('*').is_empty() && asked != "**")
        {
            return false;
        }
        if self.name.starts_with('*') && !self.name.contains("**") && asked.starts_with("**") {
            let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            return meet(folder, &absolute(glob, state));
        }
        meet(self.path, &absolute(glob, state))
    }
}

/// Whether a search from a folder on finds what is asked for by its name.
fn is_found(name: &str, folder: &str, asked: &str) -> bool {
    let Some((above, asked)) = asked.rsplit_once('/') else { return false };
    let is_named = !name.starts_with('*') && !is_pattern(asked) && names_meet(name, asked);
    is_named && meet(&format!("{folder}/**"), above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_answers_as_its_globs_do() {
        let globs = [
            "**/.env", "**/.env.*", "**/*.env", "~/.ssh/**", "/etc/shadow*", "src/*.rs", "logs/**",
            "**/s.{a,b}", "~/.kube/**", "**/[ab]c", "/proc/*/environ", "**/a*c", "**/x/**", "/etc/**", "**",
            "a\\*b", "~", "src",
        ];
        let folders = [
            "/proj", "/proj/src", "/home/dev", "/home/dev/.ssh", "/home/developer", "/etc", "/proj/logs/x",
            "",
        ];
        let names = [
            ".env", ".env.ci", "a.env", "id", "shadow", "a.rs", "*", "*.rs", "**/*.env", "**/*", ".e*", "?",
            "[a-c]c", "s.a", "s.c", "ac", "abc", "a*", "*c", "**", "a*b", "x", "src", "s*", "**/.env",
            "self/environ",
        ];
        let state = Surroundings::new("/proj", "/home/dev");
        let (mut fit, mut all) = (0, 0);
        for path in folders.iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}"))) {
            for glob in globs {
                let expected = Pattern::new(&path).fits(glob, &state);
                assert_eq!(Globs::from_iter([glob]).fit(&path, &state), expected, "{glob} and {path}");
                (fit, all) = (fit + usize::from(expected), all + 1);
            }
            let expected = globs.iter().any(|glob| Pattern::new(&path).fits(glob, &state));
            assert_eq!(Globs::from_iter(globs).fit(&path, &state), expected, "{path}");
        }
        assert!(fit > 300 && fit < all / 2, "{fit} of {all}");
    }
}
