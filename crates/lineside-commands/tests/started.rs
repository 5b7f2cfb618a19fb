//! Commands that start something by another way than the first word of a command: what is started is listed, or is unclear.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus {
    pub(crate) mod listed;
}

use corpus::listed::{analysed, check, has};

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
fn scripts_that_the_command_writes_are_entered_or_unclear() {
    check(&[
        ("echo 'rm -rf /' | dd of=x; sh x", "rm -rf /"),
        ("echo 'rm -rf /' > y; dd if=y of=x; sh x", "rm -rf /"),
        ("echo 'rm -rf /' | sed 'w x'; sh x", "?"),
        ("echo 'rm -rf /' > x; ln -sf x y; sh y", "rm -rf /"),
        ("echo 'rm -rf /' > x; ln -sf x y; ln -s y z; ./z", "rm -rf /"),
        ("echo 'rm -rf /' > x; ln x y; ./y", "rm -rf /"),
        ("echo 'rm -rf /' > x; ln -s $PWD d; sh d/x", "rm -rf /"),
        ("echo ':!rm -rf /' > v; vim -S v x", "?"),
        ("echo 'spawn rm -rf /' > e; expect e", "?"),
        ("echo 'rm -rf /' > x; install -m 755 x y; ./y", "rm -rf /"),
        ("echo 'rm -rf /' > .x; BASH_ENV=.x bash -c true", "rm -rf /"),
        ("echo 'rm -rf /' > .x; env BASH_ENV=.x bash -c true", "rm -rf /"),
        ("echo 'rm -rf /' > .x; export ENV=$PWD/.x; sh -i", "rm -rf /"),
        ("echo 'rm -rf /' > .x; bash --rcfile .x -i", "rm -rf /"),
        ("echo 'rm -rf /' > .x; bash --init-file .x -i", "rm -rf /"),
        ("echo 'BEGIN { system(\"rm -rf /\") }' > p; awk -f p", "rm -rf /"),
        ("awk -f <(echo 'BEGIN { system(\"rm -rf /\") }')", "rm -rf /"),
        ("echo '1e rm -rf /' > p; sed -f p q", "rm -rf /"),
        ("python3 gen.py > p; sed -n -f p q", "?"),
        ("echo 'import os; os.system(\"rm -rf /\")' > m.py; python3 -m m", "rm -rf /"),
        ("mkdir m; echo 'import os; os.system(\"rm -rf /\")' > m/__main__.py; python3 -m m", "rm -rf /"),
        ("echo 'require(\"child_process\").execSync(\"rm -rf /\")' > r.js; node -r ./r.js x.js", "rm -rf /"),
        ("echo 'rm -rf /' > ls; chmod +x ls; PATH=.:$PATH ls", "rm -rf /"),
        ("echo 'rm -rf /' > b/ls; chmod +x b/ls; export PATH=$PWD/b:$PATH; ls", "rm -rf /"),
        ("echo 'rm -rf /' > ls; chmod +x ls; env PATH=.:/bin ls", "rm -rf /"),
        ("echo '{\"scripts\": {\"x\": \"rm -rf /\"}}' > package.json; npm run x", "?"),
        ("echo 'rm -rf /' > .git/hooks/pre-commit; git commit -m x", "rm -rf /"),
        ("echo 'xx -rf /' > x; sed -i s/xx/rm/ x; sh x", "?"),
        ("echo x > a; sort a -o b; sh b", "?"),
        ("sed -i 's/^/rm -rf ~;/' run.sh && sh run.sh", "rm -rf /home/dev"),
        ("sed -i -e 's|a|rm -rf /|g' run.sh; ./run.sh", "rm -rf /"),
        ("sed -i '1i\\rm -rf /' run.sh; bash ./run.sh", "rm -rf /"),
        ("sed -i.bak '/^x/{s/y/z/;a rm -rf /\n}' run.sh; cat run.sh | sh", "rm -rf /"),
        ("sed -i 's/a\\/b/c\\nrm -rf \\//' run.sh; sh run.sh", "rm -rf /"),
        ("python3 gen.py > x; sh x", "?"),
        ("awk 'BEGIN { print \"rm -rf /\" > \"x\" }'; sh x", "?"),
        ("python3 -c 'open(\"x\", \"w\").write(\"rm -rf /\")'; sh x", "?"),
        ("perl -e 'open(F, \">x\"); print F \"rm -rf /\"'; sh x", "?"),
    ]);
    for known in [
        "sh run.sh",
        "sed -i s/a/b/ run.sh && ./run.sh",
        "sed -i 's/echo a/echo b c/' run.sh && ./run.sh",
        "sed -i 's/1.0/1.1/' package.json && npm run x",
        "gcc -o out/a a.c && ./out/a",
        "cp a.sh b.sh && sh b.sh",
        "sed -f p q",
        "awk -f p q",
        "python3 -m m",
        "echo x > ls; ls",
        "npm run x",
    ] {
        let unclear = analysed(known).unclear;
        assert!(unclear.is_empty(), "{known}: {unclear:?}");
    }
}

