//! Has what a hook of a project starts be the copy of what was trusted, and not the file in the project, which may be
//! another one in the next moment.
//!
//! An argument is a path or it is none. A line for a shell is not parsed: a word of it counts where a shell changes nothing
//! in it, or puts a variable of the hook before it. What else of the project a line names cannot be put in its place.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use lineside_commands::Shell;
use lineside_core::invocation::{Environment, Program};
use lineside_core::json::{Map, Value};
use lineside_core::worker::WorkerSpec;
use lineside_trust::CopyFileError;

use crate::seal::Seal;
use crate::started::{Inherited, Setting, Started, Words, settled};

/// What ends a word of a shell.
const BETWEEN: [char; 10] = [' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')'];

/// Words of a shell behind which the first word of a command stands.
const STARTERS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "exec", "command", "time", "env"];

/// Programs whose first argument that is no option is a script, and the options behind which there is none.
const INTERPRETERS: [&str; 13] =
    ["sh", "bash", "dash", "ksh", "zsh", "python", "python3", "node", "bun", "ruby", "perl", ".", "source"];
const WITHOUT_SCRIPT: [&str; 4] = ["-c", "-e", "-m", "--eval"];

/// The copy of what a path of the project leads to.
type Copied = fn(&Seal, &Path) -> Result<Option<PathBuf>, String>;

