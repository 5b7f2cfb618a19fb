//! The words of a program behind the options of another, where these are read by no row.

use crate::value::Value;

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