#[test]
fn what_git_is_told_to_run_is_listed() {
    check(&[
        ("git push --receive-pack='rm -rf /' origin", "rm -rf /"),
        ("git push --exec='rm -rf /' origin", "rm -rf /"),
        ("git grep -O'rm -rf /' x", "rm -rf /"),
        ("git grep --open-files-in-pager='rm -rf /' x", "rm -rf /"),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!rm -rf /' git x", "rm -rf /"),
        ("env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=ALIAS.x GIT_CONFIG_VALUE_0='!rm -rf /' git x", "rm -rf /"),
        ("export GIT_CONFIG_PARAMETERS=\"'alias.x=!rm -rf /'\"; git x", "rm -rf /"),
        ("GIT_CONFIG_PARAMETERS=\"'a.b=c' 'alias.x'='!rm -rf /'\" git x", "rm -rf /"),
        ("X='!rm -rf /' git --config-env=alias.x=X x", "rm -rf /"),
        ("git --config-env=alias.x=X x", "?"),
        ("git -c Alias.X='!rm -rf /' x", "rm -rf /"),
        ("git -c \"$X\" x", "?"),
        ("git -c remote.origin.receivePack='rm -rf /' push", "rm -rf /"),
        ("git config Alias.X '!rm -rf /'; git x", "rm -rf /"),
        ("/usr/lib/git-core/git-push -f", "git push -f"),
    ]);
}

#[test]
fn calls_of_code_under_other_names_are_listed() {
    check(&[
        ("python3 -c '__import__(\"os\").system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'import importlib; importlib.import_module(\"os\").system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'import os; getattr(os, \"system\")(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'exec(\"import os; os.system(\\\"rm -rf /\\\")\")'", "rm -rf /"),
        ("node -e 'eval(\"require(\\\"child_process\\\").execSync(\\\"rm -rf /\\\")\")'", "rm -rf /"),
        ("python3 -c 'from os import system as x; x(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'from os import path, system; system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'from os import *; system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'eval(input())'", "?"),
        ("python3 -c 'import os as o; o.system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 -c 'import os; s = os.system; s(\"rm -rf /\")'", "rm -rf /"),
        ("node -e 'const {execSync: e} = require(\"child_process\"); e(\"rm -rf /\")'", "rm -rf /"),
        ("node -e 'const e = require(\"child_process\").execSync; e(\"rm -rf /\")'", "rm -rf /"),
        (
            "node --input-type=module -e 'import {execSync as e} from \"child_process\"; e(\"rm -rf /\")'",
            "rm -rf /",
        ),
        ("perl -e 'exec qw(rm -rf /)'", "rm -rf /"),
        ("perl -e 'system(qw {rm -rf /})'", "rm -rf /"),
        ("perl -e 'open(F, \"rm -rf / |\")'", "rm -rf /"),
        ("perl -e 'open(my $f, \"-|\", \"rm\", \"-rf\", \"/\")'", "rm -rf /"),
    ]);
}

