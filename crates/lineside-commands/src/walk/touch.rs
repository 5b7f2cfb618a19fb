//! Paths that are touched, and what files hold as far as the command itself wrote them.

use super::Walk;
use super::globbed::SIGNS;
use crate::analysis::{Access, Analysis, Touch, Unknown};
use crate::path;
use crate::places::Place;
use crate::state::Surroundings;
use crate::value::{Origin, StandsFor, Value};

impl Analysis {
    /// Notes a path that a tool touches by itself: `~` is home, what is relative lies in the folder at hand, links are
    /// followed.
    pub fn touch(&mut self, access: Access, path: &str, state: &Surroundings<'_>) {
        let path = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                path::normal(state.home, &format!("./{rest}"))
            }
            _ => path::normal(state.cwd, path),
        };
        let followed = state.links.and_then(|links| links.resolve(&path, access != Access::Delete));
        let target = followed.filter(|target| *target != path);
        let touch = Touch { access, path, target, whole: false, unclear: false, program: None };
        self.identify(&touch, state.links);
        self.touches.push(touch);
    }
}

impl Walk<'_> {
    /// Notes that a path is touched. `program` is the index of the one that does.
    pub(crate) fn touch(&mut self, access: Access, value: &Value, whole: bool, program: Option<usize>) {
        for more in self.finds_more(value) {
            self.touch_as_written(access, &more, whole, program);
        }
        self.touch_as_written(access, value, whole, program);
    }

    fn touch_as_written(&mut self, access: Access, value: &Value, whole: bool, program: Option<usize>) {
        if let Some(found) = &value.stands_for {
            match &**found {
                StandsFor::Printed(patterns) | StandsFor::Found(patterns) => {
                    let is_printed = matches!(**found, StandsFor::Printed(_));
                    // By blanks a name is parts of names, and what these are is not known.
                    if is_printed && access == Access::Delete {
                        let parts = Value { stands_for: None, ..value.clone() };
                        let is_named = patterns.iter().all(|path| path::ends_plain(path));
                        self.touch(access, &parts, whole && !is_named, program);
                    }
                    for path in patterns.clone() {
                        // Where no name is asked for, all that is found is all below.
                        let whole = whole || access == Access::Write && !path.contains("**");
                        let path = path::normal("", &path);
                        let path = if is_printed && access != Access::Delete { path } else { of_all(path) };
                        let touch = Touch { access, path, target: None, whole, unclear: false, program };
                        self.note(touch, true, value.place);
                    }
                }
                StandsFor::Content(_) => {}
            }
            return;
        }
        if value.text.is_empty() || value.plain() == Some("-") {
            return;
        }
        if let Some(file) = self.opened_at(value).filter(|_| access == Access::Write) {
            self.touch(access, &file, whole, program);
            return;
        }
        let (path, unclear) = self.absolute(value);
        let path = of_all(path);
        if unclear && access == Access::Delete {
            self.at(value.place, |walk| {
                let reason = format!("what is deleted is not known: `{}`", value.argument());
                walk.cannot_tell(Unknown::Paths, &reason);
            });
        }
        let last = access != Access::Delete || value.text.ends_with('/');
        let touch = Touch { access, path, target: None, whole, unclear, program };
        let globbed = self.is_globbed(value).then(|| touch.clone());
        let known = self.analysis.touches.len();
        self.note(touch.clone(), last, value.place);
        self.note_upwards(value, &touch, last);
        if let Some(touch) = globbed.filter(|_| self.analysis.touches.len() > known) {
            self.note_globbed(value, &touch, last);
        }
    }

    /// With `last` false, a link that is the path itself is not followed.
    fn note(&mut self, mut touch: Touch, last: bool, place: Place) {
        let mut targets = self.made(&touch.path, last);
        let first = match targets.pop() {
            Some(made) => Some(made),
            None => self.state.links.and_then(|links| links.resolve(&touch.path, last)),
        };
        for target in targets {
            self.push_touch(Touch { target: Some(target), ..touch.clone() }, place);
        }
        touch.target = first.filter(|target| *target != touch.path);
        self.push_touch(touch, place);
    }

    /// Notes that the content of a file is run.
    pub(crate) fn runs_file(&mut self, value: &Value) {
        if is_input(value) {
            return;
        }
        let (path, unclear) = self.absolute(value);
        let paths = match value.stands_for.as_deref() {
            Some(StandsFor::Content(_)) => return,
            Some(StandsFor::Found(paths) | StandsFor::Printed(paths)) => paths.clone(),
            None if unclear || value.text.contains(SIGNS) => vec![of_all(path.clone())],
            None => Vec::new(),
        };
        if !paths.is_empty() {
            let known = &mut self.analysis.unclear_scripts;
            paths.into_iter().for_each(|path| {
                if !known.contains(&path) {
                    known.push(path);
                }
            });
            return;
        }
        if let Some(trail) = &mut self.trail {
            let place = value.place.or(trail.now);
            if !trail.found.scripts.iter().any(|(at, known)| (*at, known) == (place, &path)) {
                trail.found.scripts.push((place, path.clone()));
            }
        }
        if !self.analysis.scripts.contains(&path) {
            self.analysis.scripts.push(path);
        }
    }

    /// What a file holds, which is read by this program.
    pub(crate) fn content(&mut self, value: &Value, program: Option<usize>) -> Value {
        if let Some(stands_for) = &value.stands_for
            && let StandsFor::Content(content) = &**stands_for
        {
            return content.clone();
        }
        let descriptor = ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"];
        let descriptor = descriptor.iter().find_map(|folder| value.text.strip_prefix(folder));
        if matches!(value.plain(), Some("-" | "/dev/stdin")) || descriptor == Some("0") {
            return self.input.clone().unwrap_or_else(Value::unknown);
        }
        if let Some(number) = descriptor.and_then(|number| number.parse().ok()) {
            return self.descriptors.get(&number).cloned().unwrap_or_else(Value::unknown);
        }
        if value.text.starts_with("/dev/tcp/") || value.text.starts_with("/dev/udp/") {
            return Value::unknown().from(Origin::FETCHED);
        }
        self.touch(Access::Read, value, false, program);
        let (path, unclear) = self.absolute(value);
        if unclear {
            return Value::unknown().from(value.origin);
        }
        match self.file(&path) {
            Some(file) => file.content.clone(),
            None => Value::unknown().from(self.origin_of(&path)),
        }
    }

    /// What a program shows of its files: of a search that asks for no name, those that begin with a dot as well.
    pub(crate) fn shown(&self, value: Value) -> Value {
        let all = |patterns: &Vec<String>| {
            // Within the project such a file lies at its top, if anywhere.
            let project = format!("{}/", self.state.project.trim_end_matches('/'));
            let is_below = |path: &str| path.starts_with(&project) && path != project;
            let roots = patterns.iter().filter(|path| path.ends_with('/') && !is_below(path));
            let hidden = roots.map(|path| format!("{path}**/.*"));
            hidden.chain(patterns.iter().cloned()).collect()
        };
        let stands_for = match value.stands_for.as_deref() {
            Some(StandsFor::Found(patterns)) => StandsFor::Found(all(patterns)),
            Some(StandsFor::Printed(patterns)) => StandsFor::Printed(all(patterns)),
            _ => return value,
        };
        Value { stands_for: Some(std::rc::Rc::new(stands_for)), ..value }
    }

    /// Where the content of a file comes from.
    pub(crate) fn origin_of(&self, path: &str) -> Origin {
        if let Some(file) = self.files.get(path) {
            return match &file.link {
                Some(target) if target != path => self.origin_of_plain(target),
                _ => file.content.origin,
            };
        }
        let mut origin = self.origin_of_plain(path);
        if let Some(target) = self.state.links.and_then(|links| links.resolve(path, true)) {
            origin = origin.with(self.origin_of_plain(&target));
        }
        origin
    }

    fn origin_of_plain(&self, path: &str) -> Origin {
        if self.is_secret(path) { Origin::SECRET } else { Origin::default() }
    }

    pub(crate) fn is_secret(&self, path: &str) -> bool {
        crate::tables::secrets::is_secret(path, self.state.home)
    }

    /// Where what a value names as a path comes from.
    pub(crate) fn origin_at(&self, value: &Value) -> Origin {
        if let Some(stands_for) = &value.stands_for {
            return match &**stands_for {
                StandsFor::Content(content) => content.origin,
                StandsFor::Found(patterns) => {
                    patterns.iter().fold(Origin::default(), |all, path| all.with(self.origin_of(path)))
                }
                StandsFor::Printed(patterns) => {
                    let origins = patterns.iter().map(|path| self.origin_of(&path::literal(path)));
                    origins.fold(Origin::default(), Origin::with)
                }
            };
        }
        if value.text.is_empty() {
            return Origin::default();
        }
        let (path, unclear) = self.absolute(value);
        if unclear {
            return Origin::default();
        }
        let led = self.targets(value, &path).map(|target| self.origin_of_plain(target));
        led.fold(self.origin_of(&path), Origin::with)
    }
}

/// Whether what is named is no file but what the program is given to read.
pub(crate) fn is_input(value: &Value) -> bool {
    let folders = ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"];
    let is_one = |name: &str| {
        matches!(name, "" | "-" | "/dev/stdin") || folders.iter().any(|folder| name.starts_with(folder))
    };
    value.plain().is_some_and(is_one)
}

/// A pattern that asks for every name below a folder, apart from the names that a program happens to print.
fn of_all(mut path: String) -> String {
    if path.ends_with("/**/*") {
        path.push('*');
    }
    path
}
