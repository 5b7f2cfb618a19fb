//! Filters over the paths of a command.

use super::{Match, RunsFilter, WhenUnclear, owned, unclear_program};
use crate::analysis::{Access, Analysis, CommandProgram, Touch};
use crate::globs::{Globs, absolute};
use crate::limits;
use crate::path;
use crate::state::Surroundings;
use crate::tables::secrets;

/// Asks for paths.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    globs: Globs,
    not: Globs,
    outside: bool,
    secret: bool,
    roots: Vec<String>,
    whole: Option<bool>,
    unclear: WhenUnclear,
    except: Vec<RunsFilter>,
}

impl Paths {
    /// Paths that one of these globs fits. `~` is home, what is relative lies in the project.
    #[must_use]
    pub fn matching(globs: &[&str]) -> Paths {
        Paths { globs: globs.iter().copied().collect(), ..Paths::default() }
    }

    /// Paths outside of the project and of the folders for temporary files.
    #[must_use]
    pub fn outside() -> Paths {
        Paths { outside: true, ..Paths::default() }
    }

    /// Files that hold secrets, by their names: `.env`, private keys, tokens of programs.
    #[must_use]
    pub fn secret() -> Paths {
        Paths { secret: true, ..Paths::default() }
    }

    /// These folders themselves, all of what is in them, and what they lie in.
    #[must_use]
    pub fn roots(roots: &[&str]) -> Paths {
        Paths { roots: owned(roots), ..Paths::default() }
    }

    /// These as well as those.
    #[must_use]
    pub fn or(mut self, other: Paths) -> Paths {
        self.globs.extend(other.globs.iter());
        self.roots.extend(other.roots);
        self.outside |= other.outside;
        self.secret |= other.secret;
        self
    }

    /// Not those that one of these globs fits.
    #[must_use]
    pub fn not(mut self, globs: &[&str]) -> Paths {
        self.not.extend(globs.iter().copied());
        self
    }

    /// Only where all below is meant; with `false`, only if that is so of none.
    #[must_use]
    pub fn whole(mut self, whole: bool) -> Paths {
        self.whole = Some(whole);
        self
    }

    /// What it answers where it is not known.
    #[must_use]
    pub fn when_unclear(mut self, unclear: WhenUnclear) -> Paths {
        self.unclear = unclear;
        self
    }

    pub(super) fn except(mut self, globs: &[String], programs: &[RunsFilter]) -> Paths {
        self.not.extend(globs);
        self.except.extend_from_slice(programs);
        self
    }

    pub(super) fn matches(
        &self,
        access: Access,
        analysis: &Analysis,
        state: &Surroundings<'_>,
    ) -> Option<Match> {
        let program = |touch: &Touch| analysis.programs.get(touch.program?);
        let excepted = |program: &CommandProgram| self.except.iter().any(|except| except.fits(program));
        let of_access = |touch: &Touch| touch.access == access && !program(touch).is_some_and(excepted);
        let mut found = None;
        for (index, touch) in analysis.touches.iter().enumerate().filter(|(_, touch)| of_access(touch)) {
            if !self.fit(touch, state) {
                continue;
            }
            if self.whole == Some(false) && touch.whole {
                return None;
            }
            if self.whole.is_none_or(|whole| whole == touch.whole) && found.is_none() {
                found = Some(Match { program: touch.program, touch: Some(index), ..Match::default() });
            }
        }
        let is_mentioned = |touch: &&Touch| {
            let mut paths = [Some(&touch.path), touch.target.as_ref()].into_iter().flatten();
            access != Access::Delete
                && self.whole != Some(true)
                && !program(touch).is_some_and(excepted)
                && paths.any(|path| {
                    (self.globs.fit(path, state) || self.secret && secrets::is_secret(path, state.home))
                        && !self.not.fit(&path::literal(path), state)
                })
        };
        let mentioned = || Some(Match::of_program(analysis.mentions.iter().find(is_mentioned)?.program?));
        let found = found.or_else(mentioned);
        let found = found.or_else(|| self.by_another_name(access, analysis, state));
        found.or_else(|| self.doubt(access, analysis, state).filter(|_| self.unclear == WhenUnclear::Match))
    }

