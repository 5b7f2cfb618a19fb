//! Commands of a grammar, run by the real bash with programs that only note their words, against what is listed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use lineside_commands::{Argument, CommandProgram, Shell, Surroundings, Unknown, analyse};

/// Programs that note their words.
const PROGRAMS: &[&str] = &["alpha", "beta", "gamma", "delta"];
/// Programs that are real, and are not compared.
const REAL: &[&str] = &["bash", "sh", "env", "xargs", "nice", "timeout", "cat", "nohup"];

/// How many commands are made; a build by night asks for more.
const COUNT: &str = match option_env!("LINESIDE_ORACLE_COMMANDS") {
    Some(count) => count,
    None => "500",
};

/// How many shells are run at a time.
const THREADS: usize = 8;

/// What is listed and bash does not start, or the other way: a part of the command, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("${E:-", "a variable that is not set is read as if it had a value as well"),
    ("$((", "an arithmetic expression that is none ends the shell; what it holds and what follows is listed"),
    ("&& set -- ", "what is set where something may fail is taken to be set"),
    ("M=([k]", "a list whose declaration may fail is not known behind it"),
    ("&& P=", "so is a variable"),
    ("&& printf -v", "so is a variable"),
    ("&& mapfile", "what is set where something may fail is taken to be set"),
    ("| printf -v", "a variable of a part of a pipe is not set behind it"),
    ("| R=", "a variable of a part of a pipe is not set behind it"),
    ("| P=", "a variable of a part of a pipe is not set behind it, and the name of the program is not known"),
    (
        "| f1() ",
        "a function of a part of a pipe is not there behind it: its name is listed as that of a program",
    ),
    ("| g() ", "a function of a part of a pipe is not there behind it"),
    ("| function g", "a function of a part of a pipe is not there behind it"),
    ("A+=(q)", "what is set where something may fail, or behind another branch, is taken to be set"),
    ("| ! ", "a part of a pipe that begins with `!` is no part for bash, and what follows is not read"),
    ("| f2() ", "a function of a part of a pipe is not there behind it"),
    ("EXIT", "of two traps the last one is run, and both are listed"),
    ("<<", "a here-document within a substitution of a condition may end the shell; what follows is listed"),
];

/// What is taken to be set where it may not be, so that words are listed that bash does not have.
const IN_DOUBT: &[&str] = &["&& set -- ", "&& mapfile", "A+=(q)"];

const NOTE: &str = "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" > \"$NOTES/$$\"\n";

struct Grammar {
    random: Rng,
    /// Whether a part of the command is not run by bash.
    partly: bool,
}

