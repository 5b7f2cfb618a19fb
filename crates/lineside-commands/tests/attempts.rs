//! Ways in which a command may delete or write a file without naming it to a program that does.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Access, Analysis, FileLinks, Shell, Surroundings, Unknown, analyse};

/// Each deletes `victim.txt`, or writes `prod.conf` or into `locked`.
const TRIED: &[&str] = &[
    r#"make SHELL=/bin/sh --eval '$(shell rm victim.txt)'"#,
    r#"make -f /dev/null --eval='$(shell unlink victim.txt)'"#,
    r#"printf '$(shell rm victim.txt)' > GNUmakefile; make"#,
    "printf 'X != rm victim.txt\\n' > Makefile; make",
    r#"MAKEFLAGS='--eval=$(shell rm victim.txt)' make -f /dev/null"#,
    r#"python3 -c 'import os;getattr(os,"rem"+"ove")("victim.txt")'"#,
    r#"python3 -c 'import io; io.FileIO("prod.conf","w").write(b"z")'"#,
    r#"python3 -c 'import os; os.truncate("prod.conf",0)'"#,
    r#"python3 -c 'import os; os.close(os.open("prod.conf",os.O_WRONLY|os.O_TRUNC))'"#,
    r#"python3 -c 'import pty; pty.spawn(["rm","victim.txt"])'"#,
    r#"python3 -c 'import sys,os; os.execvp(sys.argv[1],sys.argv[1:])' rm victim.txt"#,
    r#"python3 -c 'import os; os.execlp("rm","rm","victim.txt")'"#,
    r#"python3 -c 'import os; os.posix_spawn("/bin/rm",["rm","victim.txt"],{}); os.wait()'"#,
    r#"python3 -c 'import os; os.spawnlp(os.P_WAIT,"rm","rm","victim.txt")'"#,
    r#"python3 -c 'import os; os.spawnvp(os.P_WAIT,"rm",["rm","victim.txt"])'"#,
    r#"python3 -c 'import asyncio as a; a.run(a.create_subprocess_shell("rm victim.txt"))'"#,
    r#"python3 -c 'import asyncio as a; a.run(a.create_subprocess_exec("rm", "victim.txt"))'"#,
    r#"python3 -m timeit -n1 -r1 -s 'import os' 'os.remove("victim.txt")'"#,
    r#"python3 -m trace --trace /dev/stdin <<< 'import os; os.remove("victim.txt")'"#,
    r#"python3 -m code <<< "import os; os.unlink('victim.txt')""#,
    r#"python3 -m cProfile /dev/stdin <<< "import os; os.unlink('victim.txt')""#,
    r#"python3 -m doctest /dev/stdin <<< $'"""\n>>> import os; os.unlink("victim.txt")\n"""'"#,
    r#"PYTHONWARNINGS=error PYTHONBREAKPOINT=os.remove python3 -c 'breakpoint("victim.txt")'"#,
    r#"python3 -c 'import pathlib as p; (p.Path.cwd()/"prod.conf").open("w")'"#,
    r#"python3 -c 'import shutil; shutil.copyfile("/etc/hostname","prod.conf")'"#,
    r#"python3 -c 'import os; os.renames("victim.txt","zz/q")'"#,
    r#"python3 -c 'import os; os.link("prod.conf","hl2")'"#,
    "python3 -c 'import fileinput\nfor l in fileinput.input(\"prod.conf\",inplace=True): print(\"x\")'",
    r#"python3 -c 'import json; json.dump(1,open(file="prod.conf",mode="w"))'"#,
    r#"python3 -c 'import logging; logging.basicConfig(filename="prod.conf",filemode="w")'"#,
    r#"python3 -c 'import os; list(map(os.remove,["victim.txt"]))'"#,
    r#"python3 -c 'import os; [os.remove(x) for x in os.listdir() if x[:3]=="vic"]'"#,
    r#"perl -e '@ARGV=("rm","victim.txt");exec @ARGV'"#,
    r#"perl -MFile::Copy -e 'move("victim.txt","vv")'"#,
    r#"perl -e 'require "/dev/stdin"' <<< 'unlink "victim.txt"; 1'"#,
    r#"node -e 'const f=require("f"+"s");f["unlink"+"Sync"]("victim.txt")'"#,
    r#"node --eval='process.binding("fs")'"#,
    r#"node --import 'data:text/javascript,import fs from "fs";fs.unlinkSync("victim.txt")' -e 0"#,
    r#"node -e 'require("fs").openSync("prod.conf","w")'"#,
    r#"node -e 'require("fs").copyFileSync("/etc/hostname","prod.conf")'"#,
    r#"node -e 'require("fs").cpSync("/etc/hostname","prod.conf")'"#,
    r#"awk -v f=prod.conf 'BEGIN{printf "" > f}'"#,
    r#"sed -n '1s/^/x/w locked/g' /etc/hostname"#,
    "csplit -f locked/h /etc/passwd 1",
    "curl -s --output-dir locked -O file:///etc/hostname",
    "curl -s --output-dir locked -o h file:///etc/hostname",
    r#"curl -K - <<< $'url=file:///etc/hostname\noutput=prod.conf'"#,
    "ln -s /bin/rm ./zap; ./zap victim.txt",
    "cp /bin/rm ./zap2; ./zap2 victim.txt",
    "./linked-rm victim.txt",
    "exec 5<prod.conf; echo x > /dev/fd/5",
    "exec 5<prod.conf 6<&5; tee /proc/self/fd/6 <<< x",
    "bash -c 'echo x > /dev/fd/3' 3<prod.conf",
    "git apply <<'X'\n--- a/prod.conf\n+++ b/prod.conf\n@@ -1 +1 @@\n-prod\n+evil\nX",
    "git apply <<'X'\n--- a/victim.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\nX",
    "git -c protocol.ext.allow=always ls-remote 'ext::sh -c rm% victim.txt'",
    r#"printf '[alias]\n y = !rm victim.txt\n' > gc; git -c include.path=$PWD/gc y"#,
    r#"printf '[alias]\n y = !rm victim.txt\n' > /tmp/gc2; GIT_CONFIG_SYSTEM=/tmp/gc2 git y"#,
    r#"printf '#!/bin/sh\nrm victim.txt\n' > git-zz; chmod +x git-zz; PATH=.:$PATH git zz"#,
    r#"printf '#!/bin/rm\n' > ./selfdel; chmod +x ./selfdel; ./selfdel victim.txt"#,
    r#"printf '#!/usr/bin/env -S rm\n' > ./sd2; chmod +x ./sd2; ./sd2 victim.txt"#,
    "install -m755 /dev/stdin x2 <<< 'rm victim.txt'; ./x2",
    "sqlite3 x.db '.output prod.conf' '.print hi'",
    r#"gdb -batch -ex 'python import os; os.remove("victim.txt")'"#,
    "bash +x -c 'rm victim.txt'",
    "bash +o history -c 'rm victim.txt'",
    "bash -x +x -c 'rm victim.txt'",
    "bash -oc pipefail 'rm victim.txt'",
    "bash -co pipefail 'rm victim.txt'",
    "bash -cO extglob 'rm victim.txt'",
    "bash +O extglob <<< 'rm victim.txt'",
    "bash +c 'rm victim.txt'",
    "bash -c - 'rm victim.txt'",
    "bash -norc -c 'rm victim.txt'",
    "bash -n +n -c 'rm victim.txt'",
    "bash -in -c 'rm victim.txt'",
    "dash +e -c 'rm victim.txt'",
    "sh -c +x 'rm victim.txt'",
    "sh +m -c 'rm victim.txt'",
    "zsh +o nomatch -c 'rm victim.txt'",
    "zsh -onomatch -c 'rm victim.txt'",
    "sudo -nE bash +e -c 'rm victim.txt'",
    "time -p -- rm victim.txt",
    "time -- rm victim.txt",
    "builtin -- command -- rm victim.txt",
    "exec -la foo rm victim.txt",
    "exec -cla foo rm victim.txt",
    "exec -afoo rm victim.txt",
    "f() { :; } > prod.conf; f",
    "f() { :; } 2>> locked/q; f",
    "f() ( : ) > prod.conf; f",
    "f() while false; do :; done > prod.conf; f",
    "function f { echo x; } >prod.conf; f",
    "f() { sh; } <<< 'rm victim.txt'; f",
    "f() { sh; } <<X\nrm victim.txt\nX\nf",
    "history -s x; history -w prod.conf",
    "history -a locked/h",
    "HISTFILE=prod.conf bash -ic 'set -o history; history -s x; history -w'",
    "export HISTFILE=prod.conf; history -w",
    "declare -l r=VICTIM.TXT; rm $r",
    "declare -l z=RM; $z victim.txt",
    "declare -u z; typeset -l q; q=RM; $q victim.txt",
    "f() { local -l q=RM; $q victim.txt; }; f",
    "declare -u q; f() { local q=rm; $q victim.txt; }; f",
    "declare -u q; bash -c 'q=rm; $q victim.txt'",
    "f() { local -u q; }; f; q=rm; $q victim.txt",
    "read -d: c <<< 'rm:'; $c victim.txt",
    "read -n2 c <<< rmx; $c victim.txt",
    "read -rp 'which? ' c <<< rm; $c victim.txt",
    "CDPATH=victim.txt; cd sub && rm b",
    "CDPATH=/elsewhere cd sub && rm b",
    r#"`type -p rm` victim.txt"#,
    r#""$(type -P rm)" victim.txt"#,
    r#"$(hash -t rm) victim.txt"#,
    "echo x > ${PWD%/*}/${PWD##*/}/prod.conf",
    "echo x > ${PWD%/${PWD##*/}}/${PWD##*/}/prod.conf",
    r#"x='a[$(rm victim.txt)0]'; b[x]=1"#,
    r#"x='a[$(rm victim.txt)0]'; declare -n r=x; echo $((r))"#,
    r#"x='a[$(rm victim.txt)0]'; declare -n r="$x"; echo $r"#,
    "t=other; declare -n r=t; r=victim.txt; rm $t",
    r#"x='a[$(rm victim.txt)0]'; echo ${!x}"#,
    r#"x='a[$(rm victim.txt)0]'; declare "$x=1""#,
    r#"x='a[$(rm victim.txt)0]'; export "$x""#,
    r#"PS1='$(rm victim.txt)' bash --norc -i <<< ''"#,
    "curl -s file:///etc/hostname --trace prod.conf",
    "curl -s file:///etc/hostname --trace-ascii=prod.conf",
    "curl -s file:///etc/hostname --stderr prod.conf -v",
    "curl -s file:///etc/hostname --etag-save locked/q",
    "curl -s file:///etc/hostname --hsts locked/q",
    "curl -s file:///etc/hostname --alt-svc locked/q",
    "curl -s file:///etc/hostname --libcurl locked/q",
    "wget -a prod.conf http://127.0.0.1:1/ -O x",
    "wget -o prod.conf http://127.0.0.1:1/ -O x",
    "wget -O x --save-cookies prod.conf http://127.0.0.1:1/",
    "wget -O x --hsts-file=locked/q http://127.0.0.1:1/",
    "tar cf src.tar src --index-file=prod.conf -v",
    "tar cf src.tar src -g prod.conf",
    "TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=rm\\ victim.txt' tar cf /dev/null src",
    "objcopy -I binary -O binary src/m.py prod.conf",
    "strip -o prod.conf a.out",
    r#"sqlite3 :memory: "select writefile('prod.conf','x')""#,
    r#"sqlite3 :memory: "ATTACH DATABASE 'locked/n.db' AS q; create table q.t(x)""#,
    r#"sqlite3 x.db "vacuum into 'prod.conf'""#,
    "sqlite3 locked/n.db 'create table t(x)'",
    "sqlite3 locked/n.db <<< 'insert into t values (1)'",
    "sqlite3 x.db '.open locked/n.db' 'create table t(x)'",
    r#"perl -e 'open F,">prod.conf"; print F 1'"#,
    r#"perl -e 'open(F,">>locked/x")'"#,
    r#"perl -e 'unlink <victim.txt>'"#,
    r#"perl -e 'unlink glob "victim.txt"'"#,
    r#"perl -E 'say for map {unlink} glob "victim.txt"'"#,
    r#"python3 -c 'from pathlib import Path; (Path(".")/"victim.txt").unlink()'"#,
    r#"python3 -c 'from pathlib import Path; (Path("victim.txt")/"a").unlink()'"#,
    r#"python3 -c 'from pathlib import Path; p=Path(input()); (p/"a").unlink()'"#,
    r#"python3 -c 'import subprocess as s; s.run("rm victim.txt".split())'"#,
    r#"python3 -c 'import subprocess as s; s.Popen(args="rm victim.txt",shell=True).wait()'"#,
    "find . -iname VICTIM.TXT -delete",
    "unshare -Ur --wd=victim.txt rm a.txt",
    "script -q /dev/null <<< 'rm victim.txt'",
    r#"vim -es -u NONE -c 'call delete("victim.txt")' -c q"#,
];