    /// A path whose file has another name that is asked for. Of globs that begin anywhere, the project is looked through.
    fn by_another_name(
        &self,
        access: Access,
        analysis: &Analysis,
        state: &Surroundings<'_>,
    ) -> Option<Match> {
        let links = state.links?;
        if access != Access::Write || analysis.linked.is_empty() || self.whole == Some(true) {
            return None;
        }
        let places = self.places(state);
        let fits = |path: &str| self.fit_path(path, false, state);
        let excepted = |touch: &Touch| {
            let program = touch.program.and_then(|program| analysis.programs.get(program));
            program.is_some_and(|program| self.except.iter().any(|except| except.fits(program)))
                || self.not.fit(&touch.path, state)
        };
        let (mut left, mut doubt) = (limits::NAMES, None);
        for (path, file) in &analysis.linked {
            let is_it = |touch: &Touch| {
                touch.access == access && touch.target.as_ref().unwrap_or(&touch.path) == path
            };
            let touched = analysis.touches.iter().position(|touch| is_it(touch) && !excepted(touch));
            let Some(touch) = touched else { continue };
            let found =
                Match { program: analysis.touches[touch].program, touch: Some(touch), ..Match::default() };
            for place in &places {
                match links.has_name(*file, place, &fits, &mut left) {
                    Some(true) => return Some(found),
                    Some(false) => {}
                    None if self.unclear == WhenUnclear::Match => {
                        let why = format!("cannot tell which other names `{path}` has");
                        doubt = Some(Match { unclear: Some(why), ..found.clone() });
                    }
                    None => {}
                }
            }
        }
        doubt
    }

    /// Where files lie that are asked for: none of them lies in another.
    fn places(&self, state: &Surroundings<'_>) -> Vec<String> {
        let of_globs = self.globs.iter().map(|glob| {
            let glob = absolute(glob, state);
            let known = glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
            let folder = if known.len() == glob.len() {
                known
            } else {
                known.rsplit_once('/').map_or("", |(folder, _)| folder)
            };
            if folder.is_empty() { state.project.to_owned() } else { folder.to_owned() }
        });
        let of_roots = self.roots.iter().map(|root| absolute(root, state).into_owned());
        let of_names = self.secret.then(|| state.project.to_owned());
        let mut all: Vec<String> = of_globs.chain(of_roots).chain(of_names).collect();
        all.sort_unstable();
        // A folder stands before what lies in it.
        let mut places: Vec<String> = Vec::new();
        for place in all {
            if !places.iter().any(|known| path::is_within(&place, known)) {
                places.push(place);
            }
        }
        places
    }

    /// Why it is not known whether such a path is touched, where that is so.
    fn doubt(&self, access: Access, analysis: &Analysis, state: &Surroundings<'_>) -> Option<Match> {
        let of_access = |touch: &Touch| touch.access == access;
        let mut touches = analysis.touches.iter().enumerate().filter(|(_, touch)| of_access(touch));
        let may_fit = |touch: &Touch| match touch.unclear {
            true => self.may_fit(&touch.path, state),
            false => access != Access::Read && self.may_find(&touch.path, state),
        };
        let Some((index, touch)) = touches.find(|(_, touch)| may_fit(touch)) else {
            return unclear_program(analysis);
        };
        let why = format!("cannot tell which path {}: `{}`", access.passive(), touch.path);
        Some(Match { program: touch.program, touch: Some(index), unclear: Some(why), ..Match::default() })
    }

    /// Whether a path of which parts are not known, and may be several names, can be one of those.
    fn may_fit(&self, path: &str, state: &Surroundings<'_>) -> bool {
        let Some((known, _)) = path.strip_prefix('/').and_then(|rest| rest.split_once('*')) else {
            return !path.starts_with('/');
        };
        let folder = format!("/{}", known.rsplit_once('/').map_or("", |(folder, _)| folder));
        let any = format!("{}/**", folder.trim_end_matches('/'));
        self.outside && is_outside(&folder, state)
            || self.roots.iter().any(|root| path::is_within(&absolute(root, state), &folder))
            || self.globs.iter().any(|glob| path::meet(&any, &absolute(glob, state)))
    }

