//! What the files of a crate know of one another: the paths of their own crate that they name.
//!
//! A file is known by its module path, `a::b` for `src/a/b.rs`. Names that the root re-exports stand for the files that
//! have them. Macros are not expanded, and what a `mod` declares without naming anything in it is not known.

use std::collections::BTreeMap;

use super::repository::{File, Repository};

/// The files of one crate by their module paths, without the root.
pub(super) struct Modules<'a> {
    files: BTreeMap<String, &'a File>,
    /// The modules of what the root re-exports, by the names it gives them.
    exported: BTreeMap<String, String>,
}

/// One file names another one of its crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) line: usize,
    /// The module that is named.
    pub(super) module: String,
    /// It is handed on and perhaps not used.
    pub(super) is_reexport: bool,
}

impl<'a> Modules<'a> {
    /// Those of a crate.
    pub(super) fn of(repository: &'a Repository, name: &str) -> Self {
        let src = format!("crates/{name}/src/");
        let mut files: BTreeMap<String, &File> = BTreeMap::new();
        for file in repository.production() {
            if let Some(path) = file.path.strip_prefix(&src).and_then(|path| path.strip_suffix(".rs")) {
                files.insert(path.replace('/', "::"), file);
            }
        }
        let root = files.remove("lib").or_else(|| files.remove("main"));
        files.remove("main");
        let mut modules = Self { files, exported: BTreeMap::new() };
        let named = root.map(paths).unwrap_or_default();
        for Named { path, name, .. } in named.into_iter().filter(|named| named.is_reexport) {
            if let Some(module) = modules.resolve("", &path) {
                modules.exported.insert(name, module);
            }
        }
        modules
    }

    /// The module paths and their files.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a File)> {
        self.files.iter().map(|(module, file)| (module.as_str(), *file))
    }

    /// The other files of the crate that a file names.
    pub(super) fn imports(&self, module: &str) -> Vec<Import> {
        let Some(file) = self.files.get(module) else { return Vec::new() };
        let named = paths(file).into_iter().filter_map(|Named { line, path, is_reexport, .. }| {
            let other = self.resolve(module, &path).filter(|other| other != module)?;
            Some(Import { line, module: other, is_reexport })
        });
        named.collect()
    }

    /// The file that a path names which stands in the file of a module; `None` for paths into other crates.
    fn resolve(&self, within: &str, path: &[String]) -> Option<String> {
        let mut base: Vec<&str> = within.split("::").filter(|part| !part.is_empty()).collect();
        let mut rest: Vec<&str> = path.iter().map(String::as_str).collect();
        match *rest.first()? {
            "crate" => {
                base.clear();
                rest.remove(0);
            }
            "self" => {
                rest.remove(0);
            }
            "super" => {
                while rest.first() == Some(&"super") {
                    base.pop()?;
                    rest.remove(0);
                }
            }
            child => {
                let child: Vec<&str> = base.iter().copied().chain([child]).collect();
                let is_file = self.files.contains_key(&child.join("::"));
                if !is_file && (!base.is_empty() || !self.is_exported(&rest)) {
                    return None;
                }
            }
        }
        base.extend(rest);
        if let Some(module) = base.first().and_then(|first| self.exported.get(*first))
            && !self.files.contains_key(base[0])
        {
            return Some(module.clone());
        }
        (1..=base.len())
            .rev()
            .map(|length| base[..length].join("::"))
            .find(|path| self.files.contains_key(path))
    }

    fn is_exported(&self, path: &[&str]) -> bool {
        path.first().is_some_and(|first| self.exported.contains_key(*first))
    }
}

/// A path in a source.
struct Named {
    line: usize,
    path: Vec<String>,
    /// What it is called here.
    name: String,
    is_reexport: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Of,
    Char(char),
}

