//! Commands that start something by another way than the first word of a command: what is started is listed, or is unclear.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Analysis, Shell, Surroundings, Unknown, analyse};

fn analysed(command: &str) -> Analysis {
    analyse(command, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

/// Whether a program is listed with these words; with `?` whether it is unclear what is run.
fn has(analysis: &Analysis, expected: &str) -> bool {
    if expected == "?" {
        return analysis.is_unclear(Unknown::Program);
    }
    analysis.programs.iter().any(|program| {
        let words = std::iter::once(&program.name).chain(&program.args).map(ToString::to_string);
        words.collect::<Vec<_>>().join(" ") == expected
    })
}

fn check(table: &[(&str, &str)]) {
    let lacks = |(command, expected): &&(&str, &str)| !has(&analysed(command), expected);
    let missed: Vec<String> = table
        .iter()
        .filter(lacks)
        .map(|(command, expected)| {
            let analysis = analysed(command);
            let names: Vec<_> = analysis.programs.iter().map(|p| (p.name.to_string(), &p.args)).collect();
            format!("{command}\n    has no `{expected}`: {names:?} {:?}", analysis.unclear)
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn values_of_arrays_and_of_printf_are_known() {
    check(&[
        ("x=([0]=rm [1]=-rf [2]=/); \"${x[@]}\"", "rm -rf /"),
        ("x=([2]=/ [0]=rm [1]=-rf); \"${x[@]}\"", "rm -rf /"),
        ("x=([1]=-rf /); rm \"${x[@]}\"", "rm -rf /"),
        ("declare -a x=([0]=rm [1]=-rf); \"${x[@]}\" /", "rm -rf /"),
        ("x[1]=rm; ${x[1]} -rf /", "rm -rf /"),
        ("x[0]=rm; x[1]=-rf; \"${x[@]}\" /", "rm -rf /"),
        ("x[0]=rm; x[7]=-rf; \"${x[@]}\" /", "?"),
        ("declare -A x; x[a]=rm; ${x[a]} -rf /", "rm -rf /"),
        ("printf '%b' 'rm\\x20-rf\\x20/' | sh", "rm -rf /"),
        ("printf '%b %s' 'r\\155' '-rf /' | sh", "rm -rf /"),
        ("x='rm\\x20-rf\\x20/'; ${x@E}", "rm -rf /"),
    ]);
}

#[test]
fn what_bash_runs_by_itself_is_listed() {
    check(&[
        ("x='$(rm -rf /)'; echo \"${x@P}\"", "rm -rf /"),
        ("echo \"${x@P}\"", "?"),
        ("x='a[$(rm -rf /)]'; echo $((x))", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; y=x; echo $((y + 1))", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; let x", "rm -rf /"),
        ("x='a[`rm -rf /`]'; (( x > 1 ))", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; [[ x -eq 1 ]]", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; for ((i = x; i < 1; i++)); do echo; done", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -i y=x", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; echo ${y[x]}", "rm -rf /"),
        ("let 'a[$(rm -rf /)]'", "rm -rf /"),
        ("test -v 'a[$(rm -rf /)]'", "rm -rf /"),
        ("read 'a[$(rm -rf /)]' <<< 1", "rm -rf /"),
        ("unset 'a[$(rm -rf /)]'", "rm -rf /"),
        ("printf -v 'a[$(rm -rf /)]' x", "rm -rf /"),
        ("PS4='$(rm -rf /)'; set -x; true", "rm -rf /"),
        ("env PS4='$(rm -rf /)' bash -xc true", "rm -rf /"),
        ("export PROMPT_COMMAND='rm -rf /'; bash -i", "rm -rf /"),
        ("command_not_found_handle() { rm -rf /; }; qwerty", "rm -rf /"),
        ("command_not_found_handle() { rm -rf \"$2\"; }; qwerty /", "rm -rf /"),
        // It calls itself without an end where it is run.
        ("command_not_found_handle() { \"$@\"; }; qwerty a", "qwerty a"),
        ("mapfile -C 'rm -rf /' -c 1 a < x", "rm -rf /"),
        ("compgen -C 'rm -rf /'", "rm -rf /"),
        ("compgen -W '$(rm -rf /)'", "rm -rf /"),
        ("f() { rm -rf /; }; compgen -F f", "rm -rf /"),
        ("hash -p /bin/rm foo; foo -rf /", "rm -rf /"),
        ("hash -p \"$X\" foo; foo -rf /", "?"),
        ("bash /proc/self/fd/0 <<< 'rm -rf /'", "rm -rf /"),
    ]);
    for quiet in
        ["x=5; echo $((x + 1)) ${a[x]}", "[ \"$a\" = '[x]' ]", "let x=1 y=2", "hash -r", "compgen -W 'a b' a"]
    {
        let analysis = analysed(quiet);
        assert!(analysis.programs.is_empty() && analysis.unclear.is_empty(), "{quiet}: {analysis:?}");
    }
}