impl Grammar {
    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.random.usize(..of.len())]
    }

    fn word(&mut self) -> String {
        let program = self.one(PROGRAMS);
        match self.random.u8(..22) {
            0 => "'a b'".into(),
            1 => "\"c  d\"".into(),
            2 => "$'\\x41\\tz'".into(),
            3 => "e\\ f".into(),
            4 => "{x,y}z".into(),
            5 => "{1..3}".into(),
            6 => "$V".into(),
            7 => "\"$V\"".into(),
            8 => "\"${A[@]}\"".into(),
            9 => "${V%q}".into(),
            10 => "${V##*p}".into(),
            11 => "${V/o/\"0 0\"}".into(),
            12 => "${V^^}".into(),
            13 => "\"$(echo '; alpha')\"".into(),
            14 => "$(printf '%s ' u v)".into(),
            15 => "`echo w`".into(),
            16 => "${E:-d\"e f\"}".into(),
            17 => "${#V}".into(),
            18 => "-n".into(),
            19 => "\"a\"'b'c#d".into(),
            20 => "\"${V:1:3}\"".into(),
            _ => format!("'{program} x'"),
        }
    }

    fn simple(&mut self) -> String {
        let mut program = self.one(PROGRAMS).to_owned();
        program = match self.random.u8(..9) {
            0 => format!("\\{program}"),
            1 => format!("'{}'{}", &program[..1], &program[1..]),
            2 => format!("env X=1 {program}"),
            3 => format!("Y=2 {program}"),
            4 => format!("command {program}"),
            5 => format!("nice -n 1 {program}"),
            6 => format!("timeout 9 {program}"),
            _ => program,
        };
        for _ in 0..self.random.usize(..4) {
            program.push(' ');
            program.push_str(&self.word());
        }
        match self.random.u8(..8) {
            0 => program.push_str(" 2>&1"),
            1 => program.push_str(" >out"),
            2 => program = format!("</dev/null {program}"),
            _ => {}
        }
        program
    }

    /// A function has a name for each depth: one that calls itself would never end.
    fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple();
        }
        let (a, b) = (self.command(depth - 1), self.command(depth - 1));
        match self.random.u8(..44) {
            0 => format!("{a} && {b}"),
            1 => format!("{a}; {b}"),
            2 => format!("{a} | {b}"),
            3 => format!("( {a} )"),
            4 => format!("{{ {a}; {b}; }}"),
            5 => format!("if true; then {a}; fi"),
            6 => format!("for i in 1 'b c'; do {} \"$i\"; done", self.simple()),
            7 => format!("case xy in x*) {a};; esac"),
            8 => format!("f{depth}() {{ {a}; }}; f{depth}"),
            9 => format!("eval {}", quoted(&a)),
            10 => format!("export V; bash -c {}", quoted(&self.plain())),
            11 => format!("{{ {} <<'E'\n{}\nE\n}}", self.one(&["bash", "cat | sh"]), self.plain()),
            12 => format!("echo {} | bash", quoted(&self.plain())),
            13 => format!("bash <<< {}", quoted(&self.plain())),
            14 => format!("echo k l | xargs {} m", self.one(PROGRAMS)),
            15 => format!("trap {} EXIT", quoted(&self.plain())),
            16 => format!("x=$({a})"),
            17 => format!("set -- r 's t'; {} \"$@\" $2", self.one(PROGRAMS)),
            18 => format!("P={}; $P v", self.one(PROGRAMS)),
            19 => format!("[[ -n \"$({a})\" ]]; {b}"),
            20 => format!("{{ {a} <<E\n$({b})\nE\n}}"),
            21 => {
                self.partly = true;
                format!("false && {a}; {b}")
            }
            22 => {
                self.partly = true;
                format!("if false; then {a}; else {b}; fi")
            }
            23 => format!("f{depth}() ( {a} ); f{depth}"),
            24 => format!("function g{depth} {{ {a}; }}; g{depth}"),
            25 => format!("function g{depth}() ( {a} ); g{depth}"),
            26 => format!("{{ {a} <<'A' <<B\nx\nA\n$({b})\nB\n}}"),
            27 => format!("declare -A M=([k]='{}'); ${{M[k]}} u", self.one(PROGRAMS)),
            28 => format!("A+=(q); {} \"${{A[2]}}\" \"${{A[@]:1}}\"", self.one(PROGRAMS)),
            29 => format!("read -r P Q <<< 'alpha b c'; $P \"$Q\"; {a}"),
            30 => format!("mapfile -t L < <(printf 'x\\ny z\\n'); {} \"${{L[@]}}\"", self.one(PROGRAMS)),
            31 => format!("until false; do {a}; break; done"),
            32 => format!("cat <({a}); wait $!"),
            // Within another, bash waits for a process that waits for bash.
            33 => format!("{} > >(cat); wait $!; {b}", self.simple()),
            34 => format!("printf -v P '%s' {}; $P \"${{P:0:2}}\"", self.one(PROGRAMS)),
            35 => format!("R=V; {} \"${{!R}}\" \"${{V:+w}}\" \"${{V/#o/}}\"", self.one(PROGRAMS)),
            36 => format!("case a in b) ;; a) {a} ;;& *) {b} ;; esac"),
            37 => format!("g() {{ local X=$1; shift; \"$X\" \"$@\" $#; }}; g {} 'p q'", self.one(PROGRAMS)),
            38 => format!("for ((i = 0; i < 1; i++)); do {a}; done"),
            39 => {
                self.partly = true;
                format!("! {a}; [ -d / ] && {b}")
            }
            40 => format!("exec 4<<< {}; bash <&4", quoted(&self.plain())),
            41 => format!("V=$(echo n) {}; {b}", self.simple()),
            42 => format!("{{ echo {}; cat /dev/null; }} | bash", quoted(&self.plain())),
            _ => format!("while :; do {a}; break; done"),
        }
    }

    /// A command whose words need nothing of the shell around it.
    fn plain(&mut self) -> String {
        format!("{} 'o n' e\\ d", self.one(PROGRAMS))
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The programs that bash starts, each with its words.
fn run(command: &str, folder: &Path) -> Vec<Vec<String>> {
    let notes = folder.join("notes");
    drop(fs::remove_dir_all(&notes));
    fs::create_dir(&notes).unwrap();
    let work = folder.join("work");
    let bin = folder.join("bin");
    // What bash and all that it starts hold open: it ends with the last of them.
    let (mut open, held) = std::io::pipe().unwrap();
    let mut bash = Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", command])
        .env_clear()
        .env("PATH", &bin)
        .env("NOTES", &notes)
        .env("FUNCNEST", "64")
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(held.try_clone().unwrap())
        .stderr(held)
        .spawn()
        .unwrap();
    std::io::copy(&mut open, &mut std::io::sink()).unwrap();
    bash.wait().unwrap();
    let mut all: Vec<Vec<String>> = fs::read_dir(&notes)
        .unwrap()
        .map(|note| {
            let text = fs::read_to_string(note.unwrap().path()).unwrap();
            text.split_terminator('\0').map(str::to_owned).collect()
        })
        .collect();
    all.sort();
    all
}

/// How many words one of unknown value is: it may be none or several where it stands unquoted.
#[derive(Clone, Copy, PartialEq)]
enum Unknowns {
    One,
    Any,
}
use Unknowns::{Any, One};

fn is_listed(words: &[String], program: &CommandProgram, unknown: Unknowns) -> bool {
    program.known_name() == Some(words[0].as_str()) && all_fit(&words[1..], &program.args, unknown)
}

fn all_fit(words: &[String], args: &[Argument], unknown: Unknowns) -> bool {
    let any = |rest: &[Argument]| (0..=words.len()).any(|skip| all_fit(&words[skip..], rest, unknown));
    match args.split_first() {
        None => words.is_empty(),
        Some((Argument::Many, rest)) => any(rest),
        Some((Argument::Any, rest)) if unknown == Any => any(rest),
        Some((arg, rest)) => !words.is_empty() && fits(&words[0], arg) && all_fit(&words[1..], rest, unknown),
    }
}

fn fits(word: &str, arg: &Argument) -> bool {
    match arg {
        Argument::Text(text) | Argument::Glob(text) => text == word,
        _ => true,
    }
}

/// A folder with the programs, and one to work in.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("work")).unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in PROGRAMS {
        fs::write(bin.join(name), NOTE).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    for name in REAL {
        let place =
            ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(name)).into_iter().find(|p| p.exists());
        symlink(place.unwrap(), bin.join(name)).unwrap();
    }
    folder
}

