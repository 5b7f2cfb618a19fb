//! The words of a program behind the options of another, where these are read by no row.

use crate::value::{MANY, UNKNOWN, Value, with_unknowns};

/// Options of `bwrap` that take one word, and those that take two.
const BWRAP: [&[&str]; 2] = [
    &[
        "--args", "--argv0", "--userns", "--userns2", "--pidns", "--uid", "--gid", "--hostname", "--chdir",
        "--unsetenv", "--lock-file", "--sync-fd", "--remount-ro", "--overlay-src", "--tmp-overlay",
        "--ro-overlay", "--exec-label", "--file-label", "--proc", "--dev", "--tmpfs", "--mqueue", "--dir",
        "--seccomp", "--add-seccomp-fd", "--block-fd", "--userns-block-fd", "--info-fd", "--json-status-fd",
        "--cap-add", "--cap-drop", "--perms", "--size",
    ],
    &[
        "--setenv", "--bind", "--bind-try", "--dev-bind", "--dev-bind-try", "--ro-bind", "--ro-bind-try",
        "--bind-fd", "--ro-bind-fd", "--file", "--bind-data", "--ro-bind-data", "--symlink", "--chmod",
    ],
];

/// The program that `bwrap` starts.
pub(super) fn behind_bwrap(words: &[Value]) -> &[Value] {
    let mut at = 0;
    while let Some(option) = words.get(at).and_then(Value::plain).filter(|word| word.starts_with("--")) {
        if option == "--" {
            at += 1;
            break;
        }
        let takes = BWRAP.iter().position(|names| names.contains(&option)).map_or(0, |row| row + 1);
        // `--overlay` takes three.
        at += 1 + if option == "--overlay" { 3 } else { takes };
    }
    words.get(at..).unwrap_or_default()
}

/// The program that `setarch` starts, with the architecture in front of it or without.
pub(super) fn behind_setarch(words: &[Value]) -> &[Value] {
    const ARCHITECTURES: &[&str] = &[
        "x86", "i386", "i486", "i586", "i686", "amd64", "linux32", "linux64", "arm", "aarch64", "ppc",
        "powerpc", "s390", "mips", "sparc", "ia64", "parisc", "alpha", "riscv", "loongarch", "uname26",
    ];
    let is_one = |word: &str| ARCHITECTURES.iter().any(|name| word.starts_with(name)) && !word.contains('/');
    let mut at = 0;
    let mut told = false;
    while let Some(word) = words.get(at).and_then(Value::plain) {
        match word {
            "--" => {
                at += 1;
                break;
            }
            option if option.starts_with('-') => {}
            word if !told && is_one(word) => told = true,
            _ => break,
        }
        at += 1;
    }
    words.get(at..).unwrap_or_default()
}

/// `cmake -E rm x`: the program of the same words.
pub(super) fn behind_cmake(words: &[Value]) -> Vec<Value> {
    const TOOLS: [(&str, &[&str]); 16] = [
        ("rm", &["rm"]),
        ("remove", &["rm"]),
        ("remove_directory", &["rm", "-r"]),
        ("rename", &["mv"]),
        ("copy", &["cp"]),
        ("copy_if_different", &["cp"]),
        ("copy_directory", &["cp", "-r"]),
        ("make_directory", &["mkdir"]),
        ("create_symlink", &["ln", "-s"]),
        ("create_hardlink", &["ln"]),
        ("touch", &["touch"]),
        ("cat", &["cat"]),
        ("tar", &["tar"]),
        ("env", &["env"]),
        ("time", &["time"]),
        ("environment", &["env"]),
    ];
    let at = words.iter().position(|word| word.plain() == Some("-E"));
    let [tool, rest @ ..] = at.map(|at| &words[at + 1..]).unwrap_or_default() else { return Vec::new() };
    // `cmake -E chdir DIR program`.
    if tool.plain() == Some("chdir") {
        return rest.get(1..).unwrap_or_default().to_vec();
    }
    let known = TOOLS.iter().find(|(name, _)| tool.plain() == Some(name));
    let front = known.map(|(_, program)| program.iter().map(|word| Value::known(*word)));
    front.map(|front| front.chain(rest.iter().cloned()).collect()).unwrap_or_default()
}

/// The words of `env` with those of each text of `-S` in its place, so that what stands behind it belongs to them, and with
/// `-i` for a lone `-`.
pub(super) fn behind_env(words: &[Value], variable: impl Fn(&str) -> Option<Value>) -> Vec<Value> {
    let mut words = words.to_vec();
    let mut at = 1;
    while let Some(text) = words.get(at).map(|word| word.text.clone()) {
        if text == "--" {
            words.remove(at);
            break;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else { break };
        let (splits, front, attached) = match letters.strip_prefix('-') {
            Some(long) => {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let is = |option: &str| option.starts_with(name);
                if !["split-string", "unset", "chdir", "argv0"].iter().any(|option| is(option)) {
                    at += 1;
                    continue;
                }
                (is("split-string"), "", value)
            }
            None => {
                let Some(open) = letters.find(['S', 'u', 'C', 'a']) else {
                    at += 1;
                    continue;
                };
                let value = &letters[open + 1..];
                (letters[open..].starts_with('S'), &letters[..open], (!value.is_empty()).then_some(value))
            }
        };
        let used = if attached.is_some() { 1 } else { 2 };
        if !splits {
            at += used;
            continue;
        }
        let Some(given) = words.get(at + used - 1).cloned() else { break };
        let given = Value { text: attached.map_or(given.text.clone(), Into::into), ..given };
        let front = (!front.is_empty()).then(|| Value::known(format!("-{front}")));
        let parts: Vec<Value> = front.into_iter().chain(split(&given, &variable)).collect();
        words.splice(at..at + used, parts);
    }
    if words.get(at).is_some_and(|word| word.text == "-") {
        words[at].text = "-i".into();
    }
    words
}

/// The words of a text of `env -S`.
fn split(given: &Value, variable: &impl Fn(&str) -> Option<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    let mut word: Option<Value> = None;
    let mut quote = None;
    let text = with_unknowns(&given.text);
    let mut rest = text.as_str();
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        let begun = || Value { text: "".into(), ..given.clone() };
        let ends = quote.is_none() && sign.is_ascii_whitespace();
        let next = rest.chars().next();
        let escaped = sign == '\\' && (quote != Some('\'') || matches!(next, Some('\\' | '\'')));
        if ends || escaped && quote.is_none() && next == Some('_') {
            all.extend(word.take());
            rest = if ends { rest } else { &rest[1..] };
            continue;
        }
        if sign == '#' && quote.is_none() && word.is_none() || escaped && next == Some('c') {
            break;
        }
        let word = word.get_or_insert_with(begun);
        match sign {
            _ if escaped => {
                let Some(next) = next else { break };
                rest = &rest[next.len_utf8()..];
                word.text.push(match next {
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    '_' => ' ',
                    next => next,
                });
            }
            '\'' | '"' if quote.is_none() => quote = Some(sign),
            sign if quote == Some(sign) => quote = None,
            '$' if quote != Some('\'') && rest.starts_with('{') => {
                let (name, behind) = rest[1..].split_once('}').unwrap_or((&rest[1..], ""));
                word.push(&variable(name).unwrap_or_else(Value::unknown));
                rest = behind;
            }
            // Blanks in it make more words.
            UNKNOWN => word.text.push(MANY),
            sign => word.text.push(sign),
        }
    }
    all.extend(word);
    all
}