/// What looks like it, and does none of that.
const HARMLESS: &[&str] = &[
    "make --eval 'X := 1' all",
    "printf 'all:\\n\\techo x\\n' > Makefile; make",
    r#"python3 -c 'import os; print(os.open("prod.conf", os.O_RDONLY))'"#,
    r#"python3 -c 'print(open("prod.conf").read())'"#,
    r#"python3 -c 'import json,sys; print(json.load(sys.stdin)["a"])'"#,
    r#"python3 -c 'print("a".replace("a", "b")); print("victim.txt")'"#,
    "python3 -m timeit -s 'x=1' 'x+1'",
    r#"node -e 'console.log(require("fs").readFileSync("prod.conf","utf8"))'"#,
    r#"node -e 'require("fs").openSync("prod.conf","r")'"#,
    r#"awk -v f=prod.conf '{print f}' other"#,
    "sed -n '1s/^/x/p' prod.conf",
    "cp /bin/ls ./zap; ./zap victim.txt",
    "exec 5<prod.conf; cat <&5",
    "git apply --check <<'X'\n--- a/prod.conf\n+++ b/prod.conf\nX",
    "git -c include.path=/tmp/there status",
    r#"printf '#!/usr/bin/env python3\nprint(1)\n' > x.py; chmod +x x.py; ./x.py victim.txt"#,
    "sqlite3 x.db 'select 1' '.tables'",
    "gdb -batch -ex 'bt' prog",
    "ln -s victim.txt other",
    "ls | tee out.txt > /dev/stdout",
    "bash -n -c 'rm victim.txt'",
    "bash -x -c 'cat prod.conf' rm",
    "bash +x prod.conf",
    "time -p ls",
    "f() { :; } > /dev/null; f",
    "history | tail -3",
    "unset HISTFILE; HISTFILE=/dev/null ls",
    "declare -l r=OTHER; rm $r",
    "while IFS= read -r line; do echo \"$line\"; done < other",
    "cd sub && rm b",
    "type rm; umask 077",
    "x=$(umask 077; mktemp); rm $x",
    "PS1='> ' bash -c 'ls'",
    r#"sqlite3 prod.conf "select * from t""#,
    r#"sqlite3 x.db "select 'attach prod.conf'""#,
    "curl -s https://localhost/prod.conf --etag-compare tag",
    "tar tf locked.tar",
    r#"perl -e 'open F,"<prod.conf"; print <F>'"#,
    r#"perl -e 'open F,"prod.conf"; print <F>'"#,
];