/// What differs for one command of the grammar.
fn difference(number: usize, seed: u64, folder: &Path) -> Option<String> {
    let mut grammar = Grammar { random: Rng::with_seed(seed + number as u64), partly: false };
    let depth = grammar.random.usize(..4);
    let inner = grammar.command(depth);
    let command = format!("V=opqo A=('g h' i)\n{inner}");
    let started = run(&command, folder);
    let state = Surroundings::new("/proj", "/home/dev");
    let analysis = analyse(&command, Shell::Bash, &state);
    let mut left: Vec<&CommandProgram> = analysis
        .programs
        .iter()
        .filter(|p| p.known_name().is_none_or(|name| !REAL.contains(&name)))
        .collect();
    let mut missing = Vec::new();
    // Those that are known to the last word first.
    for words in &started {
        match left.iter().position(|program| is_listed(words, program, One)) {
            Some(at) => drop(left.remove(at)),
            None => missing.push(words.clone()),
        }
    }
    missing.retain(|words| {
        let at = left.iter().position(|program| is_listed(words, program, Any));
        at.map(|at| left.remove(at)).is_none()
    });
    let is_listed = DIFFERENCES.iter().any(|(part, _)| command.contains(part));
    let is_missing = !missing.is_empty() && !analysis.is_unclear(Unknown::Program);
    let differs = is_missing && !IN_DOUBT.iter().any(|part| command.contains(part))
        || !left.is_empty() && !grammar.partly && !is_listed;
    let more: Vec<String> = left.iter().map(|p| format!("{} {:?}", p.name, p.args)).collect();
    differs.then(|| format!("{number}: {command}\n  not listed: {missing:?}\n  not started: {more:?}\n"))
}