    /// Whether a search from a folder on, `/proj/**/a.txt`, may find what lies in a folder that is asked for. What is asked
    /// for wherever it lies is found by its name alone.
    fn may_find(&self, path: &str, state: &Surroundings<'_>) -> bool {
        let Some((folder, name)) = path.split_once("/**/") else { return false };
        // Unlike a glob of the shell, the pattern of a search finds names that begin with a dot.
        let hidden = format!("{folder}/**/.{name}");
        let meets = |glob: &str| {
            path::meet(path, glob) || name.starts_with(['*', '?', '[']) && path::meet(&hidden, glob)
        };
        let placed = self.globs.iter().map(|glob| absolute(glob, state)).filter(|glob| glob.starts_with('/'));
        placed.into_iter().any(|glob| meets(&glob)) && !self.not.fit(&path::literal(path), state)
    }

    fn fit(&self, touch: &Touch, state: &Surroundings<'_>) -> bool {
        // One file of a name that is not known is none of the folders that are asked for; what changes is met where any name is.
        if touch.unclear && !touch.whole && touch.path.ends_with("/*") {
            return touch.access != Access::Read && self.fit_path(&path::literal(&touch.path), false, state);
        }
        let mut paths = [Some(&touch.path), touch.target.as_ref()].into_iter().flatten();
        let changes = touch.access != Access::Read;
        paths.any(|path| {
            self.fit_path(path, touch.whole && changes, state)
                || changes
                    && path::is_pattern(path)
                    && self.globs.fit_changed(path, state)
                    && !self.not.fit(&path::literal(path), state)
                || touch.whole && touch.access == Access::Write && self.globs.fit_below(path)
        })
    }

    fn fit_path(&self, path: &str, all_below: bool, state: &Surroundings<'_>) -> bool {
        if !path.starts_with('/') {
            // Where it lies is not known.
            return false;
        }
        let below = |glob: &str| {
            let glob = absolute(glob, state);
            let folder = glob.split(['*', '?', '[', '{']).next().unwrap_or_default();
            path::is_within(folder, path)
        };
        let is_asked = self.outside && is_outside(path, state)
            || self.secret && secrets::is_secret(path, state.home)
            || self.roots.iter().any(|root| covers(path, &absolute(root, state)))
            || self.globs.fit(path, state)
            || all_below && self.globs.iter().any(below);
        // Of a pattern, only what all of it is, is not asked for.
        is_asked && !self.not.fit(&path::literal(path), state)
    }
}

/// Whether what is taken at this path is the folder, all in it, or what it lies in.
fn covers(path: &str, root: &str) -> bool {
    // A search through everything takes what it finds by name wherever it lies.
    if path == "/" || path::is_within(root, path) || root == "/" && path.starts_with("/**/") {
        return true;
    }
    if let Some((folder, last)) = path.rsplit_once('/')
        && matches!(last, "*" | "**" | ".*" | "?*" | ".[!.]*" | ".??*")
    {
        let folder = folder.trim_end_matches("/**");
        let folder = if folder.is_empty() { "/" } else { folder };
        return folder == root || path::is_within(root, folder);
    }
    // A pattern that may be one of the folders on the way.
    if path.contains(['*', '?', '[']) && !path.contains("**") {
        let mut at = root;
        while let Some((folder, _)) = at.rsplit_once('/') {
            if !at.is_empty() && path::meet(path, at) {
                return true;
            }
            at = folder;
        }
    }
    false
}

fn is_outside(path: &str, state: &Surroundings<'_>) -> bool {
    let inside = path::is_within(path, state.project)
        || state.temporary.iter().any(|folder| path::is_within(path, folder))
        || matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/zero")
        || path.starts_with("/dev/fd/");
    !inside
}
