//! Runs filters over commands as they are written.

use super::*;
use crate::state::Shell;

fn analysed(command: &str) -> Analysis {
    crate::analyse(command, Shell::Bash, &state())
}

fn state() -> Surroundings<'static> {
    Surroundings::new("/proj", "/home/dev")
}

fn check(filter: &CommandFilter, command: &str, expected: bool) {
    let found = filter.matches(&analysed(command), &state());
    assert_eq!(found.is_some(), expected, "{command}: {found:?}");
}

fn one(filter: RunsFilter) -> CommandFilter {
    CommandFilter::Runs(vec![filter].into())
}

#[test]
fn only_what_is_asked_for_can_be_unclear() {
    let push = || runs(["git"]).subcommand("push").when_unclear(WhenUnclear::Match);
    let to_main = one(push().operand(&["main"]));
    check(&to_main, "git push origin main", true);
    check(&to_main, "git push origin \"$BRANCH\"", true);
    check(&one(push()), "git commit -m \"$(date)\"", false);
    check(&one(push().operand(&["main"])), "git push origin feature", false);
    check(&one(push()), "$CMD push", true);
    check(&one(push().when_unclear(WhenUnclear::Skip)), "$CMD push", false);
    check(&one(push().flags(&["-f"]).no_flag(&["-n"])), "git push $FLAGS", true);
    check(&one(push().flags(&["-f"]).no_flag(&["-n"])), "git push -n $FLAGS", false);
    let found = to_main.matches(&analysed("$CMD"), &state()).unwrap();
    let why = found.unclear.unwrap();
    assert!(why.starts_with("cannot tell which program runs: "), "{why}");
}

#[test]
fn letters_behind_one_sign_are_options_of_their_own() {
    let both = one(runs(["rm"]).flags(&["-rf"]));
    for (command, expected) in [
        ("rm -rf x", true),
        ("rm -f -R x", true),
        ("rm --recursive --force x", true),
        ("rm -r x", false),
        ("rm -f x", false),
    ] {
        check(&both, command, expected);
    }
    check(&one(runs(["find"]).flags(&["-delete"])), "find . -delete", true);
    check(&one(runs(["find"]).flags(&["-delete"])), "find . -depth", false);
    check(&one(runs(["git"]).any_flag(&["--rf"])), "git -r -f", false);
}

#[test]
fn settings_of_git_and_names_of_signals_are_what_they_mean() {
    let hooks = one(runs(["git"]).any_flag(&["-c=core.hookspath=*"]));
    for (command, expected) in [
        ("git -c core.hooksPath=/dev/null commit", true),
        ("git -c CORE.HOOKSPATH=/dev/null commit", true),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=Core.HooksPath GIT_CONFIG_VALUE_0=/x git commit", true),
        ("X=/x git --config-env=core.hooksPath=X commit", true),
        ("git -c core.pager=cat commit", false),
    ] {
        check(&hooks, command, expected);
    }
    check(
        &one(runs(["git"]).subcommand("config").operand(&["core.hookspath"])),
        "git config CORE.hooksPath x",
        true,
    );
    let pushes = one(runs(["git"]).subcommand("push").any_flag(&["-c=remote.*.push=+*"]));
    check(&pushes, "git -c remote.origin.push=+main push origin", true);
    check(&pushes, "git -c Remote.origin.Push=+refs/heads/a:refs/heads/b push origin", true);
    check(&pushes, "git -c remote.origin.push=main push origin", false);
    let refs = runs(["gh"]).subcommand("api").operand(&["*git/refs/*"]);
    let forced = one(refs.any_flag(&["-F=force=true", "-f=force=true", "-X=DELETE"]));
    check(&forced, "gh api -X PATCH repos/a/b/git/refs/heads/main -F force=true -f sha=x", true);
    check(&forced, "gh api --method DELETE repos/a/b/git/refs/heads/main", true);
    check(&forced, "gh api repos/a/b/git/refs/heads/main", false);
    let all = one(runs(["kill"]).no_flag(&["-l", "-L"]).operand(&["-1", "0"]));
    check(&all, "kill -KILL -- -1", true);
    check(&all, "kill -SIGTERM -- -1", true);
    check(&all, "kill -KILL 12", false);
    check(&one(runs(["kill"]).any_flag(&["-KILL", "-K", "-T"]).flags(&["-1"])), "kill -TERM -1", true);
}