/// Compares by several threads: most of the time is that in which the programs start and end.
fn compare(count: usize, seed: u64) {
    let next = AtomicUsize::new(0);
    let by_one = || {
        let folder = prepared();
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers
            .take_while(|number| *number < count)
            .filter_map(|number| difference(number, seed, folder.path()))
            .collect::<Vec<String>>()
    };
    let differences: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(by_one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        differences.is_empty(),
        "{} of {count} differ:\n{}",
        differences.len(),
        differences[..differences.len().min(25)].concat()
    );
}

#[test]
fn bash_starts_what_is_listed() {
    compare(COUNT.parse().unwrap(), 1);
}

/// The names of the programs that are listed.
fn listed(command: &str) -> Vec<String> {
    let analysis = analyse(command, Shell::Bash, &Surroundings::new("/proj", "/home/dev"));
    let words = |p: &CommandProgram| p.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    analysis.programs.iter().map(|p| format!("{} {}", p.name, words(p))).collect()
}

#[test]
fn a_function_that_puts_another_in_its_place_is_called_again() {
    assert_eq!(listed("f() { f() { rm -rf /; }; f; }; f"), ["rm -rf /"]);
    assert_eq!(listed("f() { ls; f; }; f"), ["ls "]);
}

#[test]
fn a_command_that_is_negated_twice_is_that_command() {
    assert_eq!(listed("! ! rm -rf /"), ["rm -rf /"]);
}

#[test]
fn two_subshells_within_a_substitution_are_no_arithmetic() {
    assert_eq!(listed("echo $(( rm -rf / ); ( ls ))"), ["rm -rf /", "ls "]);
    assert_eq!(listed("echo \"$(( rm -rf / ); ( ls ))\""), ["rm -rf /", "ls "]);
    assert_eq!(listed("echo $(( (1 + 2) * 3 ))"), [""; 0]);
    assert_eq!(listed("(( rm -rf / ); ( ls ))"), ["rm -rf /", "ls "]);
    assert_eq!(listed("(( rm -rf / ); ( ls )); date"), ["rm -rf /", "ls ", "date "]);
    assert_eq!(listed("(( rm -rf / ) || ( ls )) && date"), ["rm -rf /", "ls ", "date "]);
    assert_eq!(listed("(( (1 + 2) * x )); date"), ["date "]);
}

#[test]
fn what_is_set_anew_where_something_may_fail_is_either() {
    assert_eq!(listed("X=/; make && X=build; rm -rf $X"), ["make ", "rm -rf build", "rm -rf /"]);
    assert_eq!(listed("X=/; make && X=build && rm -rf $X"), ["make ", "rm -rf build"]);
    assert_eq!(listed("make && X=build; rm -rf $X"), ["make ", "rm -rf build"]);
    assert_eq!(listed("X=/; cd a && X=build; rm -rf $X"), ["rm -rf build"]);
}
