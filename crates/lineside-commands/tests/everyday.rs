//! What is usual work is not taken for more than it is, and what a pattern finds is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::Access::{Read, Write};
use lineside_commands::filter::Paths;
use lineside_commands::{Access, Analysis, CommandFilter, Shell, Surroundings, analyse};

fn state() -> Surroundings<'static> {
    Surroundings::new("/proj", "/home/dev")
}

fn analysed(command: &str) -> Analysis {
    analyse(command, Shell::Bash, &state())
}

fn is_asked(access: Access, paths: Paths, command: &str) -> bool {
    CommandFilter::Touches(access, paths).matches(&analysed(command), &state()).is_some()
}

#[test]
fn what_is_left_out_is_no_mention_and_a_mention_is_that_path_alone() {
    let guarded = || Paths::matching(&["**/.git/HEAD", "**/.git/hooks/**", "**/.env"]);
    for (command, expected) in [
        ("cloc --exclude-dir=.git .", false),
        ("cloc --exclude-dir .env .", false),
        ("ctags -R --exclude=.git .", false),
        ("ctags -R --exclude=.env .", false),
        ("codespell --skip=.git", false),
        ("codespell --skip=.env", false),
        ("some --dir=.git", false),
        ("some --skip=x .env", true),
        ("some --file=.env", true),
        ("some --file=.git/hooks/pre-push", true),
        ("ctags -R --links=.env .", true),
    ] {
        assert_eq!(is_asked(Write, guarded(), command), expected, "{command}");
    }
}

#[test]
fn a_program_without_a_value_is_read() {
    for command in ["BASH_CMDS[x]=()", "BASH_ALIASES[x]=(); x", "cp -t", "cp", "rsync -a", "mv --"] {
        analysed(command);
    }
}

#[test]
fn a_pattern_for_every_name_finds_what_is_asked_for_by_an_ending() {
    for (command, expected) in [
        ("cat **/*", true),
        ("find . -name '*' -exec cat {} +", true),
        ("cat src/**/*.rs", false),
        ("find . -name '*.rs' -exec cat {} +", false),
    ] {
        assert_eq!(is_asked(Read, Paths::matching(&["**/*.pem"]), command), expected, "{command}");
    }
}
