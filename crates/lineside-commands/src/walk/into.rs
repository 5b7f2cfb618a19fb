//! What is written below a folder by its name in another, and files that a program is given of which it is not known what it
//! does with them.

use std::borrow::Cow;

use super::Walk;
use crate::analysis::{Access, Touch, Unknown};
use crate::path;
use crate::reading::Reading;
use crate::state::Links;
use crate::tables::Deed;
use crate::value::{STAR, Value, has_marks};

impl Walk<'_> {
    /// `cp a b/`, `mv * b`, `cp -r a/. b`: the target, and below it what is given by its name. `tree` says that what lies in a
    /// folder goes along.
    pub(super) fn writes_into(&mut self, target: &Value, reading: &Reading, tree: bool, index: usize) {
        let is_last = !reading.has("-t");
        let count = reading.operands.len().saturating_sub(usize::from(is_last));
        let sources = &reading.operands[..count];
        let is_folder = !reading.has("-T") && (sources.len() > 1 || self.is_folder(target, tree));
        let mut all = tree && !is_folder;
        for source in sources {
            let text = source.text.trim_end_matches('/');
            let name = text.rsplit('/').next().unwrap_or_default();
            let is_slashed =
                source.text.ends_with('/') && self.way.last().is_some_and(|name| name == "rsync");
            let is_all = matches!(name, "" | "." | "..") || is_slashed || source.stands_for.is_some();
            all |= tree && (is_all || has_marks(name)) || is_all && reading.has("--parents");
            self.writes_own_files(source, target, name, index);
            if is_all && tree {
                self.writes_hidden_folders(source, target, index);
            } else if is_folder || has_marks(name) {
                let name = if reading.has("--parents") { text } else { name };
                let name = if is_all { STAR.to_string() } else { name.to_owned() };
                self.touch(Access::Write, &below(target, &name), tree && !has_marks(&name), Some(index));
            }
        }
        self.touch(Access::Write, target, all, Some(index));
    }

    /// Whether a path is a folder for certain, or by what it is called.
    fn is_folder(&mut self, target: &Value, tree: bool) -> bool {
        let (path, unclear) = self.absolute(target);
        let last = target.text.rsplit('/').next().unwrap_or_default();
        if unclear || matches!(last, "" | "." | "..") || self.lies_below(&path) {
            return true;
        }
        // Of other folders it makes no difference.
        let Some((folder, name)) = path.rsplit_once('/').filter(|(_, name)| name.starts_with('.')) else {
            return false;
        };
        let folder = if folder.is_empty() { "/" } else { folder };
        let names = |links: &dyn Links| links.names(folder, &|one| one == name, &mut self.left.names);
        !tree || self.state.links.and_then(names).is_some_and(|all| !all.is_empty())
    }

    /// Whether the home, the project or the folder at hand is this folder or lies in it.
    fn lies_below(&self, folder: &str) -> bool {
        let all = [self.state.home, self.state.project, self.scope.cwd.as_deref().unwrap_or_default()];
        all.iter().any(|one| path::is_within(one, folder))
    }

    /// Files that the command itself has written below what is copied.
    fn writes_own_files(&mut self, source: &Value, target: &Value, name: &str, index: usize) {
        if self.left.copied == 0 {
            return;
        }
        let (from, unclear) = self.absolute(source);
        let folder =
            if has_marks(name) { from.rsplit_once('/').map_or("", |(folder, _)| folder) } else { &from };
        let inside = |path: &String| path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned);
        let own: Vec<String> = self.files.keys().filter_map(inside).filter(|_| !unclear).collect();
        for file in own {
            self.left.copied -= 1;
            if self.left.copied == 0 {
                self.cannot_tell(Unknown::Paths, "too many files of the command are copied");
                let touch = Touch {
                    access: Access::Write,
                    path: "*".to_owned(),
                    target: None,
                    whole: false,
                    unclear: true,
                    program: Some(index),
                };
                self.push_touch(touch, target.place);
                return;
            }
            for front in ["", name].into_iter().filter(|front| !has_marks(front)) {
                self.touch(Access::Write, &below(target, &format!("{front}/{file}")), false, Some(index));
            }
        }
    }

    /// Folders of a tree whose names begin with a dot, as far as links can be asked: what a guard is for lies in such.
    fn writes_hidden_folders(&mut self, source: &Value, target: &Value, index: usize) {
        let (folder, unclear) = self.absolute(source);
        let Some(links) = self.state.links.filter(|_| !unclear) else { return };
        // A copy elsewhere is of no use to what runs here.
        let (path, _) = self.absolute(target);
        if !path::is_within(&path, self.state.project) && !self.lies_below(&path) {
            return;
        }
        let found = links.names(&folder, &|name| name.starts_with('.'), &mut self.left.names);
        for (name, _) in found.unwrap_or_default() {
            self.touch(Access::Write, &below(target, &name), true, Some(index));
        }
    }

    /// Paths in words of which it is not known what the program does with them: operands of one without a row, and values of
    /// options that a row has not.
    pub(super) fn mentions(&mut self, words: &[Value], reading: &Reading, index: usize) {
        if !words.iter().skip(1).any(|word| word.text.contains(['.', '/'])) || self.is_awk_that_reads(reading)
        {
            return;
        }
        let is_python = self.way.last().is_some_and(|name| name.starts_with("python"));
        let module = reading.values("-m").next().filter(|_| is_python);
        let behind = module.and_then(|module| words.iter().position(|word| word == module));
        let is_known = module.and_then(Value::plain) == Some("json.tool");
        let behind = behind.filter(|_| !is_known);
        let of_module = words.get(behind.map_or(words.len(), |at| at + 1)..).unwrap_or_default();
        // Those of an interpreter are for its script or its code.
        let mut deeds = reading.rows.iter().flat_map(|row| &row.deeds).map(|when| when.deed);
        let has_code = deeds.clone().any(|deed| matches!(deed, Deed::Code(flag, _) if reading.has(flag)));
        let is_code = deeds.any(|deed| matches!(deed, Deed::Code(..) | Deed::Script(_)));
        let of_code = reading.operands.get(usize::from(!has_code)..).filter(|_| is_code);
        let operands = match reading.rows.is_empty() {
            true => words.get(1..).unwrap_or_default(),
            false if module.is_some() => of_module,
            false => of_code.unwrap_or_default(),
        };
        let options = reading.given.iter().filter(|given| matches!(given.spellings, Cow::Owned(_)));
        let options = options.filter(|given| !given.spellings.iter().any(|name| leaves_out(name)));
        let options = options.filter_map(|given| given.value.as_ref());
        let before = std::iter::once("").chain(operands.iter().map(|word| word.text.as_str()));
        let is_left_out = |word: &Value, before: &str| {
            leaves_out(&word.text) || leaves_out(before) && !before.contains('=')
        };
        let operands = operands.iter().zip(before).filter(|(word, before)| !is_left_out(word, before));
        let named = options.chain(operands.map(|(word, _)| word));
        let named = named.filter(|word| word.text.contains(['.', '/']) && word.stands_for.is_none());
        for word in named.cloned().collect::<Vec<_>>() {
            let text = word.text.rsplit(['=', '@', ':']).next().unwrap_or_default();
            // `-oF`.
            let text = text.strip_prefix('-').and_then(|text| text.get(1..)).unwrap_or(text);
            let (path, unclear) = self.absolute(&Value { text: text.into(), ..word.clone() });
            if unclear || self.analysis.mentions.len() >= 256 {
                continue;
            }
            let target =
                self.state.links.and_then(|links| links.resolve(&path, true)).filter(|led| *led != path);
            let access = Access::Write;
            let touch = Touch { access, path, target, whole: false, unclear, program: Some(index) };
            self.analysis.mentions.push(touch);
        }
    }
}

/// Whether an option says by its name that something is left out.
fn leaves_out(option: &str) -> bool {
    let name = option.split('=').next().filter(|name| name.starts_with('-')).unwrap_or_default();
    ["exclude", "ignore", "skip", "omit", "prune"].iter().any(|word| name.contains(word))
}

fn below(folder: &Value, name: &str) -> Value {
    Value { text: format!("{}/{name}", folder.text).into(), ..folder.clone() }
}