#[test]
fn a_folder_that_goes_as_a_whole_takes_what_lies_in_it_along() {
    let deletes = |globs: &[&str]| CommandFilter::Touches(Access::Delete, Paths::matching(globs));
    check(&deletes(&["db/migrations/**"]), "rm -rf db", true);
    check(&deletes(&["db/migrations/**"]), "rm -rf db/migrations", true);
    check(&deletes(&["db/migrations/**"]), "rm -rf docs", false);
    check(&deletes(&["~/.ssh/**"]), "rm -r ~", true);
}

#[test]
fn a_path_of_which_parts_are_not_known_may_be_any_below_what_is() {
    let unclear = Paths::matching(&["migrations/**"]).when_unclear(WhenUnclear::Match);
    let deletes = CommandFilter::Touches(Access::Delete, unclear);
    check(&deletes, "rm \"$FILE\"", true);
    check(&deletes, "rm /proj/\"$FILE\"", true);
    check(&deletes, "rm /tmp/\"$FILE\"", false);
    check(&deletes, "cat \"$FILE\"", false);
}

#[test]
fn what_is_excepted_counts_for_nothing() {
    let filter = CommandFilter::Any(vec![
        CommandFilter::Touches(Access::Read, Paths::secret()),
        one(runs(["printenv"])),
    ]);
    let except = filter.except(&["config/.env.ci".to_owned()], &[runs(["printenv"]).operand(&["PATH"])]);
    check(&except, "cat config/.env.ci", false);
    check(&except, "cat .env config/.env.ci", true);
    check(&except, "printenv PATH", false);
    check(&except, "printenv TOKEN", true);
}

#[test]
fn what_find_does_it_does_to_what_the_tests_before_it_find() {
    let home = CommandFilter::Touches(Access::Delete, Paths::roots(&["~"]).whole(true));
    for (command, expected) in [
        ("find ~ -delete", true),
        ("find ~ -delete -name x", true),
        ("find ~ -name x -o -delete", true),
        ("find ~ -name x , -delete", true),
        ("find ~ \\( -name x -o -type f \\) -delete", true),
        ("find ~ ! \\( -name x \\) -delete", true),
        ("find ~ '(' -name x -o -delete ')'", true),
        ("find ~ -name x -delete", false),
        ("find ~ \\( -name '*.pyc' -o -name '*.pyo' \\) -delete", false),
        ("find ~ -name keep -prune -o -name '*.log' -delete", false),
        ("find ~ -type f \\( -name x -o -name y \\) -mtime +3 -delete", false),
    ] {
        check(&home, command, expected);
    }
    let removes = one(runs(["rm"]));
    for command in ["find . -ok rm {} \\;", "find . -okdir rm {} +", "find . -exec rm {} +"] {
        check(&removes, command, true);
    }
}

#[test]
fn names_that_a_search_prints_are_split_at_blanks_before_they_are_deleted() {
    let unclear = CommandFilter::Does(Trait::DeletesUnclear);
    check(&unclear, "find . -name '*.txt' | xargs rm -rf", true);
    check(&unclear, "rm -rf $(find . -name '*.txt')", true);
    check(&unclear, "find . -name '*.txt' -print0 | xargs -0 rm -rf", false);
    check(&unclear, "find . -name '*.txt' -exec rm -rf {} +", false);
}

