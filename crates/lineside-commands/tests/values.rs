//! Paths that a command names by what bash or another program makes of its words: each is touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::Access::{Delete, Read, Write};
use lineside_commands::filter::Paths;
use lineside_commands::{Access, Analysis, CommandFilter, Shell, Surroundings, Unknown, analyse};

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

/// Each starts a program with these words, or with `?` is unclear.
#[track_caller]
fn starts(table: &[(&str, &str)]) {
    let has = |analysis: &Analysis, expected: &str| {
        expected == "?" && analysis.is_unclear(Unknown::Program)
            || analysis.programs.iter().any(|program| {
                let words = std::iter::once(&program.name).chain(&program.args).map(ToString::to_string);
                words.collect::<Vec<_>>().join(" ") == expected
            })
    };
    let missed: Vec<_> =
        table.iter().filter(|(command, expected)| !has(&analysed(command), expected)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
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
        ("cat \"$(git -C . rev-parse --show-toplevel)/.env\"", Read, "/proj/.env"),
        ("cp a \"$(ls -d .cl*)/settings.json\"", Write, "/proj/.cl*/settings.json"),
    ]);
}

#[test]
fn names_that_are_found_are_handed_on() {
    check(&[
        ("cat $(ls -A)", Read, "/proj/.*"),
        ("ls -a | xargs cat", Read, "/proj/.*"),
        ("ls -A | grep env | xargs cat", Read, "/proj/.*env*"),
        ("ls -A | sort | head -3 | grep -v x | xargs cat", Read, "/proj/.*?*"),
        ("ls -A | sort | xargs cat", Read, "/proj/.*"),
        ("compgen -f .e | xargs cat", Read, "/proj/.e*"),
        ("mapfile -t a < <(ls -A); cat \"${a[@]}\"", Read, "/proj/.*"),
        ("find . -type f | xargs -I{} cat {}", Read, "/proj/**/.*"),
        ("ls -A > l; xargs cat < l", Read, "/proj/.*"),
        ("cat $(git ls-files -o)", Read, "/proj/**/.*"),
        ("git ls-files -o | xargs -n1 head", Read, "/proj/**/.*"),
        ("find . -type f -exec cat {} +", Read, "/proj/**/.*"),
        ("find . -newer x -exec sh -c 'cat \"$1\"' _ {} \\;", Read, "/proj/**/.*"),
        ("find ~ -type f | while read -r f; do cat \"$f\"; done", Read, "/home/dev/**/.*"),
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
        "find src -type f -exec cat {} +",
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
        Paths::matching(&[
            "**/.claude/settings*.json", "**/hooks.yaml", "**/bin/tool", "~/.bashrc", "**/.github/hooks/**",
            "~/.config/x/**",
        ])
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
        ("find ~ -name '*rc' -exec sed -i s/a/b/ {} +", true),
        ("find ~ -name '*.yaml' -exec sed -i s/a/b/ {} +", false),
        ("find .github -name '*.yml' -exec sed -i s/a/b/ {} +", false),
        ("cp -r d/. .github", false),
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
        ("node --cpu-prof --cpu-prof-dir=.claude x.js", false),
        ("ld -Map=.claude/settings.json x.o", true),
        ("python3 -m json.tool - .claude/settings.json", true),
        ("python3 -m unknown -o .claude/settings.json", true),
        ("git commit -m '.claude/settings.json'", false),
        ("grep -F .claude/settings.json README.md", false),
        ("ls -l .claude/settings.json", false),
        ("git log --format=.claude/settings.json", false),
        ("unknowntool .claude", false),
        ("unknowntool -o.claude/settings.json", true),
        ("unknowntool out:.claude/settings.json", true),
        ("unknowntool @.claude/settings.json", true),
        ("python3 x.py .claude/settings.json", true),
        ("python3 -c 'import sys; print(sys.argv)' .claude/settings.json", true),
        ("node x.js .claude/settings.json", true),
        ("python3 .claude/settings.json", false),
        ("ln -f d/settings.json .claude/", true),
        ("ln -s ../d/settings.json .claude", true),
        ("scp d/settings.json .claude/", true),
        ("git mv d/settings.json .claude/", true),
        ("python3 -c 'import shutil; shutil.copy(\"d/settings.json\", \".claude\")'", true),
        ("find d -name 'settings*' | xargs -I{} cp {} .claude/", true),
        ("unknowntool ~ . /", false),
    ] {
        let found = guarded.matches(&analysed(command), &state());
        assert_eq!(found.is_some(), expected, "{command}: {:?}", analysed(command).touches);
    }
}

#[test]
fn texts_that_tell_a_program_what_to_do_name_files() {
    check(&[
        ("vim -es -c 'w! ~/a' -c q x", Write, "/home/dev/a"),
        ("vim -es -c 's/a/b/|x' F", Write, "/proj/F"),
        ("vim -es -c 'mksession! F' -c q", Write, "/proj/F"),
        ("vim -es -c 'redir! > F' -c q", Write, "/proj/F"),
        ("vim -es -c 'saveas F' -c q x", Write, "/proj/F"),
        ("vim -es -c 'r .env' -c '%p' -c q!", Read, "/proj/.env"),
        ("vim -es -c 'call writefile([], expand(\"~/a\"))' -c q", Write, "/home/dev/a"),
        ("vim -W F -es -c q x", Write, "/proj/F"),
        ("ed -s x <<< 'w F'", Write, "/proj/F"),
        ("gdb -batch -ex 'set logging file F' -ex bt", Write, "/proj/F"),
        ("make --eval='$(file > F,x)'", Write, "/proj/F"),
        ("make -pf .env", Read, "/proj/.env"),
        ("sqlite3 :memory: '.read .env'", Read, "/proj/.env"),
        ("sqlite3 :memory: '.import .env t'", Read, "/proj/.env"),
        ("sqlite3 -init .env :memory: .quit", Read, "/proj/.env"),
        ("awk '{print > f}' f=F x", Write, "/proj/F"),
        ("awk '{print \"x\" > FILENAME}' F", Write, "/proj/F"),
        ("patch -p0 <<< $'--- F\\n+++ F\\n@@ -1 +1 @@\\n-a\\n+b'", Write, "/proj/F"),
        ("git apply <<< $'diff --git a/a b/F\\nrename from a\\nrename to F'", Write, "/proj/F"),
        ("git merge-file F a b", Write, "/proj/F"),
        ("git interpret-trailers --in-place --trailer 'x: y' F", Write, "/proj/F"),
        ("git fast-export --export-marks=F main", Write, "/proj/F"),
        ("git tag -F .env t", Read, "/proj/.env"),
        ("git archive --add-file=.env HEAD", Read, "/proj/.env"),
        ("git blame -S .env a", Read, "/proj/.env"),
        ("gcc -E -x c .env", Read, "/proj/.env"),
        ("tar -T .env -cf x", Read, "/proj/.env"),
        ("wc --files0-from=.env", Read, "/proj/.env"),
        ("jq -f .env", Read, "/proj/.env"),
        ("node -r ./.env", Read, "/proj/.env"),
        ("BASH_ENV=.env bash -c true", Read, "/proj/.env"),
        ("bash --rcfile .env -ic true", Read, "/proj/.env"),
        ("script -q -O F -c true", Write, "/proj/F"),
        ("ssh -E F -v host", Write, "/proj/F"),
        ("openssl rand -writerand F 5", Write, "/proj/F"),
        ("zip -q - a -lf F", Write, "/proj/F"),
        ("NODE_REDIRECT_WARNINGS=F node x.js", Write, "/proj/F"),
        ("GIT_INDEX_FILE=F git read-tree HEAD", Write, "/proj/F"),
        ("bunzip2 -f F", Write, "/proj/F"),
        ("gzip -df F.gz", Write, "/proj/F"),
    ]);
}

#[test]
fn folders_of_code_and_of_processes_are_known() {
    check(&[
        ("python3 -c 'import os; os.chdir(\".claude\"); open(\"F\", \"w\")'", Write, "/proj/.claude/F"),
        (
            "python3 -c 'import subprocess; subprocess.run([\"rm\", \"F\"], cwd=\".git\")'",
            Delete,
            "/proj/.git/F",
        ),
        (
            "python3 -c 'import subprocess as s; s.Popen(\"rm F\".split(), cwd=\".git\")'",
            Delete,
            "/proj/.git/F",
        ),
        ("node -e 'child_process.execSync(\"rm F\", {cwd: \".git\"})'", Delete, "/proj/.git/F"),
        ("node -e 'process.chdir(\".claude\"); fs.writeFileSync(\"F\", \"x\")'", Write, "/proj/.claude/F"),
        ("perl -e 'chdir \".git\"; unlink \"F\"'", Delete, "/proj/.git/F"),
        ("perl -e 'unlink \"$ENV{HOME}/a\"'", Delete, "/home/dev/a"),
        ("perl -e 'rename glob(\"~/a\"), \"z\"'", Delete, "/home/dev/a"),
        ("node -e 'fs.writeFileSync(`${os.homedir()}/a`, \"\")'", Write, "/home/dev/a"),
        ("tar -C .git --remove-files -cf /dev/null F", Delete, "/proj/.git/F"),
        ("cd() { builtin cd .git; }; cd x; rm F", Delete, "/proj/.git/F"),
        ("trap 'cd .git' DEBUG; rm F", Delete, "/proj/.git/F"),
        ("cat > /proj/x/../F; cd x; cat > /proc/self/cwd/G", Write, "/proj/x/G"),
        ("cat > /proc/$$/root/a/F", Write, "/a/F"),
        ("cd /proc/1/root/a; > F", Write, "/a/F"),
        ("exec 3< /a; cd /proc/self/fd/3; > F", Write, "/a/F"),
    ]);
    let analysis = analysed("python3 -c 'import os; os.chdir(\"x\")'; rm F");
    assert_eq!(analysis.paths(Delete).next().unwrap().path, "/proj/F");
}

#[test]
fn texts_of_editors_of_git_and_of_bash_start_what_they_say() {
    starts(&[
        ("BASH_CMDS[ls]=/bin/rm; ls -rf /", "rm -rf /"),
        ("BASH_ALIASES[x]='rm -rf'; eval x /", "rm -rf /"),
        ("x='a[$(rm -rf /)0]'; y=abc; echo ${y:x}", "rm -rf /"),
        ("x='a[$(rm -rf /)0]'; declare -n r=$x; echo $r", "rm -rf /"),
        ("x='a[$(rm -rf /)0]'; wait -np \"$x\"", "rm -rf /"),
        ("x='-rf /'; export y=$x; rm $y", "rm -rf /"),
        ("sed e <<< 'rm -rf /'", "?"),
        ("sed -s '1!d;s/a/b/;e' f", "?"),
        ("echo 'rm -rf /' | split - x; sh xaa", "?"),
        ("echo 'rm -rf /' | ex -sc '0r /dev/stdin|w x.sh|q'; sh x.sh", "?"),
        ("printf '%s\\n' a 'rm -rf /' . 'w x.sh' q | ed -s; sh x.sh", "?"),
        ("gzip -d x.gz; sh x", "?"),
        ("find . -maxdepth 0 -fprintf x.sh 'rm -rf /\\n'; sh x.sh", "?"),
        ("printf '!rm -rf /\\n' | ex -s", "rm -rf /"),
        ("vim -es --cmd 'set makeprg=rm\\ -rf\\ /' -c make -c q", "rm -rf /"),
        ("vim -es -S <(echo '!rm -rf /') -c q", "?"),
        ("vim -es -u /dev/stdin -c q <<< '!rm -rf /'", "?"),
        ("gdb -batch -ex 'pipe help | rm -rf /'", "rm -rf /"),
        ("gdb -batch -ex '| help | rm -rf /'", "rm -rf /"),
        ("tmux -f <(echo 'run \"rm -rf /\"') new -d", "?"),
        ("echo '.shell rm -rf /' > q.sql; sqlite3 -init q.sql :memory: .quit", "?"),
        ("echo '.shell rm -rf /' > q.sql; sqlite3 :memory: '.read q.sql'", "?"),
        ("sqlite3 :memory: '.read \"|echo .shell rm -rf /\"'", "?"),
        ("LESSOPEN='|rm -rf /;cat %s' less a", "?"),
        ("git -c tar.x.command='rm -rf /' archive --format=x HEAD", "rm -rf /"),
        ("git -c trailer.x.command='rm -rf /' interpret-trailers a", "rm -rf /"),
        ("git send-email --to-cmd='rm -rf /' HEAD^", "rm -rf /"),
        ("git config core.pager 'rm -rf /'; git log", "rm -rf /"),
        ("git config include.path ../g; printf '[core]\\npager = rm -rf /\\n' > g; git log", "rm -rf /"),
        (
            "printf '#!/bin/sh\\nrm -rf /\\n' > b/git-remote-zz; PATH=$PWD/b:$PATH git ls-remote zz::x",
            "rm -rf /",
        ),
        ("mkdir -p t/hooks; echo 'rm -rf /' > t/hooks/post-checkout; git clone --template=t . n", "rm -rf /"),
        ("python3 -i -c '' <<< 'import os;os.system(\"rm -rf /\")'", "rm -rf /"),
        ("node -i -e 0 <<< 'child_process.execSync(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'import os;os.system(\" \".join([\"rm\",\"-rf\",\"/\"]))'", "rm -rf /"),
        ("python3 -c 'import timeit;timeit.timeit(\"import os;os.system(\\\"rm -rf /\\\")\")'", "rm -rf /"),
        ("vim -es -c 'call job_start([\"rm\",\"-rf\",\"/\"])' -c q", "rm -rf /"),
        ("perl -e 'syscall(87, \"a\")'", "?"),
        ("shopt -s cdable_vars; g=/; cd g; rm x", "?"),
    ]);
    for quiet in [
        "git config core.autocrlf false; git log",
        "vim -es -c '%s/a/b/' -c 'set nu|w' -c q x",
        "export PATH=$PATH:/x; ls",
        "less a | cat",
        "sqlite3 x.db '.import a.csv t'",
        "tmux -f ~/.tmux.conf new -d",
        "sed 's/e/f/;p' a",
        "split -b 10 a part-",
        "timeit",
    ] {
        assert!(!analysed(quiet).is_unclear(Unknown::Program), "{quiet}");
    }
}
