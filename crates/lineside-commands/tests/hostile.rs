//! Bad input: nothing panics or overflows, and what is not read is unclear with its reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Analysis, Argument, Shell, Surroundings, Unknown, analyse, analyse_bytes, parses};

mod corpus {
    #[allow(dead_code)]
    pub(crate) mod case;
    pub(crate) mod mutants;
}

fn unclear(text: &str) -> Analysis {
    let state = Surroundings::new("/proj", "/home/dev");
    let analysis = analyse(text, Shell::Bash, &state);
    let beginning: String = text.chars().take(40).collect();
    assert!(analysis.is_unclear(Unknown::Program), "{beginning}… is not unclear");
    assert!(!analysis.unclear[0].reason.is_empty());
    analysis
}

#[test]
fn a_text_that_passes_a_bound_is_unclear() {
    for sign in [
        "$(", "(", "{", "${", "\"$(", "<(", "((", "if ", "[[ ", "$((", "a=(", "! ", "case x in (", "f() {",
        "'\"", "<<<", "eval \"", "time ", "time -p ", "coproc ", "exec ", "command ", "builtin ",
    ] {
        unclear(&sign.repeat(64 * 1024 / sign.len()));
    }
    // What comes behind the last program is not dropped in silence.
    unclear(&format!("rm -rf /home/dev/x{}", " $(ls)".repeat(256)));
    unclear("for f in {1..300}; do rm -rf a$f; done");
    // What no parser bounds by itself overflows the stack of a thread, or takes it for minutes.
    for front in [
        "time ", "coproc ", "! ", "command -p ", "noglob ", "- ", "\\exec ", "'command' ", "time \\\n",
        ">a time ",
    ] {
        unclear(&format!("{}ls", front.repeat(3_000)));
    }
    unclear(&format!("echo \"{}b{}\"", "${a:-\"\\}${b:-\\}".repeat(60), "}\"}".repeat(60)));
    unclear(&format!("echo \"{}b{}\"", "${a:-\"${b:-".repeat(60), "}\"}".repeat(60)));
    for (front, open, end) in [
        ("declare ", "a[", ""),
        ("case x in ", "[", " ) ;; esac"),
        ("echo ${a#", "[", "}"),
        ("", "a[1=2\n", ""),
    ] {
        let analysis = unclear(&format!("{front}{}{end}", open.repeat(10_000)));
        assert!(analysis.unclear[0].reason.contains("nested too deeply"), "{open}: {:?}", analysis.unclear);
    }
    let coloured = "printf '\\033[31mred\\033[0m'; [ -e a ] && echo a[1] b[2]x [abc\n".repeat(60);
    assert!(analyse(&coloured, Shell::Bash, &Surroundings::new("/proj", "/home/dev")).unclear.is_empty());
    unclear(&format!("echo {{x; {} (", "}".repeat(60_000)));
    // Each evaluation asks for two.
    for text in ["x='a[$((x))+$((x))]'; let x", "x='a[$((y))+$((y))]'; y='b[$((x))]+b[$((x))]'; echo $((x))"]
    {
        assert!(unclear(text).is_cut);
    }
    unclear(&"`".repeat(4097));
    unclear(&"a".repeat(64 * 1024 + 1));
    unclear(&format!("cat{}\n{}", " <<A".repeat(4096), "x\nA\n".repeat(4096)));
    unclear(&"ls;".repeat(300));
    assert!(unclear(&format!("echo {}", "{a,b}".repeat(12))).is_cut);
    let widest = format!("echo {{{}..{}}}$(rm -rf ~)", i64::MIN, i64::MAX);
    assert!(unclear(&widest).programs.iter().any(|program| program.known_name() == Some("rm")));
    let widest = format!("echo {{{}..{}..{}}}; rm x", i64::MIN, i64::MAX, i64::MIN + 1);
    assert_eq!(analyse(&widest, Shell::Bash, &Surroundings::new("/proj", "/home/dev")).programs.len(), 1);
    // A long range is its ends and a pattern.
    let range = unclear("rm -rf {/etc,x{1..100000}}");
    let words: Vec<_> = range.programs[0].args.iter().map(Argument::pattern).collect();
    assert!(!range.is_cut && words == ["-rf", "/etc", "x1", "x100000", "x*"], "{words:?}");
    unclear(&format!("echo {}", "x ".repeat(5000)));
    unclear("a=x; for i in {1..900}; do a=$a$a; done; $a");
    unclear("f() { g; }; g() { h; h; }; h() { f; f; }; eval 'eval \"$X\"'; f");
}

