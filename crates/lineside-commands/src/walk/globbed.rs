//! Links that a path goes through whose names are not written: those that a glob finds, and those that the command makes.

use super::Walk;
use crate::analysis::{Access, Touch, Unknown};
use crate::places::Place;
use crate::value::{FRESH, MANY, OPEN, QUEST, STAR, UNKNOWN, Value, spelt};
use crate::{expand, path};

pub(crate) const SIGNS: [char; 3] = [STAR, QUEST, OPEN];
/// Links of the command that lead to links, one below the other.
const LINKS: usize = 128;
const NOT_KNOWN: [char; 3] = [UNKNOWN, FRESH, MANY];

impl Walk<'_> {
    /// Notes where the links lead that a touched path may go through by its globs. With `last` false, one that is the path
    /// itself is not followed.
    pub(crate) fn note_globbed(&mut self, value: &Value, touch: &Touch, last: bool) {
        let here = self.here(value);
        let marked = path::joined(here, &value.text);
        match self.led(&marked, last) {
            Some(targets) => {
                for target in targets.into_iter().filter(|target| *target != touch.path) {
                    self.push_touch(Touch { target: Some(target), ..touch.clone() }, value.place);
                }
            }
            None => {
                let reason = format!("where the links among `{}` lead is not known", touch.path);
                self.at(value.place, |walk| walk.cannot_tell(Unknown::Paths, &reason));
                let path = "*".to_owned();
                self.push_touch(Touch { path, target: None, unclear: true, ..touch.clone() }, value.place);
            }
        }
    }

    /// Whether links may stand behind the globs of a path, or behind those of the folder that it lies in.
    pub(crate) fn is_globbed(&self, value: &Value) -> bool {
        self.state.links.is_some() && (value.text.contains(SIGNS) || self.here(value).contains(SIGNS))
    }

    /// Notes where a path leads that goes up behind a name that may be a link.
    pub(crate) fn note_upwards(&mut self, value: &Value, touch: &Touch, last: bool) {
        if !value.text.contains("..") || value.text.contains(NOT_KNOWN) {
            return;
        }
        let path = spelt(&path::joined(self.here(value), &value.text));
        let mut targets = self.made(&path, last);
        targets.extend(self.state.links.and_then(|links| links.resolve(&path, last)));
        for target in targets.into_iter().filter(|target| *target != touch.path) {
            self.push_touch(Touch { target: Some(target), ..touch.clone() }, value.place);
        }
    }

    fn here(&self, value: &Value) -> &str {
        self.scope.cwd.as_deref().filter(|_| !value.text.starts_with('/')).unwrap_or_default()
    }

    pub(crate) fn push_touch(&mut self, touch: Touch, place: Place) {
        if !self.analysis.touches.contains(&touch) {
            self.analysis.identify(&touch, self.state.links);
            self.analysis.touches.push(touch);
            self.locate_touch(place);
        }
    }

    /// The paths that links lead to, of all that a path with signs of globs may mean; none beyond a bound.
    fn led(&mut self, marked: &str, last: bool) -> Option<Vec<String>> {
        let Some(links) = self.state.links else { return Some(Vec::new()) };
        let parts: Vec<&str> = marked.split('/').skip(1).collect();
        let known = parts.iter().position(|part| part.contains(NOT_KNOWN)).unwrap_or(parts.len());
        let Some(first) = parts[..known].iter().position(|part| part.contains(SIGNS)) else {
            return Some(Vec::new());
        };
        // A link that goes as such is not followed, so that its folder need not be read.
        let end = if known == parts.len() && !last { known - 1 } else { known };
        let joined =
            |parts: &[&str]| parts.iter().map(|part| format!("/{}", spelt(part))).collect::<String>();
        let mut found = vec![joined(&parts[..first])];
        for (at, part) in parts[..end].iter().enumerate().skip(first) {
            if !part.contains(SIGNS) {
                found.iter_mut().for_each(|path| path.extend(["/", part]));
                continue;
            }
            let (pattern, is_last) = (spelt(part), at + 1 == parts.len());
            let mut next = Vec::new();
            for folder in found {
                self.left.folders = self.left.folders.checked_sub(1)?;
                let place = if folder.is_empty() { "/" } else { &folder };
                let fits = |name: &str| expand::fits(&pattern, name);
                let names = links.names(place, &fits, &mut self.left.names)?;
                let named = names.iter().filter(|(_, is_link)| *is_link || !is_last);
                next.extend(named.map(|(name, _)| format!("{folder}/{name}")));
                if next.len() > self.left.followed {
                    return None;
                }
                // What a folder behind a link holds lies behind that link.
                if is_last && at > first {
                    next.push(format!("{folder}/{pattern}"));
                }
            }
            found = next;
        }
        self.left.followed = self.left.followed.checked_sub(found.len())?;
        let rest = joined(&parts[end..]);
        let mut all: Vec<String> = Vec::new();
        // Where the path is only the first folder, no glob was read.
        for path in found.iter().filter(|_| end > first) {
            let whole = links.resolve(&format!("{path}{rest}"), last || end < parts.len());
            all.extend(whole.filter(|whole| !all.contains(whole)));
        }
        Some(all)
    }

    /// Where a path leads by links that the command itself makes.
    pub(crate) fn made(&self, path: &str, last: bool) -> Vec<String> {
        let target = |(name, file): (&String, &super::Written), path: &str| {
            let (link, mut names, mut parts) = (file.link.as_ref()?, name.split('/'), path.split('/'));
            if !names.all(|name| parts.next().is_some_and(|part| path::names_meet(name, part))) {
                return None;
            }
            let rest: Vec<&str> = parts.collect();
            (last || !rest.is_empty()).then(|| path::normal(link, &rest.join("/")))
        };
        let mut all: Vec<String> = self.files.iter().filter_map(|file| target(file, path)).collect();
        all.sort_unstable();
        // Below a link that leads to its own folder, the same link stands again.
        let mut at = 0;
        while let Some(path) = all.get(at).filter(|_| at < LINKS).cloned() {
            let further: Vec<String> = self.files.iter().filter_map(|file| target(file, &path)).collect();
            all.extend(further.into_iter().filter(|path| !all.contains(path)).collect::<Vec<_>>());
            at += 1;
        }
        all
    }

    /// Where what a path with globs names leads, as far as it was touched.
    pub(crate) fn targets<'w>(&'w self, value: &Value, path: &'w str) -> impl Iterator<Item = &'w str> {
        let is_glob = value.text.contains(SIGNS);
        let touches = self.analysis.touches.iter().filter(move |touch| is_glob && touch.path == path);
        touches.filter(|touch| touch.access == Access::Read).filter_map(|touch| touch.target.as_deref())
    }
}
