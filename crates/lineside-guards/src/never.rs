//! What no call can ever meet: a guard that asks for it would hold nothing back while it looks as if it did.

use std::borrow::Cow;

/// What a shell does by itself under these names.
const BUILTINS: [&str; 38] = [
    ".", ":", "[", "alias", "bind", "builtin", "cd", "command", "declare", "echo", "enable", "eval", "exec",
    "exit", "export", "false", "history", "let", "local", "popd", "printf", "pushd", "pwd", "read",
    "readonly", "return", "set", "shopt", "source", "test", "trap", "true", "type", "typeset", "ulimit",
    "umask", "unalias", "unset",
];

/// Why no program is ever called so, with what to write instead.
pub(crate) fn program(name: &str) -> Option<String> {
    let mut words = name.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let (flags, words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('-'));
    if !(flags.is_empty() && words.is_empty()) {
        let mut instead = format!("program: {first}");
        if !words.is_empty() {
            instead.push_str(&format!(", subcommand: {}", words.join(" ")));
        }
        if !flags.is_empty() {
            instead.push_str(&format!(", flags: [{}]", flags.join(", ")));
        }
        return Some(format!("a program is one word, write {{{instead}}}"));
    }
    if BUILTINS.contains(&name) {
        let instead = "`argument: {command: …}` looks at the text, and `sets` at variables";
        return Some(format!("a builtin of the shell starts no program, {instead}"));
    }
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    name.contains('/').then(|| format!("a program is asked for by its name wherever it lies, write `{last}`"))
}

/// Why a subcommand never has these words, with what to write instead.
pub(crate) fn subcommand(words: &str) -> Option<String> {
    let option = words.split_ascii_whitespace().find(|word| word.starts_with('-'))?;
    Some(format!("options are no part of it, put `{option}` into `flags`"))
}

/// Why no option is ever spelled so, with what to write instead.
pub(crate) fn flag(spellings: &str) -> Option<String> {
    spellings.split('|').find_map(|spelling| {
        let name = spelling.split_once('=').map_or(spelling, |(name, _)| name);
        let several: Vec<&str> =
            name.split([' ', '\t', ',']).map(str::trim).filter(|name| !name.is_empty()).collect();
        if several.len() > 1 {
            return Some(format!("several options are a list, write [{}]", several.join(", ")));
        }
        let sign = if name.chars().count() < 3 { "-" } else { "--" };
        (!name.starts_with('-')).then(|| format!("an option begins with a sign, write `{sign}{name}`"))
    })
}

/// Why no variable is ever set so, with what to write instead.
pub(crate) fn variable(glob: &str) -> Option<String> {
    (!glob.contains(['=', '*'])).then(|| format!("it is compared with name and value, write `{glob}=*`"))
}

/// A glob as paths are compared with it: `./` is left out, and `/` at the end is all that is in the folder.
///
/// # Errors
/// Why no path is ever so.
pub(crate) fn path(glob: &str) -> Result<Cow<'_, str>, String> {
    let glob = folder(glob)?;
    Ok(match glob.strip_suffix('/') {
        Some(inside) if !inside.is_empty() => format!("{inside}/**").into(),
        _ => glob.into(),
    })
}

/// A folder as paths are compared with it.
///
/// # Errors
/// Why no path is ever so.
pub(crate) fn root(folder_as_written: &str) -> Result<Cow<'_, str>, String> {
    let folder = folder(folder_as_written)?;
    Ok(folder.strip_suffix('/').filter(|folder| !folder.is_empty()).unwrap_or(folder).into())
}

fn folder(glob: &str) -> Result<&str, String> {
    let why = match glob.as_bytes() {
        [b'!', ..] => "a pattern cannot exclude, put what is not meant into `not`",
        [b'$', ..] => "no variable is put in its place, `~` is the home",
        [b'~', next, ..] if *next != b'/' => {
            "only the home of the account is known as `~`, write the whole path"
        }
        _ if glob.split('/').any(|part| part == "..") => "no path has `..` in it, write the whole path",
        _ => "",
    };
    if !why.is_empty() {
        return Err(why.to_owned());
    }
    let mut glob = glob;
    while let Some(rest) = glob.strip_prefix("./").filter(|rest| !rest.is_empty()) {
        glob = rest.trim_start_matches('/');
    }
    Ok(glob)
}
