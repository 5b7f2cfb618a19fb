//! Paths that a command names by what bash or another program makes of its words: each is touched.
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

#[track_caller]
fn check(table: &[(&str, Access, &str)]) {
    let lacks = |(command, access, path): &&(&str, Access, &str)| {
        !analysed(command).paths(*access).any(|touch| touch.path == *path)
    };
    let missed: Vec<String> = table
        .iter()
        .filter(lacks)
        .map(|(command, _, path)| format!("{command}\n    not {path}: {:?}", analysed(command).touches))
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_variable_that_is_not_set_is_its_default_as_well() {
    check(&[
        ("cat ${x:-.env}", Read, "/proj/.env"),
        ("cat \"${x-.env}\"", Read, "/proj/.env"),
        ("cat ${x:=.env}; cat $x.local", Read, "/proj/.env.local"),
        ("cat ${1-.env}", Read, "/proj/.env"),
        ("cat ${a[0]-.env}", Read, "/proj/.env"),
        ("cat ${PATH:+.env}", Read, "/proj/.env"),
        ("cat ${x:-.}/.env", Read, "/proj/.env"),
        ("y=${x:-.env}; cat $y", Read, "/proj/.env"),
        ("f() { cat \"${2:-$1}\"; }; f .env", Read, "/proj/.env"),
        ("cat ${x:-${y:-.env}}", Read, "/proj/.env"),
        ("cat < ${x:-.env}", Read, "/proj/.env"),
        ("echo x > ${CFG:-.claude}/settings.json", Write, "/proj/.claude/settings.json"),
        ("cat ${x}.env", Read, "/proj/.env"),
        ("cat \"$HERE.env\"", Read, "/proj/.env"),
    ]);
    let pushed = analysed("git push ${x:--f} origin");
    assert!(pushed.programs.iter().any(|push| push.args.iter().any(|word| word.text() == Some("-f"))));
    assert!(pushed.programs.iter().any(|push| push.args.iter().all(|word| word.text() != Some("-f"))));
    // Where none is set the shell ends.
    assert!(analysed("rm -rf \"${x:?}\"").programs.len() == 1);
}

#[test]
fn values_are_joined_by_the_first_sign_of_ifs() {
    check(&[
        ("a=(. env); IFS=; cat \"${a[*]}\"", Read, "/proj/.env"),
        ("IFS=/; a=(.claude settings.json); echo x > \"${a[*]}\"", Write, "/proj/.claude/settings.json"),
        ("set -- .config x y; IFS=/; cp n ~/\"$*\"", Write, "/home/dev/.config/x/y"),
        ("a=(x y); cat \"${a[*]}\"", Read, "/proj/x y"),
        ("IFS=:; set -- a b; x=\"$*\"; cat $x", Read, "/proj/a"),
    ]);
}

#[test]
fn folders_that_a_shell_remembers_are_known() {
    check(&[
        ("cd src && cat $OLDPWD/.env", Read, "/proj/.env"),
        ("pushd src >/dev/null; cat ~-/.env", Read, "/proj/.env"),
        ("pushd /a; pushd /b; cat ~1/x ~+2/y", Read, "/a/x"),
        ("pushd /a; pushd /b; cat ~1/x ~+2/y", Read, "/proj/y"),
        ("pushd /a; pushd /b; cat \"$(dirs -l +1)/x\"", Read, "/a/x"),
        ("pushd -n /a; popd; cat x", Read, "/a/x"),
        ("pushd /a; pushd; cat x", Read, "/proj/x"),
    ]);
}

#[test]
fn globs_find_more_where_the_shell_is_asked_to() {
    check(&[
        ("shopt -s dotglob; cat *", Read, "/proj/.*"),
        ("shopt -s dotglob; cat ?git", Read, "/proj/.git"),
        ("shopt -s dotglob; cat [!a]git/x", Read, "/proj/.git/x"),
        ("GLOBIGNORE=x; cat *", Read, "/proj/.*"),
        ("bash -O dotglob -c 'cat *'", Read, "/proj/.*"),
        ("shopt -s nocaseglob; cat .E?V", Read, "/proj/.e?v"),
        ("shopt -s nocaseglob dotglob; cat *NV", Read, "/proj/.*nv"),
    ]);
    for quiet in ["cat *", "shopt -u dotglob; cat *", "bash -O dotglob -c 'echo *'; cat *"] {
        assert!(!analysed(quiet).paths(Read).any(|touch| touch.path == "/proj/.*"), "{quiet}");
    }
}

#[test]
fn names_that_a_program_makes_of_others_are_known() {
    check(&[
        ("cat \"$(dirname a.txt)/.env\"", Read, "/proj/.env"),
        ("cat \"$(dirname src/a/b/)/x\"", Read, "/proj/src/a/x"),
        ("cat $(basename x/.env)", Read, "/proj/.env"),
        ("cat $(basename x/.env.bak .bak)", Read, "/proj/.env"),
        ("cat $(realpath .env)", Read, "/proj/.env"),
        ("cat $(readlink -f .)/.env", Read, "/proj/.env"),
        ("cat $(pwd)/.env", Read, "/proj/.env"),
        ("cat \"$(git rev-parse --show-toplevel)/.env\"", Read, "/proj/.env"),
        ("cd src/a; cat \"$(git rev-parse --show-cdup).env\"", Read, "/proj/.env"),
        ("cat \"$(git rev-parse --show-prefix).env\"", Read, "/proj/.env"),
        ("cat $(ls -d .env)", Read, "/proj/.env"),
        ("cp a \"$(ls -d .cl*)/settings.json\"", Write, "/proj/.cl*/settings.json"),
    ]);
}

#[test]
fn names_that_are_found_are_handed_on() {
    check(&[
        ("cat $(ls -A)", Read, "/proj/.*"),
        ("ls -a | xargs cat", Read, "/proj/.*"),
        ("ls -A | grep env | xargs cat", Read, "/proj/.*env*"),
        ("ls -A | sort | head -3 | grep -v x | xargs cat", Read, "/proj/.*"),
        ("compgen -f .e | xargs cat", Read, "/proj/.e*"),
        ("cat $(git ls-files -o)", Read, "/proj/**/.*"),
        ("git ls-files -o | xargs -n1 head", Read, "/proj/**/.*"),
        ("find . -type f -exec cat {} +", Read, "/proj/**/.*"),
        ("find . -newer x -exec sh -c 'cat \"$1\"' _ {} \\;", Read, "/proj/**/.*"),
        ("find src -type f | while read -r f; do cat \"$f\"; done", Read, "/proj/src/**/.*"),
        ("find . -type f -print0 | xargs -0 head", Read, "/proj/**/.*"),
        (
            "find . -name settings.json -exec sh -c 'echo x > \"$1\"' _ {} \\;",
            Write,
            "/proj/**/settings.json",
        ),
        ("ls -d .claude/x | xargs cp a", Write, "/proj/.claude/x"),
        ("for f in .claude/*; do echo x > $f; done", Write, "/proj/.claude/*"),
        ("grep -rl a .claude | xargs sed -i s/a/b/", Write, "/proj/.claude/**/*"),
        ("sed -i s/a/b/ $(grep -rl a .claude)", Write, "/proj/.claude/**/*"),
    ]);
    for quiet in [
        "find . -name '*.rs' -exec cat {} +",
        "find . -type f -exec wc -l {} +",
        "find . -type f -not -path '*/.*' -exec cat {} +",
        "find . -type f | grep '\\.py$' | xargs cat",
        "git ls-files | xargs cat",
        "git ls-files -o --exclude-standard | xargs cat",
        "ls | xargs cat",
        "ls -la | head",
    ] {
        let shown = Paths::secret();
        let shown = CommandFilter::Touches(Read, shown);
        assert_eq!(shown.matches(&analysed(quiet), &state()), None, "{quiet}");
    }
}

#[test]
fn a_pattern_within_a_guarded_folder_may_be_any_file_of_it() {
    let guarded = CommandFilter::Touches(
        Write,
        Paths::matching(&["**/.claude/settings*.json", "**/hooks.yaml", "**/bin/tool", "~/.bashrc"])
            .not(&["**/.claude"]),
    );
    for (command, expected) in [
        ("cd .claude; sed -i s/a/b/ *", true),
        ("chmod 600 .claude/*.json", true),
        ("find .claude -type f -exec truncate -s0 {} +", true),
        ("find ~/x .claude -name '*.json' -exec sed -i s/a/b/ {} +", true),
        ("find ~ -maxdepth 1 -type f -exec sh -c '> $0' {} \\;", true),
        ("ls .claude/* | xargs -n1 cp a.txt", true),
        ("chmod 600 ~/.b*", true),
        ("sed -i s/a/b/ *", false),
        ("chmod +x bin/*", false),
        ("sed -i s/a/b/ .claude/*.md", false),
        ("grep -rl a . | xargs sed -i s/a/b/", false),
        ("mkdir .claude", false),
        // Files in a folder, by their names and trees.
        ("cp d/settings.json .claude/", true),
        ("cp a.md d/settings.json .claude", true),
        ("cp d/* .claude", true),
        ("cp -t .claude d/settings.json", true),
        ("cp -r d/. .claude", true),
        ("cp -rT d .claude", true),
        ("cp -r d/.claude .", true),
        ("mv -f d/* .claude", true),
        ("mv d .claude", true),
        ("rsync -a d/ .claude", true),
        ("rsync -a d/.claude .", true),
        ("install -D n .claude/settings.json", true),
        ("cp --parents .claude/settings.json ../proj", true),
        ("cp -r d/. ~", true),
        ("ln -s ~ l; cp -r d/. l", true),
        ("mkdir -p d/.claude; echo x > d/.claude/settings.json; cp -r d/. .", true),
        ("unzip x.zip -d .claude", true),
        ("find d -type f -exec cp {} .claude \\;", true),
        ("find . -name settings.json -exec sed -i s/a/b/ {} +", true),
        ("python3 -c 'import shutil; shutil.copytree(\"d\", \".claude\", dirs_exist_ok=True)'", true),
        ("node -e 'fs.cpSync(\"d\", \".claude\", {recursive: true})'", true),
        ("cp -r dist/. build/", false),
        ("cp -r src/. .", false),
        ("cp -r d ~", false),
        ("cp a.md .claude/", false),
        ("cp -r skills .claude/", false),
        ("mv a.md .claude/", false),
        ("cp out/tool build/", false),
        ("rsync -a src/ backup", false),
        // Of what is not known what it does with its words.
        ("unknowntool .claude/settings.json", true),
        ("unknowntool --to=.claude/settings.json", true),
        ("unknowntool to=.claude/settings.json", true),
        ("node --redirect-warnings=.claude/settings.json x.js", true),
        ("node --cpu-prof --cpu-prof-dir=.claude x.js", true),
        ("ld -Map=.claude/settings.json x.o", true),
        ("python3 -m json.tool - .claude/settings.json", true),
        ("python3 -m unknown -o .claude/settings.json", true),
        ("git commit -m '.claude/settings.json'", false),
        ("grep -F .claude/settings.json README.md", false),
        ("ls -l .claude/settings.json", false),
        ("git log --format=.claude/settings.json", false),
        ("unknowntool .claude", false),
        ("unknowntool ~ . /", false),
    ] {
        let found = guarded.matches(&analysed(command), &state());
        assert_eq!(found.is_some(), expected, "{command}: {:?}", analysed(command).touches);
    }
}