/// The paths of more than one part that a file names, those of `use` taken apart.
fn paths(file: &File) -> Vec<Named> {
    let tokens = tokens(file);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (line, token) = &tokens[at];
        let before = at.checked_sub(1).map(|before| &tokens[before].1);
        match token {
            Token::Word(word) if word == "use" => {
                let is_reexport = matches!(before, Some(Token::Char(')')))
                    || before == Some(&Token::Word("pub".to_owned()));
                at = tree(&tokens, at + 1, &[], is_reexport, &mut found);
            }
            // `pub(in super::super)` says who may know, not what is known.
            Token::Word(word) if word == "in" && before == Some(&Token::Char('(')) => {
                let rest = tokens.iter().skip(at);
                at += rest.take_while(|(_, token)| *token != Token::Char(')')).count();
            }
            Token::Word(_) if before != Some(&Token::Of) => {
                let mut path = Vec::new();
                while let Some((_, Token::Word(word))) = tokens.get(at) {
                    path.push(word.clone());
                    at += 1;
                    if tokens.get(at).map(|(_, token)| token) != Some(&Token::Of) {
                        break;
                    }
                    at += 1;
                }
                if path.len() > 1 {
                    let name = path.last().cloned().unwrap_or_default();
                    found.push(Named { line: *line, path, name, is_reexport: false });
                }
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads one tree of a `use` below `prefix`; gives where it ends.
fn tree(
    tokens: &[(usize, Token)],
    mut at: usize,
    prefix: &[String],
    is_reexport: bool,
    found: &mut Vec<Named>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut name = None;
    let mut first = tokens.get(at).map_or(0, |(line, _)| *line);
    while let Some((line, token)) = tokens.get(at) {
        at += 1;
        match token {
            Token::Word(word) if word == "as" => {
                if let Some((_, Token::Word(other))) = tokens.get(at) {
                    name = Some(other.clone());
                }
                at += 1;
            }
            Token::Word(word) => {
                first = *line;
                path.push(word.clone());
            }
            Token::Of | Token::Char('*') => {}
            Token::Char('{') => {
                loop {
                    at = tree(tokens, at, &path, is_reexport, found);
                    match tokens.get(at.wrapping_sub(1)) {
                        Some((_, Token::Char(','))) => {}
                        _ => break,
                    }
                }
                // What follows the group belongs to the tree around it.
                path.clear();
            }
            Token::Char(_) => break,
        }
    }
    if path.len() > prefix.len() {
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
        found.push(Named { line: first, path, name, is_reexport });
    }
    at
}

fn tokens(file: &File) -> Vec<(usize, Token)> {
    let mut tokens = Vec::new();
    for (line, code) in file.code_lines() {
        let mut chars = code.chars().peekable();
        while let Some(char) = chars.next() {
            if char.is_alphanumeric() || char == '_' {
                let mut word = String::from(char);
                while let Some(more) = chars.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(more);
                }
                tokens.push((line, Token::Word(word)));
            } else if char == ':' && chars.next_if_eq(&':').is_some() {
                tokens.push((line, Token::Of));
            } else if !char.is_whitespace() {
                tokens.push((line, Token::Char(char)));
            }
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)], module: &str) -> Vec<(usize, String, bool)> {
        let repository = Repository::of(files);
        let modules = Modules::of(&repository, "a");
        let imports = modules.imports(module).into_iter();
        imports.map(|Import { line, module, is_reexport }| (line, module, is_reexport)).collect()
    }

    const ROOT: (&str, &str) =
        ("crates/a/src/lib.rs", "mod low;\nmod high;\npub use high::{part as shown, part::Name};\n");

    #[test]
    fn a_use_is_taken_apart() {
        let files = [
            ROOT,
            ("crates/a/src/low.rs", ""),
            ("crates/a/src/high.rs", "pub mod part;\n"),
            ("crates/a/src/high/part.rs", ""),
            (
                "crates/a/src/x.rs",
                "use crate::{\n    high::part::{self, Name as Other},\n    low,\n};\npub use crate::low::X;\n",
            ),
        ];
        let expected = [
            (2, "high::part".to_owned(), false),
            (2, "high::part".to_owned(), false),
            (3, "low".to_owned(), false),
            (5, "low".to_owned(), true),
        ];
        assert_eq!(imports(&files, "x"), expected);
    }

    #[test]
    fn paths_in_code_and_names_of_the_root_count() {
        let files = [
            ROOT,
            (
                "crates/a/src/low.rs",
                "use std::fmt;\nfn f() -> crate::Name { crate::shown::g(a::b) }\n// crate::x\n",
            ),
            ("crates/a/src/high.rs", "use part::Name;\n"),
            (
                "crates/a/src/high/part.rs",
                "fn f(x: super::X) { super::super::low::g() }\npub(in super::super) struct Y;\n",
            ),
        ];
        let part = || "high::part".to_owned();
        assert_eq!(imports(&files, "low"), [(2, part(), false), (2, part(), false)]);
        assert_eq!(imports(&files, "high"), [(1, part(), false)]);
        assert_eq!(
            imports(&files, "high::part"),
            [(1, "high".to_owned(), false), (1, "low".to_owned(), false)]
        );
    }
}