#[test]
fn programs_behind_the_options_of_others_are_listed() {
    check(&[
        ("setarch -R rm -rf /", "rm -rf /"),
        ("setarch x86_64 -R rm -rf /", "rm -rf /"),
        ("bwrap --dev-bind / / rm -rf /", "rm -rf /"),
        ("bwrap --setenv A b --unshare-all --chdir /x -- rm -rf /", "rm -rf /"),
        ("chpst -u dev rm -rf /", "rm -rf /"),
        ("start-stop-daemon --start --exec /bin/rm -- -rf /", "rm -rf /"),
        ("start-stop-daemon -S -a /bin/rm -- -rf /", "rm -rf /"),
        ("yarn exec 'rm -rf /'", "rm -rf /"),
        ("parallel 'rm -rf {}' ::: /", "rm -rf /"),
        ("parallel 'rm -rf' ::: /", "rm -rf /"),
        ("echo / | parallel 'rm -rf {}'", "rm -rf /"),
        ("echo 'rm -rf /' | parallel", "rm -rf /"),
        ("cat x | parallel", "?"),
        ("cat x | parallel '{} a'", "?"),
        ("cat x | parallel 'a; {}'", "?"),
        ("parallel rm -rf ::: a b", "rm -rf b"),
    ]);
    let usual = analysed("ls *.txt | parallel 'convert {} {.}.png'");
    assert!(has(&usual, "convert <unknown> *.png") && !has(&usual, "?"), "{usual:?}");
}

#[test]
fn wrappers_are_entered_by_every_spelling_of_their_words() {
    check(&[
        ("env - rm -rf /", "rm -rf /"),
        ("env - PATH=/bin rm -rf /", "rm -rf /"),
        ("env -- - A=1 rm -rf /", "rm -rf /"),
        ("genv - rm -rf /", "rm -rf /"),
        ("echo 'rm -rf /' | env - sh", "rm -rf /"),
        ("env -S'sh -c' 'rm -rf /'", "rm -rf /"),
        ("env -S 'sh -c' -- 'rm -rf /'", "rm -rf /"),
        ("env --split-string='sh -c' 'rm -rf /'", "rm -rf /"),
        ("env --s 'sh -c' 'rm -rf /'", "rm -rf /"),
        ("env -iS 'A=1 sh -c' 'rm -rf /'", "rm -rf /"),
        ("env -S '-u X -S \"rm -rf\"' /", "rm -rf /"),
        ("env -u X -C /tmp -S 'rm -rf /'", "rm -rf /"),
        ("env -S 'rm\\_-rf\\_/'", "rm -rf /"),
        ("env -S 'rm -rf /\\c x'", "rm -rf /"),
        ("env -S 'rm -rf / # x'", "rm -rf /"),
        ("env -S '\"r\"m -rf '\\''/'\\'", "rm -rf /"),
        ("env -S '\"r\"m -rf \"/\\_a\"'", "rm -rf / a"),
        ("A=/x env -S 'rm -rf ${A}'", "rm -rf /x"),
        ("env -S \"$X\"", "?"),
        ("printf '#!/usr/bin/env -Srm -rf\\n' > x; ./x /", "rm -rf ./x /"),
        ("x86_64 rm -rf /", "rm -rf /"),
        ("i386 -R rm -rf /", "rm -rf /"),
        ("choom -n 100 -- rm -rf /", "rm -rf /"),
        ("uclampset -m 1 rm -rf /", "rm -rf /"),
        ("logsave x rm -rf /", "rm -rf /"),
        ("sg www 'rm -rf /'", "rm -rf /"),
        ("sg - www -c 'rm -rf /'", "rm -rf /"),
        ("newgrp www <<< 'rm -rf /'", "rm -rf /"),
        ("newgrp - www <<< 'rm -rf /'", "rm -rf /"),
        ("su - bob <<< 'rm -rf /'", "rm -rf /"),
        ("gpg-agent --daemon rm -rf /", "rm -rf /"),
        ("gpg-agent --homedir /x --daemon -q rm -rf /", "rm -rf /"),
        ("xterm -T x -e rm -rf /", "rm -rf /"),
        ("run-one rm -rf /", "rm -rf /"),
        ("frobnicate -n 100 -- rm -rf /", "rm -rf /"),
        ("timeout --k 5 5 rm -rf /", "rm -rf /"),
        ("make -E 'a:;rm -rf /' a", "rm -rf /"),
        ("gcc -wrapper rm,-rf,/ -c x.c", "rm -rf /"),
        ("sqlite3 :memory: '.sh rm -rf /'", "rm -rf /"),
        ("sqlite3 :memory: '.sy\trm -rf /'", "rm -rf /"),
        ("sqlite3 :memory: '.im \"|rm -rf /\" t'", "rm -rf /"),
        ("psql -c '\\!rm -rf /'", "rm -rf /"),
        ("ed <<< 'r !rm -rf /'", "rm -rf /"),
        ("ed <<< '0r!rm -rf /'", "rm -rf /"),
        ("ed <<< '1,$w !rm -rf /'", "rm -rf /"),
        ("ed '!rm -rf /'", "rm -rf /"),
    ]);
}