#[test]
fn what_programs_do_to_files_that_they_do_not_name_one_by_one() {
    let secret = CommandFilter::Touches(Access::Read, Paths::secret());
    for (command, expected) in [
        ("git show HEAD:.env", true),
        ("git show main~2:config/.env | head", true),
        ("git cat-file -p HEAD:./.env", true),
        ("git diff HEAD~1 -- .env", true),
        ("git diff --stat -- .env", false),
        ("git log -- .env", false),
        ("git log -p -- .env", true),
        ("git show HEAD:src/env.ts", false),
        ("mv .env x", true),
        ("ln .env x", true),
        ("ln -s .env x", true),
        ("tar c .env | cat", true),
        // A search through a folder is not one of the files in it.
        ("grep -r TODO .", false),
        ("rg TODO", false),
        ("tar c .", false),
        ("grep -r key ~/.ssh", true),
        ("grep key .env", true),
        ("grep -r KEY --include=.env .", true),
        ("grep -r KEY --include='.env.*' .", true),
        ("grep -r KEY --include='*.json' .", false),
        ("grep -r KEY --exclude=.env .", false),
        ("rg KEY -g .env", true),
        ("rg KEY -g '!.env'", false),
        ("rg KEY -g '*.rs'", false),
        ("cat $(find . -name .env)", true),
        ("cat $(find . -name '*.rs')", false),
        ("cat $(find . -name a -o -name .env)", true),
        ("find . -name .env | xargs cat", true),
        ("f=$(find . -name .env); cat \"$f\"", true),
        ("cat $(find . -name '*.pem')", true),
        ("find . -name '*.json' | xargs cat", false),
        ("cat $(find . -name '*.yml')", false),
        ("grep -l x $(find . -type f)", false),
        ("for f in $(find . -name .env); do cat \"$f\"; done", true),
        ("curl file:///proj/.env", true),
        ("curl file://localhost/proj/.env", true),
        ("node --env-file=.env -p process.env.KEY", true),
        ("node --env-file .env -e 'console.log(process.env)'", true),
        ("node --env-file-if-exists=.env -p process.env.KEY", true),
        ("echo 'console.log(process.env)' | node --env-file=.env", true),
        ("node --env-file=.env - < x.js", true),
        // A file that is only used is not shown.
        ("node --env-file=.env x.js", false),
    ] {
        check(&secret, command, expected);
    }
    let touches = |access, glob: &str| {
        CommandFilter::Touches(access, Paths::matching(&[glob]).when_unclear(WhenUnclear::Match))
    };
    for (access, glob, command, expected) in [
        (Access::Read, "/proj", "rg TODO", true),
        (Access::Read, "/proj", "cat a | rg TODO", false),
        (Access::Read, "/proj", "grep -r TODO", true),
        (Access::Read, "src/**", "grep -r TODO src", true),
        (Access::Write, "out/**", "gcc -Wall -o out/a a.c", true),
        (Access::Write, "out/**", "gcc -fno-omit-frame-pointer a.c", false),
        (Access::Write, "out/**", "rustc --out-dir out a.rs", true),
        (Access::Write, "migrations/**", "patch -p1 < a.patch", true),
        (Access::Write, "migrations/**", "patch --dry-run < a.patch", false),
        (Access::Write, "migrations/**", "patch src/a.c a.patch", false),
        (Access::Write, "key", "xxd -r -p key.hex key", true),
        (Access::Write, "f", "awk '{ print $1 > \"f\" }' data", true),
        (Access::Write, "f", "awk '$1 > \"f\" { print }' data", false),
        (Access::Write, "f", "git config -f f a.b c", true),
        (Access::Write, "f", "git config -f f --unset a.b", true),
        (Access::Write, "f", "git config -f f a.b", false),
        (Access::Write, "f", "iconv -f latin1 -t utf8 -o f x", true),
        (Access::Write, "f", "uniq x f", true),
        (Access::Write, "f", "uniq f", false),
        (Access::Write, "f", "dos2unix f", true),
        (Access::Write, "f", "prettier --write f", true),
        (Access::Write, "f", "prettier --check f", false),
        (Access::Write, "f", "gofmt -w f", true),
        (Access::Write, "f", "black f", true),
        (Access::Write, "f", "vim -c 'w! f' x", true),
        (Access::Write, "f", "ex -sc 'saveas f' x", true),
        (Access::Write, "f/**", "mount --bind x f", true),
        (Access::Write, "f/**", "mount /dev/sda1 f", true),
        (Access::Write, "f/**", "find f -exec sed -i s/a/b/ {} +", true),
        (Access::Write, "f/**", "find f -name x -exec sed -i s/a/b/ {} \\;", true),
        (Access::Write, "f/**", "find g -exec sed -i s/a/b/ {} +", false),
        (Access::Delete, "f", "rename s/f/g/ f", true),
        (Access::Delete, "f", "rename -n s/f/g/ f", false),
        (Access::Delete, "migrations/**", "git clean -fdx", true),
        (Access::Delete, "migrations/**", "git clean -fdx build", false),
        (Access::Delete, "migrations/**", "git clean -ndx", false),
        (Access::Delete, "docs/**", "trash docs/a", true),
        (Access::Delete, "docs/**", "gio trash docs", true),
        (Access::Delete, "docs/**", "gio list docs", false),
        (Access::Delete, "**/*.snap", "fd -e snap -x unlink", true),
        (Access::Delete, "**/*.md", "fd -e snap -X rm", false),
        (Access::Delete, "**/.DS_Store", "fd -H '^\\.DS_Store$' -X rm", true),
        (Access::Delete, "**/*.pyc", "find . -name '*.pyc' -delete", true),
        (Access::Delete, "**/*.pyc", "find . -name '*.pyc' -exec rm {} +", true),
        (Access::Delete, "**/*.py", "find . -name '*.pyc' -exec rm {} \\;", false),
        (
            Access::Delete,
            "db/**",
            "patch -i - -d db <<< $'--- a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-v'",
            true,
        ),
        (Access::Delete, "db/**", "patch -p1 <<< $'--- a/db/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-v'", true),
        (
            Access::Delete,
            "db/**",
            "patch -p1 <<< $'--- a/db/a.txt\n+++ b/db/a.txt\n@@ -1 +1 @@\n-v\n+w'",
            false,
        ),
        (Access::Delete, "db/**", "find . -name '*.txt' -delete", true),
        (Access::Delete, "db/**", "find . -name a.txt -delete", true),
        (Access::Delete, "db/a/*.txt", "find . -name a.txt -delete", true),
        (Access::Delete, "/proj/db/**", "find -L . -name a.txt -delete", true),
        (Access::Delete, "db/**", "find -O3 . -name a.txt -delete", true),
        (Access::Delete, "db/**", "find -- . -name a.txt -delete", true),
        (Access::Delete, "db/**", "find . \\( -name a.txt \\) -delete -print", true),
        (Access::Delete, "db/**", "find . -name a.txt -exec rm {} +", true),
        (Access::Delete, "db/**", "find . -name 'a.tx?' -execdir sh -c 'rm ./a.txt' \\;", true),
        (Access::Delete, "db/**", "find . -name 'a.tx?' -execdir rm b.txt \\;", true),
        (Access::Delete, "db/**", "shopt -s globstar; rm **/*.txt", true),
        (Access::Delete, "db/**", "bash -O globstar -c 'rm ./**/a.txt'", true),
        (Access::Delete, "config/.env", "find . -name '*env' -delete", true),
        (Access::Delete, "~/notes/**", "find ~ -name '*.txt' -delete", true),
        (Access::Write, "db/**", "find . -name a.txt -exec sed -i s/a/b/ {} +", true),
        (Access::Delete, "db/*.sql", "find . -name '*.txt' -delete", false),
        (Access::Delete, "db/**", "find src -name '*.txt' -delete", false),
        (Access::Delete, "db/**", "find src -name x -execdir rm b.txt \\;", false),
        (Access::Delete, "db/**", "find . -name a.txt", false),
        (Access::Delete, "**/.claude/**", "find . -name '*.pyc' -delete", false),
        (Access::Write, "db/**", "find . -name '*.txt' -delete", false),
    ] {
        check(&touches(access, glob), command, expected);
    }
}
