//! Texts that bash itself runs or expands where none is seen to be run, and what its builtins do with their words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus {
    #[allow(dead_code)]
    pub(crate) mod listed;
}

use corpus::listed::{analysed, check};

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
        ("f() { rm -rf /; }; export -f f; bash -c f", "rm -rf /"),
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

#[test]
fn what_a_brace_holds_behind_a_dollar_is_run_in_this_shell() {
    check(&[
        ("echo ${ rm -rf /; }", "rm -rf /"),
        ("echo ${| rm -rf /; }", "rm -rf /"),
        ("x=\"a${\n rm -rf /\n}b\"", "rm -rf /"),
        ("echo ${ { echo; rm -rf /; }; }x", "rm -rf /"),
        ("echo ${ echo ${ rm -rf /; }; }", "rm -rf /"),
        ("cat <<E\n${ rm -rf /; }\nE", "rm -rf /"),
        ("echo $(( ${ rm -rf /; } ))", "rm -rf /"),
        ("${ echo rm -rf /; }", "rm -rf /"),
        ("echo ${ x=/; }; rm -rf $x", "rm -rf /"),
        ("${| REPLY=rm; } -rf /", "rm -rf /"),
    ]);
    let listed = analysed("echo '${ rm x; }' \"\\${ rm x; }\" ${x:- rm x; } # ${ rm x; }");
    assert!(listed.programs.is_empty(), "{:?}", listed.programs);
}

#[test]
fn options_of_builtins_have_their_values_in_the_same_word_as_well() {
    check(&[
        ("mapfile -tC 'rm -rf / #' -c1 x < f", "rm -rf /"),
        ("mapfile -C'rm -rf / #' -c1 x < f", "rm -rf /"),
        ("compgen -C'rm -rf /'", "rm -rf /"),
        ("compgen -aC 'rm -rf /'", "rm -rf /"),
        ("compgen -W'$(rm -rf /)'", "rm -rf /"),
        ("printf -v'x[$(rm -rf /)]' a", "rm -rf /"),
        ("hash -p/bin/rm ls; ls -rf /", "rm -rf /"),
        ("hash -rp /bin/rm ls; ls -rf /", "rm -rf /"),
        ("printf -vx rm; $x -rf /", "rm -rf /"),
        ("read -ra x <<< 'rm -rf /'; \"${x[@]}\"", "rm -rf /"),
        ("read -ax <<< 'rm -rf /'; \"${x[@]}\"", "rm -rf /"),
        ("x='a /'; typeset d=$x; rm -rf \"$d\"", "rm -rf a /"),
        ("x='a /'; typeset d=$x; rm -rf $d", "rm -rf a /"),
    ]);
}

#[test]
fn a_name_is_an_expression_wherever_bash_counts() {
    let set = "a='x[$(rm -rf /)]'; ";
    for counted in [
        "echo ${@:a}",
        "echo ${y[@]:a}",
        "echo ${PATH:a}",
        "b=a; echo ${c:b}",
        "b=a; c=1; echo ${c:b}",
        "declare b[a]=1",
        "read b[a]",
        "unset b[a]",
        "printf -v b[a] x",
        "test -v b[a]",
        "wait -p b[a]",
        "declare -i c; : ${c:=a}",
        "declare -i c; mapfile c <<< a",
        "declare -i c; select c in a; do :; done",
        "declare -i c; read -a c <<< a",
        "declare -i c; declare -n r=c; r=a",
        "declare -i c; printf -vc a",
        "declare -ai c=(a)",
    ] {
        check(&[(&format!("{set}{counted}"), "rm -rf /")]);
    }
    check(&[
        ("env y='x[$(rm -rf /)]' bash -c 'echo $((y))'", "rm -rf /"),
        ("env d=/ sh -c 'rm -rf $d'", "rm -rf /"),
    ]);
    let harmless = "a='x[$(rm y)]'; echo \"$a\"; b[1]=$a; read c; declare d[1]=2; printf -v e %s \"$a\"";
    assert!(analysed(harmless).programs.is_empty());
}

#[test]
fn a_line_goes_on_behind_the_delimiter_of_a_here_document() {
    check(&[
        ("git push origin main <<E \\\n --force\nE", "git push origin main --force"),
        ("rm -rf <<-'E' \\\n /home/dev\n\tE", "rm -rf /home/dev"),
        ("cat <<'E' \\\n$(rm -rf /)\nE", "rm -rf /"),
        ("cat <<E \\\n | sh\nrm -rf /\nE", "rm -rf /"),
        ("cat <<A <<B \\\n -\na\nA\nrm -rf /\nB\ngit push", "git push"),
        ("cat <<E\\\nF\na\nEF\nrm -rf /", "?"),
        // What is in a document goes on in none, and what ends nowhere is none.
        ("cat > a.cc <<'E'\ncout << x \\\nE\nrm -rf /", "rm -rf /"),
        ("echo 'a << b \\\n'; rm -rf /", "rm -rf /"),
        ("echo $((1 << 2)) \\\n a; rm -rf /", "rm -rf /"),
        ("echo $((1<<2\\\n)); rm -rf /", "rm -rf /"),
        // A comment ends with its line.
        ("echo hi # <<E \\\nrm -rf /", "rm -rf /"),
        ("# see <<E \\\nrm -rf /", "rm -rf /"),
        ("sh -c '# <<b \\\nrm -rf /'", "rm -rf /"),
        ("sh <<\"E F\"\n# <<X \\\nrm -rf /\nE F", "rm -rf /"),
        ("cat a#b <<E \\\n c\nE", "cat a#b c"),
        ("git push <<E \\\n \\\n --force\nE", "git push --force"),
        ("git push <<\"A B\" \\\n --force\nA B", "git push --force"),
        (": <<E; echo '<<Q'\nE\ngit push <<F \\\n --force\nF\nQ", "git push --force"),
        ("echo ü \\ü <<ü \\\n --x\nü\nrm -rf /", "rm -rf /"),
    ]);
}

#[test]
fn a_list_that_no_shell_takes_hides_nothing_behind_it() {
    check(&[
        ("x=(<f\nrm -rf /\n)", "?"),
        ("x=(a;\nrm -rf /", "?"),
        ("x=(&\nrm -rf /\n)", "?"),
        ("echo ${x:-{} {a,b}; rm -rf /", "?"),
        ("x=(a\nb 'c;d' $(e; f) \"g|h\" <(i | j) [k]=l @(m|n))\nrm -rf /", "rm -rf /"),
        ("declare -A x=([a]=b [\"c d\"]='e;f')\nrm -rf /", "rm -rf /"),
    ]);
}