/// Puts the copies in the place of what this starts in a folder.
///
/// # Errors
/// A file cannot be copied, lies in the project and was not trusted, or is run by a word that no copy can stand for; or it is
/// not known which one of a folder of the project is run.
pub(crate) fn seal(
    seal: &Seal,
    program: &mut Program,
    (environment, inherited): (&Environment, Option<Inherited<'_>>),
    folder: Option<&Path>,
) -> Result<(), String> {
    seal_with(seal, program, (environment, inherited), folder, copied).map(drop)
}

/// Whether [`seal`] would let this be started, told without a copy; and why it may start more than its words say, if it may.
///
/// # Errors
/// As for that.
pub(crate) fn look(
    seal: &Seal,
    mut program: Program,
    surroundings: (&Environment, Option<Inherited<'_>>),
    folder: Option<&Path>,
) -> Result<Option<String>, String> {
    seal_with(seal, &mut program, surroundings, folder, |seal, path| Ok(seal.copies.place(&settled(path))))
}

fn seal_with(
    seal: &Seal,
    program: &mut Program,
    (environment, inherited): (&Environment, Option<Inherited<'_>>),
    folder: Option<&Path>,
    copied: Copied,
) -> Result<Option<String>, String> {
    let mut more = None;
    let base = folder.unwrap_or(seal.root());
    let base = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
    let setting = Setting { root: seal.root(), home: seal.home(), folder: &base, environment, inherited };
    let script = program.below_working_directory().map(OsStr::to_owned);
    for argv in [Some(&mut program.argv), program.without_interpreter.as_mut()].into_iter().flatten() {
        if let Some(first) = argv.first().filter(|first| first.as_encoded_bytes().contains(&b'/')) {
            let path = settled(&base.join(first));
            if path.starts_with(seal.root()) && copied(seal, &path)?.is_none() {
                return Err(format!("{} is not among what was trusted", path.display()));
            }
        }
        let shell = shell_of(argv);
        let started = setting.started(argv);
        for (at, argument) in argv.iter_mut().enumerate() {
            // A name alone is a program in `PATH`, or a word that no file is meant by.
            let has = |sign: u8| argument.as_encoded_bytes().contains(&sign);
            let is_path = has(b'/') || (at > 0 && (has(b'.') || Some(&*argument) == script.as_ref()));
            let path = base.join(&*argument);
            let is_named =
                Some(&*argument) == script.as_ref() || argument.as_encoded_bytes().starts_with(b".");
            let is_run = || started.files.contains(&settled(&path));
            let copy = match is_path {
                true if at > 0 && is_named && is_run() => copy_or_absence(seal, &path, copied)?,
                true => copied(seal, &path)?,
                false => None,
            };
            if let Some(copy) = copy {
                *argument = copy.into_os_string();
            } else if let Some(line) = argument.to_str().filter(|_| at > 0) {
                let words = shell.as_ref().filter(|(of, _)| *of == at);
                let words = words
                    .map(|(_, shell)| setting.words(shell, line, &started.inherited))
                    .unwrap_or_default();
                *argument = seal_line(seal, line, (&words, &started), &setting, copied)?.into();
            }
        }
        is_told(seal, &started, copied)?;
        more = more.or(started.unclear.into_iter().next());
    }
    Ok(more)
}

/// Of a shell that is handed a line: the place of the line, and the shell.
fn shell_of(argv: &[OsString]) -> Option<(usize, String)> {
    let shell = Path::new(argv.first()?).file_name()?.to_str()?;
    let is_line = |word: &&OsString| {
        let word = word.to_string_lossy();
        word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
    };
    let at = argv.iter().take_while(|word| !is_line(word)).count() + 1;
    (Shell::named(shell) != Shell::Other && at < argv.len()).then(|| (at, shell.to_owned()))
}

/// That no file of the project is run which is not content, as far as words tell it. What no copy can be put in the place of is
/// run where it lies: it was compared right before, and is again at the end.
fn is_told(seal: &Seal, started: &Started, copied: Copied) -> Result<(), String> {
    for file in &started.files {
        // A package that is fetched may have the name of a file that is not there.
        if copied(seal, file)?.is_none() && std::fs::symlink_metadata(file).is_ok() {
            return Err(format!("{} is not among what was trusted; {NAMED}", file.display()));
        }
    }
    match started.below.iter().find(|(_, found)| !seal.loads(found)) {
        Some((why, _)) => Err(format!("it is not certain what it runs: {why}; {NAMED}")),
        None => Ok(()),
    }
}

/// What to do about what is run in a way that is not known.
const NAMED: &str = "name each file by itself, as ./path, or name the files that it may run, or their folder, under `trusts` in \
                     .lineside/hooks.yaml";

/// Has a worker load plugins of the project from the copies, whenever it is started. What it needs of a plugin's folder, as
/// its code, its package and what lies beside these, is content as a whole.
///
/// # Errors
/// As for [`seal`].
pub(crate) fn seal_plugins(seal: &Seal, spec: &mut WorkerSpec) -> Result<(), String> {
    for plugin in &mut spec.plugins {
        let path = |plugin: &Map, name| plugin.get(name).and_then(Value::as_str).map(PathBuf::from);
        let (Some(root), Some(entry)) = (path(&plugin.load, "root"), path(&plugin.load, "entry")) else {
            continue;
        };
        let Ok(below) = root.strip_prefix(seal.root()) else { continue };
        let Some(entry) = copied(seal, &entry)? else {
            return Err(format!("{} is not among what was trusted", entry.display()));
        };
        for (name, copy) in [("root", seal.copies.folder().join(below)), ("entry", entry)] {
            plugin.load.insert(name.to_owned(), copy.to_string_lossy().into_owned().into());
        }
    }
    Ok(())
}

/// Whether a program names files of the project by other words than those of their copies.
pub(crate) fn is_partial(seal: &Seal, program: &Program) -> bool {
    if seal.loads_any() {
        return true;
    }
    let copies = seal.copies.folder().to_string_lossy();
    let words =
        program.argv.iter().filter_map(|argument| argument.to_str()).flat_map(|line| line.split(BETWEEN));
    words.into_iter().any(|word| !word.contains(&*copies) && seal.is_named_in(word))
}

/// The copy of what is run; of what is not there the place that its copy would have, where none will be, so that what comes to
/// lie there behind this look is not run.
fn copy_or_absence(seal: &Seal, path: &Path, copied: Copied) -> Result<Option<PathBuf>, String> {
    let copy = copied(seal, path)?;
    let path = settled(path);
    let is_absent = copy.is_none() && std::fs::symlink_metadata(&path).is_err_and(|error| is_absence(&error));
    let below = path.strip_prefix(seal.root()).ok().filter(|_| is_absent);
    Ok(copy.or_else(|| below.map(|below| seal.copies.folder().join(below))))
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn copied(seal: &Seal, path: &Path) -> Result<Option<PathBuf>, String> {
    seal.copies.path(&settled(path)).map_err(|error: CopyFileError| error.to_string())
}

/// A line with copies in the place of the words that mean a file for certain: those that the grammar of the shell tells, with
/// all that is started, and others by themselves.
///
/// # Errors
/// As for [`seal`]; and a word names something that is run in a way of which it is not certain which file that is.
fn seal_line(
    seal: &Seal,
    line: &str,
    (words, started): (&Words, &Started),
    setting: &Setting<'_>,
    copied: Copied,
) -> Result<String, String> {
    let (mut sealed, mut rest) = (String::with_capacity(line.len()), line);
    let environment = setting.environment;
    let is_known = started.unclear.is_empty();
    // The files whose copies were put in, and the first word that may name another one.
    let mut put: Vec<(usize, &Path)> = Vec::new();
    let mut mention = None;
    // Where relative paths begin, as far as that is known.
    let mut base = Some(setting.folder.to_path_buf());
    let has_groups = line.contains(['(', '{', '`']);
    let (mut is_certain, mut is_written, mut is_first, mut moves, mut before) =
        (true, false, true, false, "");
    let mut is_script = false;
    // The quotes that are open, and whether what follows may be a text.
    let (mut quote, mut is_text) = (None, false);
    while let Some(first) = rest.chars().next() {
        let end = if BETWEEN.contains(&first) { Some(first.len_utf8()) } else { rest.find(BETWEEN) };
        let at = line.len() - rest.len();
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        if BETWEEN.contains(&first) {
            // What stands behind `>` is written.
            is_written = word == ">" || (is_written && word.trim().is_empty());
            is_text |= word == "<" && before == "<";
            is_certain &= !is_text;
            if matches!(word, "\n" | ";" | "&" | "|" | "(") {
                (is_first, is_script) = (true, false);
            }
            sealed.push_str(word);
            before = word;
            continue;
        }
        let folder = || (moves && is_plain(word)).then(|| PathBuf::from(word));
        let named = value(word, environment, base.as_deref()).or_else(folder).filter(|_| is_certain);
        let path =
            named.and_then(|path| Some(if path.is_absolute() { path } else { base.as_ref()?.join(path) }));
        let path = path.as_deref().map(settled);
        let is_quoted = quote.is_some();
        quote = open_quote(quote, word);
        // What a shell puts in the place of a program or of a script is not known.
        let is_word = !(is_text || is_quoted || moves || word.starts_with('\''));
        let is_open = !is_known && is_word && path.is_none() && (is_first || is_script) && is_changed(word);
        let copy = path.as_deref().filter(|_| !is_written).map(|path| copied(seal, path)).transpose()?;
        // In quotes it may be a text; where a file of the name has come, it is none that was trusted.
        let within = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
        let within = within.filter(|text| is_certain && !is_written && is_plain(text));
        if let Some(path) = within.and_then(|text| Some(settled(&base.as_ref()?.join(text))))
            && seal.is_run_in(&path, is_first)
            && copied(seal, &path)?.is_none()
        {
            return Err(format!("{} is not among what was trusted", path.display()));
        }
        // Where the grammar of the shell tells what a word is, or a part of one, nothing else counts.
        let told = words.iter().find(|(of, _)| !is_written && at <= of.start && of.end <= at + word.len());
        let is_outside = told.is_some_and(|(of, file)| file.is_none() && of.len() == word.len());
        let told = told.and_then(|(of, file)| Some((of, file.as_ref()?)));
        // A package that is fetched may have the name of a file that is not there.
        let is_path =
            is_first || is_script || word.trim_start_matches(['"', '\'']).starts_with(['.', '/', '$']);
        let copy_of =
            |file: &Path| if is_path { copy_or_absence(seal, file, copied) } else { copied(seal, file) };
        let told = told.map(|(of, file)| Ok::<_, String>((of, copy_of(file)?))).transpose()?;
        let told = told.and_then(|(of, copy)| Some((of, copy?.to_str()?.to_owned())));
        // The place of a text that is made of a word is that word, which is no name of the file.
        let is_name = |copy: &str| {
            let name = Path::new(copy).file_name().and_then(OsStr::to_str);
            is_certain && name.is_some_and(|name| word.trim_end_matches(['"', '\'']).ends_with(name))
        };
        let told = told.map(|(of, copy)| (of, of.len() == word.len() && is_name(&copy), copy));
        let told =
            told.filter(|(of, is_word, copy)| *is_word || is_plain(&line[(*of).clone()]) && is_plain(copy));
        match (copy.flatten(), &path) {
            _ if let Some((of, is_word, copy)) = told => {
                let files = words.iter().filter(|(known, _)| known == of);
                put.extend(files.filter_map(|(of, file)| Some((of.start, file.as_deref()?))));
                let quote = if is_word { "'" } else { "" };
                let copy = copy.replace('\'', r"'\''");
                sealed.extend([&word[..of.start - at], quote, &copy, quote, &word[of.end - at..]]);
            }
            (Some(copy), _) => sealed.extend(["'", &copy.to_string_lossy().replace('\'', r"'\''"), "'"]),
            (None, Some(path)) if !is_written && !moves && seal.is_run_in(path, is_first) => {
                return Err(format!("{} is not among what was trusted", path.display()));
            }
            (None, None) if !is_written && !is_outside && is_open => return Err(uncertain(word)),
            (None, None) if !is_written && !is_outside && seal.has_run(word) => {
                mention.get_or_insert(word);
                sealed.push_str(word);
            }
            _ => sealed.push_str(word),
        }
        if moves {
            // Within a group another folder holds, and behind it not.
            base = path.filter(|_| !has_groups);
        }
        moves = is_first && word == "cd";
        if matches!(word, "pushd" | "popd" | "chdir") {
            base = None;
        }
        // Within quotes that hold more than a word, and in a text, nothing is certain.
        let is_open = |quote: char| word.matches(quote).count() % 2 == 1;
        is_certain &= !(is_open('"') || is_open('\'') || word.contains('\\'));
        let name = word.rsplit('/').next().unwrap_or(word);
        is_script = match is_first {
            true => INTERPRETERS.contains(&name),
            false => is_script && word.starts_with('-') && !WITHOUT_SCRIPT.contains(&word),
        };
        is_first &= word.contains('=') || STARTERS.contains(&word);
        (is_written, before) = (false, word);
    }
    match mention.filter(|_| !tells_all(words, started, &put, line)) {
        Some(word) => Err(uncertain(word)),
        None => Ok(sealed),
    }
}

/// Whether a line is read whole, and each file that it starts is run by its copy: then what else names a file runs none.
fn tells_all(words: &Words, started: &Started, put: &[(usize, &Path)], line: &str) -> bool {
    let is_put = |(of, file): &(Range<usize>, Option<PathBuf>)| {
        file.as_deref().is_none_or(|file| put.contains(&(of.start, file)))
    };
    let is_there = |file: &PathBuf| put.iter().any(|(_, put)| put == file);
    // What is written may be run later.
    let writes = line.replace(">&2", "").replace("2>&1", "").replace(">/dev/null", "").contains('>');
    let is_read = started.unclear.is_empty() && started.below.is_empty() && started.is_plain && !writes;
    is_read && words.iter().all(is_put) && started.files.iter().all(is_there)
}

fn uncertain(word: &str) -> String {
    format!(
        "it is not certain which file `{word}` is; name it by itself and without quotes around more, as ./path or \
         \"$VARIABLE\"/path"
    )
}

/// The quotes that are open behind a word, where these are in front of it.
fn open_quote(mut quote: Option<char>, word: &str) -> Option<char> {
    let mut is_escaped = false;
    for sign in word.chars() {
        match quote {
            _ if std::mem::take(&mut is_escaped) => {}
            Some('"') | None if sign == '\\' => is_escaped = true,
            Some(open) if sign == open => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            _ => {}
        }
    }
    quote
}

/// Whether a shell puts something else in the place of a word, or of a part of it.
fn is_changed(word: &str) -> bool {
    word.contains(['$', '`', '*', '?', '[']) && !word.contains('=') && !matches!(word, "[" | "[[")
}

/// Whether a shell changes nothing in a text.
fn is_plain(text: &str) -> bool {
    text.chars().all(|sign| sign.is_ascii_alphanumeric() || "_-./+,@%".contains(sign))
}

/// What a word means, if a shell does nothing else with it than to put the value of a variable before it.
fn value(word: &str, environment: &Environment, base: Option<&Path>) -> Option<PathBuf> {
    let within = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(text) = within('\'').or(Some(word)).filter(|text| is_plain(text) && text.contains(['/', '.']))
    {
        return Some(text.into());
    }
    let text = within('"').unwrap_or(word);
    // `"$NAME"/path`, `"$NAME/path"`, `$NAME/path`, and the same with braces.
    let text = text.strip_prefix('"').unwrap_or(text).strip_prefix('$')?;
    let (name, path) = text.split_once('/')?;
    let name = name.strip_suffix('"').unwrap_or(name);
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    let set = environment.set.iter().rev().find(|(set, _)| set == name).map(|(_, value)| Path::new(value));
    let set = set.or(base.filter(|_| name == "PWD"))?;
    Some(set.join(path)).filter(|_| is_plain(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use lineside_core::invocation::{Exit, Invocation, Limits};
    use lineside_dialects::{Call, Returned};
    use lineside_trust::{Content, Guard, OfFolder, Reach, Store, Wanted};
    use tokio::time::Instant;

    use super::*;
    use crate::handler_runtime::HandlerRuntime;
    use crate::prelude::*;
    use crate::workers::HookWorkers;

    /// A project with a guard, a script in a folder of hooks and what that loads, trusted.
    fn sealed() -> (tempfile::TempDir, Seal) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".x/hooks")).unwrap();
        for file in [".x/hooks/a.py", ".x/hooks/b.py", "check"] {
            fs::write(root.join(file), file).unwrap();
        }
        fs::write(root.join("guard.sh"), "#!/bin/sh\necho good\n").unwrap();
        fs::set_permissions(root.join("guard.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let wanted = [("guard.sh", false), (".x/hooks", true), ("check", false)];
        let of_folder = |whole| if whole { OfFolder::Everything } else { OfFolder::Nothing };
        let wanted =
            wanted.map(|(path, whole)| Wanted { path: root.join(path), of_folder: of_folder(whole) });
        let wanted = wanted.to_vec();
        let content = Content::read(&root, &wanted).unwrap();
        let store = Store::of(&folder.path().join("state"));
        store.trust(&content, Vec::<Guard>::new(), Reach::Project).unwrap();
        let seal = Seal::of(&store, &content, wanted, "/home/me").unwrap();
        (folder, seal)
    }

    fn seen(seal: &Seal, mut program: Program) -> String {
        let set = vec![("P".into(), seal.root().into())];
        let environment = Environment { set, ..Environment::default() };
        super::seal(seal, &mut program, (&environment, None), Some(seal.root())).unwrap();
        let text =
            program.argv.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" ");
        let partial = if is_partial(seal, &program) { " (partial)" } else { "" };
        format!("{}{partial}", text.replace(seal.copies.folder().to_str().unwrap(), "C"))
    }

    #[test]
    fn what_a_command_names_of_its_project_is_the_copy() {
        let (_folder, seal) = sealed();
        for (argv, expected) in [
            (&["./guard.sh", "check", "x"][..], "C/guard.sh check x (partial)"),
            (&["python3", "-u", ".x/hooks/a.py"], "python3 -u C/.x/hooks/a.py"),
            (&["bash", "check"], "bash C/check"),
            (&["bash", "../project/check"], "bash C/check"),
            (&["bash", "./absent"], "bash C/absent"),
            (&["../other/x", "../other/y.sh"], "../other/x ../other/y.sh"),
            (&["check"], "check (partial)"),
        ] {
            assert_eq!(seen(&seal, Program::argv(argv.iter().copied())), expected);
        }
        let beside = fs::read_to_string(seal.copies.folder().join(".x/hooks/b.py")).unwrap();
        assert_eq!(beside, ".x/hooks/b.py", "what lies beside a script is there");
        let mut other = Program::argv(["./new.sh"]);
        fs::write(seal.root().join("new.sh"), "").unwrap();
        let refused = super::seal(&seal, &mut other, (&Environment::default(), None), None).unwrap_err();
        assert!(refused.ends_with("new.sh is not among what was trusted"), "{refused}");
    }

    #[test]
    fn a_word_of_a_line_is_the_copy_where_a_shell_changes_nothing_in_it() {
        let (_folder, seal) = sealed();
        for (line, expected) in [
            ("./guard.sh --strict | cat", "'C/guard.sh' --strict | cat"),
            ("true && python3 .x/hooks/a.py;x", "true && python3 'C/.x/hooks/a.py';x"),
            ("\"$P\"/guard.sh", "'C/guard.sh'"),
            ("exec \"$P/guard.sh\" a", "exec 'C/guard.sh' a"),
            ("${P}/guard.sh \"$PWD\"/guard.sh", "'C/guard.sh' 'C/guard.sh'"),
            ("cat > ./guard.sh < ./guard.sh", "cat > ./guard.sh < 'C/guard.sh' (partial)"),
            ("cd src && ../guard.sh", "cd src && 'C/guard.sh'"),
            ("cd .x/hooks && python3 ./a.py", "cd .x/hooks && python3 'C/.x/hooks/a.py'"),
            ("cd \"$P/.x\"; cd hooks; python3 b.py", "cd \"$P/.x\"; cd hooks; python3 'C/.x/hooks/b.py'"),
            ("(cd .x); ./guard.sh", "(cd .x); 'C/guard.sh'"),
            ("A=b exec ./absent a", "A=b exec 'C/absent' a"),
            ("[ -f .absent ] && . ./.absent", "[ -f .absent ] && . 'C/.absent'"),
            ("[ -f x/a.sh ] && sh x/a.sh", "[ -f x/a.sh ] && sh 'C/x/a.sh'"),
            ("cd .x; ./guard.sh", "cd .x; 'C/.x/guard.sh'"),
            ("sh ../project/guard.sh; ../other/x.sh", "sh 'C/guard.sh'; ../other/x.sh"),
            ("cd ../other && ./x.sh", "cd ../other && ./x.sh"),
            ("npx -y @x/absent; npx tsx", "npx -y @x/absent; npx tsx"),
            ("pushd .x; python3 hooks/a.py", "pushd .x; python3 'C/.x/hooks/a.py'"),
            ("sh -c \"cd .x; ../guard.sh\"", "sh -c \"cd .x; C/guard.sh\""),
            ("env -C .x ../guard.sh", "env -C .x 'C/guard.sh'"),
            ("/usr/bin/env guard", "/usr/bin/env guard"),
            ("/opt/guard.sh", "/opt/guard.sh (partial)"),
            ("echo 'a b'", "echo 'a b'"),
            ("[ -n \"$Q\" ] && cat *.md", "[ -n \"$Q\" ] && cat *.md"),
            ("A=$Q python3 -c 'print(1)' $Q", "A=$Q python3 -c 'print(1)' $Q"),
            ("cat <<x\ncheck\nx", "cat <<x\ncheck\nx (partial)"),
            ("cat <<x\n./guard.sh\nx", "cat <<x\n./guard.sh\nx (partial)"),
            (
                "./guard.sh || { echo \"run ./guard.sh\" >&2; exit 2; }",
                "'C/guard.sh' || { echo \"run ./guard.sh\" >&2; exit 2; } (partial)",
            ),
            ("grep -q \"guard.sh\" x", "grep -q \"guard.sh\" x (partial)"),
            ("cat \"./guard.sh\" | head", "cat \"./guard.sh\" | head (partial)"),
            ("sh -c 'grep \"see ./guard.sh\" x'", "sh -c 'grep \"see ./guard.sh\" x' (partial)"),
        ] {
            assert_eq!(seen(&seal, Program::shell("/bin/sh", line)), format!("/bin/sh -c {expected}"));
        }
    }

    #[test]
    fn a_line_that_names_what_it_runs_in_another_way_or_what_was_not_trusted_is_not_run() {
        let (_folder, seal) = sealed();
        fs::write(seal.root().join("late.sh"), "").unwrap();
        for (line, told) in [
            ("$Q/guard.sh", "it is not certain which file `$Q/guard.sh` is"),
            ("sh g*.sh", "it is not certain what it runs: which file it runs is not known"),
            ("bash -eu \"$Q\"", "`\"$Q\"`"),
            ("echo \"a b\"; sh \"$Q\"", "`\"$Q\"`"),
            ("echo \"a b\"; sh \"$(cat x)\"", "`\"$`"),
            ("cat \"late.sh\" | sh", "/late.sh is not among what was trusted"),
            ("echo 'it \"is'; $Q", "`$Q`"),
            ("echo it\\'s; sh $(cat x)", "`$`"),
            ("for f in *.sh; do sh $f; done", "it is not certain what it runs"),
            ("ls *.sh | while read f; do $f; done", "`$f`"),
            ("./g?ard.sh --strict", "`./g?ard.sh`"),
            ("cd $Q && ./guard.sh", "`./guard.sh`"),
            ("[ -s \"$Q/x.sh\" ] && . \"$Q/x.sh\"", "`\"$Q/x.sh\"`"),
            ("[ -x \"$Q/bin/x\" ] && \"$Q/bin/x\" -v", "`\"$Q/bin/x\"`"),
            ("cat <<x | y\n./guard.sh\nx", "`./guard.sh`"),
            ("echo 'run ./guard.sh' | xargs x", "guard.sh"),
            ("echo \"run ./guard.sh\" > x; y", "guard.sh"),
            ("x \"see ./guard.sh\"", "guard.sh"),
            ("X='run ./guard.sh' x", "guard.sh"),
            ("python3 -c 'run(\"./guard.sh\")'", "guard.sh"),
            ("sh .x/hooks/a.py; sh -c 'sh \"'$P'/guard.sh\"'", "guard.sh"),
            ("./guard.sh\\ ./guard.sh", "guard.sh"),
            ("true; python3 late.sh", "/late.sh is not among what was trusted"),
            ("sh \"../project/late.sh\"", "/project/late.sh is not among what was trusted"),
        ] {
            let set = vec![("P".into(), seal.root().into())];
            let environment = Environment { set, ..Environment::default() };
            let mut program = Program::shell("/bin/sh", line);
            let refused = super::seal(&seal, &mut program, (&environment, None), Some(seal.root()));
            assert!(refused.as_ref().is_err_and(|why| why.contains(told)), "{line}: {refused:?}");
        }
    }

    /// How often a file is run while it is exchanged.
    const RUNS: usize = 1_000;

    /// Exchanges a file for another one and back in every way, until it is over.
    fn exchange(guard: &Path, is_over: &AtomicBool) {
        let [evil, good, new] = ["evil", "good", "new"].map(|name| guard.with_file_name(name));
        let script = |said: &str| format!("#!/bin/sh\necho {said}\n");
        let put = |path: &Path, said: &str| {
            fs::write(path, script(said)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        for round in 0.. {
            put(&evil, "evil");
            match round % 3 {
                0 => fs::rename(&evil, guard).unwrap(),
                1 => {
                    fs::hard_link(&evil, &new).unwrap();
                    fs::rename(&new, guard).unwrap();
                }
                _ => fs::write(guard, script("evil")).unwrap(),
            }
            put(&good, "good");
            fs::rename(&good, guard).unwrap();
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            for _ in 0..round % 50 {
                std::thread::yield_now();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn t03_a_file_that_is_exchanged_while_it_is_started_runs_as_it_was_trusted_or_not_at_all() {
        let runs = std::env::var("LINESIDE_SWAPS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
        let (_folder, seal) = sealed();
        let (guard, over) = (seal.root().join("guard.sh"), Arc::new(AtomicBool::new(false)));
        let exchanges = {
            let (guard, over) = (guard.clone(), Arc::clone(&over));
            std::thread::spawn(move || exchange(&guard, &over))
        };
        let outside = HandlerRuntime {
            seal: Some(Arc::new(seal)),
            ..HandlerRuntime::new(Arc::new(HookWorkers::new(&Bus::new())))
        };
        let bus = Bus::new();
        let session = bus.session("s").open().await.unwrap();
        session.intercept::<BeforeTool>("gate").gate(async |_, _| Verdict::Continue).unwrap();
        let published = session.publish(BeforeTool::new("Shell", json!({}))).await.unwrap();
        let event = published.receipt().unwrap().event.clone();
        let (mut ran, mut refused) = (0, 0);
        let mut run = async |line: bool| {
            let program = if line {
                Program::shell("/bin/sh", "./guard.sh | cat")
            } else {
                Program::argv(["./guard.sh"])
            };
            let invocation = Invocation {
                program,
                stdin: Vec::new(),
                environment: Environment::default(),
                files: Vec::new(),
                working_directory: guard.parent().map(Path::to_path_buf),
                limits: Limits::default(),
            };
            match outside.prepare(&event, |_| Ok(Call::Command(invocation.clone()))) {
                Err(_) => refused += 1,
                Ok(call) => {
                    let deadline = Instant::now() + Duration::from_secs(60);
                    let Returned::Command(ended) =
                        outside.run(call, deadline, std::future::ready(()), None, None).await
                    else {
                        unreachable!()
                    };
                    assert_eq!((ended.exit, &*ended.stdout.trimmed_text()), (Exit::Code(0), "good"));
                    ran += 1;
                }
            }
        };
        for number in 0..runs {
            run(number % 2 == 0).await;
        }
        over.store(true, Ordering::Relaxed);
        exchanges.join().unwrap();
        run(false).await;
        println!("{ran} ran, {refused} were refused");
        assert!(ran > 0);
    }

    #[test]
    fn a_copy_that_was_changed_or_joined_by_another_file_is_made_anew() {
        let (_folder, seal) = sealed();
        let run = || seen(&seal, Program::argv(["python3", ".x/hooks/a.py"]));
        run();
        let hooks = seal.copies.folder().join(".x/hooks");
        fs::remove_file(hooks.join("a.py")).unwrap();
        fs::write(hooks.join("a.py"), "evil").unwrap();
        fs::write(hooks.join("json.py"), "evil").unwrap();
        run();
        assert_eq!(fs::read_to_string(hooks.join("a.py")).unwrap(), ".x/hooks/a.py");
        assert!(!hooks.join("json.py").exists());
        // What is in the project by now is not what is copied.
        fs::write(seal.root().join(".x/hooks/a.py"), "evil").unwrap();
        fs::remove_dir_all(seal.copies.folder()).unwrap();
        run();
        assert_eq!(fs::read_to_string(hooks.join("a.py")).unwrap(), ".x/hooks/a.py");
    }
}
