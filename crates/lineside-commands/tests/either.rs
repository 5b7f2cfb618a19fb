//! Variables that branches set: a command that names one is read with each value that stands in the command.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Analysis, Argument, Shell, Surroundings, Unknown, analyse};

fn read(text: &str) -> Analysis {
    analyse(text, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

fn lines(analysis: &Analysis) -> Vec<String> {
    let line = |program: &lineside_commands::CommandProgram| {
        let words = program.args.iter().map(Argument::pattern);
        std::iter::once(program.name.pattern()).chain(words).collect::<Vec<_>>().join(" ")
    };
    analysis.programs.iter().map(line).collect()
}

#[test]
fn each_value_of_each_branch_is_listed() {
    for (text, expected) in [
        (
            "F=''; if [ -n \"$X\" ]; then F=--force; fi; git push $F a",
            &["git push --force a", "git push a"][..],
        ),
        (
            "if [ $1 = a ]; then M=--hard; else M=--soft; fi; git reset $M",
            &["git reset --hard", "git reset --soft"],
        ),
        ("E=.env; [ -f b ] && E=b; cat \"$E\"", &["cat .env", "cat b"]),
        ("a=(push); [ -n \"$F\" ] && a+=(--force); git \"${a[@]}\"", &["git push", "git push --force"]),
        (
            "case $1 in a) F=--force;; b) F=-f;; *) F=;; esac; git push $F",
            &["git push --force", "git push -f", "git push"],
        ),
        ("M=a; [ x ] && M=b; N=$M.txt; cat $N", &["cat a.txt", "cat b.txt"]),
        ("M=-a; [ x ] && M=-b; N=$(echo $M); git push $N", &["git push -a", "git push -b"]),
        ("M=; [ x ] && M=--force; f() { git push $M; }; f", &["git push", "git push --force"]),
        ("M=; [ x ] && M=--force; bash -c \"git push $M\"", &["git push", "git push --force"]),
        ("M=; [ x ] && M=--force; sh <<E\ngit push $M\nE", &["git push", "git push --force"]),
        ("P=npm; [ -f y ] && P=yarn; $P test", &["npm test", "yarn test"]),
        // What is set in one branch alone may be anything, and that.
        ("if a; then M=--force; fi; git push $M", &["git push --force", "git push *"]),
    ] {
        let listed = lines(&read(text));
        assert!(expected.iter().all(|line| listed.iter().any(|one| one == line)), "{text}: {listed:?}");
    }
    let paths = |text| read(text).touches.iter().map(|touch| touch.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths("R=a; [ x ] && R=b; echo x > $R"), ["/proj/b", "/proj/a"]);
    assert!(read("D=a; [ x ] && D=b; rm -r $D").unclear.is_empty());
}

#[test]
fn what_is_of_no_few_values_is_not_known() {
    for text in [
        "F=a; while read l; do F=\"$F b\"; done; git push $F",
        "case $1 in a) F=a;; b) F=b;; c) F=c;; d) F=d;; *) F=e;; esac; git push $F",
    ] {
        let listed = lines(&read(text));
        assert!(listed.iter().any(|line| line.starts_with("git push *")), "{text}: {listed:?}");
    }
    // A file that is another one by each way.
    let text = "M=--soft; [ x ] && M=--hard; echo \"git reset $M\" > x.sh; sh x.sh";
    assert!(read(text).is_unclear(Unknown::Program));
    assert_eq!(
        lines(&read("M=; [ x ] && M=--force; M=--tags; git push $M")).last().unwrap(),
        "git push --tags"
    );
    let doubled: String = (0..40).map(|n| format!("V{n}=a; [ x ] && V{n}=b; echo \"$V{n}\"; ")).collect();
    let all: String = (0..40).map(|n| format!("$V{n} ")).collect();
    assert!(read(&format!("{doubled} cat {all}")).programs.len() < 256, "the ways are bounded");
}