#[test]
fn code_in_words_of_interpreters_is_entered_by_every_spelling() {
    check(&[
        ("node -pe 'require(\"child_process\").execSync(\"rm -rf /\")'", "rm -rf /"),
        ("node -p 'require(\"child_process\").execSync(\"rm -rf /\")'", "rm -rf /"),
        ("node -p -e 'require(\"child_process\").execSync(\"rm -rf /\")'", "rm -rf /"),
        ("node --title x -e 'require(\"child_process\").execSync(\"rm -rf /\")'", "rm -rf /"),
        ("node --some-option x -e 'require(\"child_process\").execSync(\"rm -rf /\")'", "rm -rf /"),
        ("echo 'require(\"child_process\").execSync(\"rm -rf /\")' > q.js; node q", "rm -rf /"),
        (
            "echo 'require(\"child_process\").execSync(\"rm -rf /\")' > q.js; node -e 'require(\"./q\")'",
            "rm -rf /",
        ),
        ("python3 --check-hash-based-pycs never -c 'import os; os.system(\"rm -rf /\")'", "rm -rf /"),
        ("python3 --some-option x -c 'import os; os.system(\"rm -rf /\")'", "rm -rf /"),
        (
            "echo 'import os; os.system(\"rm -rf /\")' > x; python3 -c 'import runpy; runpy.run_path(\"x\")'",
            "rm -rf /",
        ),
        ("perl '-MPOSIX;system \"rm -rf /\"' -e1", "rm -rf /"),
        ("perl -lpe 'system \"rm -rf /\"'", "rm -rf /"),
        ("perl -0777ne 'system \"rm -rf /\"'", "rm -rf /"),
        ("perl -CSDlne 'system \"rm -rf /\"'", "rm -rf /"),
        ("ruby -0lne 'system \"rm -rf /\"'", "rm -rf /"),
        ("php -R 'system(\"rm -rf /\");'", "rm -rf /"),
        ("awk 'BEGIN{c=\"rm -rf \" \"/\"; system(c)}'", "rm -rf /"),
        ("awk '{system($0)}' <<< 'rm -rf /'", "?"),
        ("awk '{system($1 $2)}' x", "?"),
        ("python3 -c 'import ctypes; ctypes.CDLL(None).system(b\"rm -rf /\")'", "?"),
        ("python3 -c 'from ctypes import cdll; cdll.LoadLibrary(\"libc.so.6\").system(b\"rm -rf /\")'", "?"),
        ("tclsh <<< 'exec rm -rf /'", "?"),
        ("echo 'exec rm -rf /' > q.tcl; tclsh q.tcl", "?"),
        ("git -c diff.x.textconv='rm -rf /' -c core.attributesFile=a diff", "rm -rf /"),
        ("git -p -c core.pager='rm -rf /' diff --cached", "rm -rf /"),
        ("vim -c ':!rm -rf /' x", "rm -rf /"),
        ("echo 'BEGIN { system(\"rm -rf /\") }' > p; gawk -E p", "rm -rf /"),
        ("echo /x | xargs -iX rm -rf X", "rm -rf /x"),
        ("echo /x | xargs --replace rm -rf {}", "rm -rf /x"),
        ("shopt -s extglob\nrm -rf !(b).txt", "rm -rf *.txt"),
        ("shopt -s extglob\nrm -rf /@(a|b)", "rm -rf /*"),
        ("shopt -s extglob\nls ?($(rm -rf /))", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; b=([x]=1)", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; RANDOM=x", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; OPTIND=x", "rm -rf /"),
        ("HISTCMD='a[$(rm -rf /)]'", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -i z; z=$x", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -ix z; z+=x", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -i z; read z <<< \"$x\"", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -i z; printf -v z %s \"$x\"", "rm -rf /"),
        ("x='a[$(rm -rf /)]'; declare -i z; for z in x; do :; done", "rm -rf /"),
        ("echo 'rm -rf /' > .bashrc; HOME=$PWD bash -ic :", "rm -rf /"),
        ("echo 'rm -rf /' > ~/.bashrc; bash -ic :", "rm -rf /"),
        ("echo 'rm -rf /' > .profile; HOME=. sh -lc :", "rm -rf /"),
        ("echo 'rm -rf /' > .bash_logout; env HOME=$PWD bash --login -c :", "rm -rf /"),
        ("echo 'rm -rf /' > .zshenv; ZDOTDIR=. zsh -c :", "rm -rf /"),
    ]);
}

#[test]
fn what_wrappers_modules_and_rules_bring_along_is_listed() {
    check(&[
        ("setpriv --ruid 1000 -- rm -rf /", "rm -rf /"),
        ("setpriv --some-option 1000 -- rm -rf /", "rm -rf /"),
        ("fakeroot-sysv rm -rf /", "rm -rf /"),
        ("debconf -ox rm -rf /", "rm -rf /"),
        ("debconf sh -c 'rm -rf /'", "rm -rf /"),
        ("dpkg-architecture -c 'rm -rf /'", "rm -rf /"),
        ("scp -o ProxyCommand='rm -rf /' a b:c", "rm -rf /"),
        ("sftp -o ProxyCommand='rm -rf /' b", "rm -rf /"),
        ("ssh -o KnownHostsCommand='rm -rf /' b", "rm -rf /"),
        ("echo 'import os; os.system(\"rm -rf /\")' > q.py; python3 -m runpy q", "rm -rf /"),
        ("echo 'import os; os.system(\"rm -rf /\")' > q.py; python3 -m unittest q", "rm -rf /"),
        ("echo 'import os; os.system(\"rm -rf /\")' > q.py; python3 -m cProfile -m q", "rm -rf /"),
        ("echo 'import os; os.system(\"rm -rf /\")' > __main__.py; python3 .", "rm -rf /"),
        ("perl -e 'system{\"rm\"} \"x\",\"-rf\",\"/\"'", "rm -rf /"),
        ("perl -e 'exec {\"rm\"} \"rm\",\"-rf\",\"/\"'", "rm -rf /"),
        ("PERL5DB='system \"rm -rf /\"' perl -d x", "?"),
        ("make CC='rm -rf /;:' q.o", "rm -rf /"),
        ("CC='rm -rf /' make q.o", "rm -rf /"),
        ("make COMPILE.c='rm -rf /' q.o", "rm -rf /"),
        ("printf 'a:;rm -rf /\\n' > q; MAKEFILES=q make -f /dev/null a", "rm -rf /"),
    ]);
    for usual in ["make CC=gcc all", "CC=clang make -j4", "make SHELL=/bin/bash all", "CC='ccache gcc' make"]
    {
        assert!(analysed(usual).unclear.is_empty(), "{usual}");
    }
}

#[test]
fn what_tools_are_given_to_start_is_listed() {
    check(&[
        ("cmake -E rm -rf /", "rm -rf /"),
        ("cmake -E remove_directory /", "rm -r /"),
        ("cmake -E env A=1 rm -rf /", "rm -rf /"),
        ("cmake -E chdir / rm -rf etc", "rm -rf etc"),
        ("cargo watch -- rm -rf /", "rm -rf /"),
        ("cargo watch -w src -s 'rm -rf /'", "rm -rf /"),
        ("zellij run -f -- rm -rf /", "rm -rf /"),
        ("zellij action new-pane -- rm -rf /", "rm -rf /"),
        ("make -f <(printf 'x:\\n\\trm -rf /\\n')", "rm -rf /"),
        ("install -m755 <(echo rm -rf /) x; ./x", "rm -rf /"),
        ("cp <(echo rm -rf /) x; sh x", "rm -rf /"),
        ("psql -c \"COPY t TO PROGRAM 'rm -rf /'\"", "rm -rf /"),
        ("go test -exec 'rm -rf /' ./...", "rm -rf /"),
        ("go build -toolexec 'rm -rf /' .", "rm -rf /"),
        ("apt-get -o DPkg::Pre-Invoke::='rm -rf /' update", "rm -rf /"),
        ("apt -o APT::Update::Pre-Invoke::=\"rm -rf /\" update", "rm -rf /"),
        ("rpm --eval '%(rm -rf /)'", "rm -rf /"),
        ("rpm -E '%(rm -rf /)'", "rm -rf /"),
        ("python3 -m pdb -c 'import os; os.system(\"rm -rf /\")' x.py", "rm -rf /"),
    ]);
    let deletes = |text: &str| analysed(text).touches.iter().any(|touch| touch.path == "/home/dev/*");
    assert!(deletes("perl -e 'unlink glob \"~/*\"'") && deletes("perl -e 'unlink <~/*>'"));
    for harmless in [
        "cmake -E copy a b",
        "cmake -E echo 'rm -rf /'",
        "apt-get -o Dpkg::Options::='--force-confold' install x",
        "rpm --eval '%{_topdir}'",
        "psql -c \"select 'program', 'rm -rf /'\"",
        "zellij attach x",
    ] {
        let analysis = analysed(harmless);
        assert!(!analysis.programs.iter().any(|one| one.known_name() == Some("rm")), "{harmless}");
    }
}

#[test]
fn a_brace_that_a_word_does_not_close_takes_nothing_behind_it() {
    check(&[
        ("echo {x; rm -rf /", "rm -rf /"),
        ("echo a{b,c && rm -rf /", "rm -rf /"),
        ("echo {x\nrm -rf /", "rm -rf /"),
        ("echo {x | rm -rf /", "rm -rf /"),
        ("x={y; rm -rf /", "rm -rf /"),
        ("export x={y; rm -rf /", "rm -rf /"),
        ("echo \"a}\" {x\"}\"; echo {y {z; rm -rf /", "rm -rf /"),
        ("# it's\necho {x; rm -rf /", "rm -rf /"),
        ("if true; then echo {x; rm -rf /; fi", "rm -rf /"),
        ("echo $(echo {x; rm -rf /)", "rm -rf /"),
        ("echo > {x; rm -rf /", "rm -rf /"),
        ("{x || rm -rf /; echo }", "rm -rf /"),
        ("echo {a,b&&rm${IFS}-rf${IFS}/;echo }", "rm -rf /"),
        ("ls {a,b|sh}", "sh}"),
        ("echo {$(true); rm -rf /", "rm -rf /"),
        ("eval 'echo {x; rm -rf /'", "rm -rf /"),
        ("cat <<< {a; rm -rf /", "rm -rf /"),
        ("cat << {E\na\n{E\nrm -rf /", "rm -rf /"),
        ("echo {a,\"b c\"}{1..2} {$(echo a; echo b),c}; rm -rf /", "rm -rf /"),
        ("echo {a {b {c {d {e {f {g {h {i {j; rm -rf /", "rm -rf /"),
    ]);
}

#[test]
fn a_program_is_known_where_another_prints_its_path_or_is_given_it() {
    check(&[
        ("$(which rm) -rf /", "rm -rf /"),
        ("just --command rm -rf /", "rm -rf /"),
        ("ls | entr -r sh -c 'rm -rf /'", "rm -rf /"),
        ("ls | entr -s 'rm -rf /'", "rm -rf /"),
        ("wget --use-askpass='rm -rf /' x", "rm -rf /"),
        ("ssh localhost rm -rf /", "rm -rf /"),
    ]);
    let deletes = |text: &str, path: &str| {
        let analysis = analysed(text);
        let is = |touch: &lineside_commands::Touch| touch.path == path || touch.path == format!("{path}/");
        assert!(analysis.touches.iter().any(is), "{text}: {:?}", analysis.touches);
    };
    deletes("R -e 'unlink(\"~\", recursive=TRUE)'", "/home/dev");
    deletes("emacs --batch --eval '(delete-directory \"~\" t)'", "/home/dev");
    deletes("find ~ -type f -exec sh -c 'for f; do rm \"$f\"; done' _ {} +", "/home/dev");
    deletes("find ~ -type f -exec sh -c 'for f in \"$@\"; do rm \"$f\"; done' _ {} +", "/home/dev");
    deletes("ssh dev@localhost rm -rf x", "/home/dev/x");
}