#[test]
fn patterns_that_take_too_many_steps_are_unclear() {
    let x = |count: usize| "x".repeat(count);
    let (four, thirty, by) = (x(4_000), x(30_000), "y".repeat(20_000));
    for text in [
        format!("a={four}; b=${{a//*{}y/}}; rm $b", x(2_000)),
        format!("a={four}; b=${{a//{}y/}}; rm $b", x(2_000)),
        format!("a={four}; b=${{a##*{}y}}; rm $b", x(2_000)),
        format!("a={four}; b=${{a%%{}*}}; rm $b", x(2_000)),
        format!("a={thirty}; b={by}; c=${{a//x/$b}}; rm $c"),
        format!("a={thirty}; {}", "b=${a//x/yy};".repeat(50)),
        format!("case {} in {}z) ls;; esac", x(10_000), format!("*{}y*) ls;; ", x(100)).repeat(400)),
    ] {
        let analysis = unclear(&text);
        assert!(analysis.is_cut, "{:?}", analysis.unclear);
    }
    let state = Surroundings::new("/proj", "/home/dev");
    let usual = "a=/usr/lib/x.tar.gz; b=${a##*/}; c=${b%%.*}; d=${a//\\//-}; rm $c $d ${b%.*} ${a/#*lib/y}";
    let analysis = analyse(usual, Shell::Bash, &state);
    let words: Vec<String> = analysis.programs[0].args.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["x", "-usr-lib-x.tar.gz", "x.tar", "y/x.tar.gz"]);
}

#[test]
fn the_shortest_text_that_passes_a_bound_is_known_by_it() {
    let error = |sign: &str, count: usize| parses(sign.repeat(count).trim_end(), Shell::Bash).err();
    for (sign, most) in [("${", 32), ("[", 64), ("a[ ", 256), ("(", 192), ("! ", 128), ("!;", 128)] {
        let known = Some("it is nested too deeply".to_owned());
        assert_eq!(error(sign, most + 1), known, "{sign}");
        assert_ne!(error(sign, most), known, "{sign}");
    }
}

#[test]
fn levels_of_text_have_a_bound() {
    let mut text = "rm -rf /".to_owned();
    for _ in 0..24 {
        text = format!("eval eval {}", text);
    }
    let state = Surroundings::new("/proj", "/home/dev");
    let analysis = analyse(&text, Shell::Bash, &state);
    assert!(!analysis.programs.is_empty() || analysis.is_unclear(Unknown::Program));
    let mut text = "x=1".to_owned();
    for _ in 0..40 {
        text = format!("sh -c \"$(cat <<'E'\n{text}\nE\n)\"");
    }
    unclear(&text);
}

#[test]
fn what_is_no_text_of_a_shell_is_unclear() {
    unclear("rm -rf /\0");
    unclear("rm \u{10FFF0}");
    unclear("r\u{200B}m -rf /");
    let state = Surroundings::new("/proj", "/home/dev");
    assert!(analyse_bytes(b"rm -rf \xff", Shell::Bash, &state).is_unclear(Unknown::Program));
    for shell in ["fish", "pwsh", "cmd", "nu"] {
        assert!(analyse("rm -rf /", Shell::named(shell), &state).is_unclear(Unknown::Program));
    }
}

#[test]
fn changed_commands_of_the_corpus_are_read_to_their_end() {
    let mut random = fastrand::Rng::with_seed(7);
    for case in corpus::case::corpora().into_iter().flat_map(|(_, cases)| cases) {
        for _ in 0..3 {
            let text = corpus::mutants::mutant(&case.command, &mut random);
            let state = Surroundings::new("/proj", "/home/dev");
            for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
                let analysis = analyse(&text, shell, &state);
                assert_eq!(
                    analysis,
                    analyse(&text, shell, &state),
                    "{text:?} is read differently a second time"
                );
            }
        }
    }
}

/// What bash reads and the parser does not is not read at all, so that it counts for every guard.
#[test]
fn a_text_that_does_not_parse_may_be_one_that_runs() {
    let nested = |open: &str, count: usize, close: &str| {
        format!("rm -rf /; {}:{}", open.repeat(count), close.repeat(count))
    };
    for text in [
        "rm -rf /; @() { :; }".to_owned(),
        "for i in 1; { rm -rf /; }".to_owned(),
        "function f for i in 1; do rm -rf /; done; f".to_owned(),
        "cat <<$x\n$x\nrm -rf /".to_owned(),
        "cat <<$(a)\n$(a)\nrm -rf /".to_owned(),
        "bash -c 'rm -rf /; @() { :; }'".to_owned(),
        nested("$(", 64, ")"),
        nested("( ", 101, ")"),
        nested("{ ", 120, "; }"),
        nested("$((", 120, "))"),
        nested("if :; then ", 64, "; fi"),
        nested("cat <(", 55, ")"),
    ] {
        let analysis = unclear(&text);
        assert!(analysis.is_cut, "{text}: {:?}", analysis.unclear);
    }
    for text in ["ls \"x", "ls 'x", "echo $(ls", "if true; then ls", "case x in", "while true; do ls"] {
        assert!(!unclear(text).is_cut, "{text}");
    }
}