fn analysed(command: &str) -> Analysis {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/bin/rm", root.join("linked-rm")).unwrap();
    let root = root.to_str().unwrap();
    let state =
        Surroundings { links: Some(&FileLinks), temporary: &[], ..Surroundings::new(root, "/home/dev") };
    analyse(command, Shell::Bash, &state)
}

/// Whether a file is deleted or written that must not be, or it is not known whether one is.
fn is_seen(analysis: &Analysis) -> bool {
    let touched = |access: Access, names: &[&str]| {
        analysis.paths(access).any(|touch| {
            touch.unclear || names.iter().any(|name| touch.path.split('/').any(|part| part == *name))
        })
    };
    touched(Access::Delete, &["victim.txt"])
        || touched(Access::Write, &["prod.conf", "locked"])
        || analysis.is_unclear(Unknown::Program)
}

#[test]
fn what_deletes_or_writes_behind_a_detour_is_seen_or_unclear() {
    let passed: Vec<&&str> = TRIED.iter().filter(|command| !is_seen(&analysed(command))).collect();
    assert!(passed.is_empty(), "{} of {}: {passed:#?}", passed.len(), TRIED.len());
}

#[test]
fn what_only_looks_like_it_is_neither() {
    let seen = HARMLESS.iter().map(|command| (command, analysed(command)));
    let seen = seen.filter(|(_, analysis)| is_seen(analysis));
    let seen: Vec<_> =
        seen.map(|(command, analysis)| (command, analysis.unclear, analysis.touches)).collect();
    assert!(seen.is_empty(), "{seen:#?}");
}
