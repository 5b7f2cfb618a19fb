//! Lines for a shell: which of them are trusted and run, and that what of a project was not trusted is not.

use super::*;

#[tokio::test]
async fn a_guard_that_is_named_by_the_variable_of_its_format_is_shown_and_runs() {
    let claude = |line: &str, rest: &str| {
        let hook = json!({"type": "command", "command": line});
        let mut hook = hook.as_object().unwrap().clone();
        if !rest.is_empty() {
            hook.insert("args".to_owned(), json!([]));
        }
        let file = json!({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}});
        (".claude/settings.json", file.to_string())
    };
    let gemini = |line: &str| {
        let hook = json!({"type": "command", "command": line});
        (
            ".gemini/settings.json",
            json!({"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}}).to_string(),
        )
    };
    let script = ".claude/hooks/guard.sh";
    for (path, text) in [
        claude(r#""$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh"#, ""),
        claude("$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh", ""),
        claude(r#""$CLAUDE_PROJECT_DIR/.claude/hooks/guard.sh""#, ""),
        claude(r#""${CLAUDE_PROJECT_DIR}"/.claude/hooks/guard.sh"#, ""),
        claude(r#"bash "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh"#, ""),
        claude(r#"cd "$CLAUDE_PROJECT_DIR" && .claude/hooks/guard.sh"#, ""),
        claude("cd $CLAUDE_PROJECT_DIR && sh .claude/hooks/guard.sh", ""),
        claude(r#"cd "$CLAUDE_PROJECT_DIR"/.claude && hooks/guard.sh"#, ""),
        claude("${CLAUDE_PROJECT_DIR}/.claude/hooks/guard.sh", "args"),
        gemini("$GEMINI_PROJECT_DIR/.claude/hooks/guard.sh"),
        gemini("bash \"${GEMINI_PROJECT_DIR}\"/.claude/hooks/guard.sh"),
        gemini("\"$GEMINI_CWD\"/.claude/hooks/guard.sh"),
        gemini("${GEMINI_CWD}/.claude/hooks/guard.sh"),
    ] {
        let room = Room::new();
        room.write_program(script, GUARD);
        room.write(path, &text);
        assert!(room.content().iter().any(|path| path == script), "{text}: {:?}", room.content());
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{text}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{text}");
    }
}

#[tokio::test]
async fn no_line_runs_a_file_of_the_project_that_was_not_trusted() {
    for (line, runs) in [
        ("cd sub && ./g.sh", true),
        ("cd sub; ./g.sh", true),
        (r#"cd "$PWD"/sub && ./g.sh"#, true),
        (r#"bash -c "cd sub; ./g.sh""#, true),
        ("sh -c 'cd sub && ./g.sh'", true),
        ("(cd sub && ./g.sh)", true),
        ("env -C sub ./g.sh", true),
        ("D=sub; cd $D && ./g.sh", true),
        ("pushd sub >/dev/null; sh g.sh", true),
        ("cd \"$(pwd)\"/sub && ./g.sh", true),
        ("cd \"$(cat where)\" && ./sub/g.sh", false),
        ("\"$(cat where)\"/sub/g.sh", false),
        ("cd ${FOLDER:-.} && sub/g.sh", true),
        (r"find sub -name g.sh -exec sh {} \;", false),
        ("ls sub/*.sh | xargs sh", false),
        (r#"find . -name "*.sh" | xargs -n1 sh"#, false),
        ("PATH=sub:$PATH g.sh", false),
        ("export PATH=\"$PWD/sub:$PATH\"; g.sh", false),
        ("cat sub/g.sh | sh", true),
        ("bash -c '. <(cat sub/g.sh)'", false),
        ("T=$(cat sub/g.sh); eval \"$T\"", true),
        ("X='./sub/g.sh'; eval \"$X\"", false),
        ("D=$(pwd); sh -c \"cd $D/sub && ./g.sh\"", false),
        (r#"python3 -c "import subprocess; subprocess.run(['./sub/g.sh'])""#, false),
        (r#"node -e "require('child_process').execSync('sub/g.sh')""#, true),
        (r#"awk 'BEGIN { exit system("sh sub/g.sh") }'"#, true),
    ] {
        let room = Room::new();
        room.write_program("sub/g.sh", GUARD);
        write(&room.root.join("where"), &room.root.to_string_lossy());
        room.write_hook(line);
        let content = room.content();
        let (verdict, said, in_force) = room.outcome().await;
        let verdict = format!("{verdict:?}");
        if runs {
            assert!(content.iter().any(|path| path == "sub/g.sh"), "{line}: {content:?}");
            assert!(verdict.contains("guarded") && said.is_empty(), "{line}: {verdict} {said}");
        } else {
            assert!(!verdict.contains("guarded") && verdict.contains("it is not run"), "{line}: {verdict}");
            assert!(said.contains("is not run") && in_force == 0, "{line}: {said} {in_force}");
        }
        // Another file in its place is not run, whatever the line.
        let mark = room.folder.path().join("mark");
        room.write_program("sub/g.sh", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        tool(&room.session_of("other").await).await;
        assert!(!mark.exists(), "{line}");
    }
}

#[tokio::test]
async fn a_content_that_is_more_than_it_was_is_told_from_one_that_has_changed() {
    let room = Room::new();
    room.write_program("sub/g.sh", GUARD);
    room.write_hook("cd sub && ./g.sh");
    let content = room.read().content.unwrap();
    // What a version has seen that did not look at `sub/g.sh`.
    let mut before = content.items().to_vec();
    before.retain(|item| item.path != "sub/g.sh");
    let told = |before: &[Item]| project::told(&content.since(before), None);
    let more = "sub/g.sh added, or looked at for the first time; everything else is as it was trusted";
    assert_eq!(told(&before), more);
    before[0].digest.push('x');
    assert_eq!(told(&before), ".lineside/hooks.yaml changed, sub/g.sh added");
}

#[tokio::test]
async fn what_a_variable_of_a_hook_has_a_shell_run_is_content() {
    let room = Room::new();
    room.write("late.sh", "echo guarded >&2; exit 2\n");
    let hook = json!({
        "name": "g", "on": "before_tool", "command": ["bash", "-c", "true"], "env": {"BASH_ENV": "./late.sh"}
    });
    room.write(".lineside/hooks.yaml", &json!({"hooks": [hook]}).to_string());
    assert!(room.content().iter().any(|path| path == "late.sh"), "{:?}", room.content());
}

#[tokio::test]
async fn a_line_that_may_run_more_than_it_names_runs_where_the_project_says_what_that_is() {
    for (line, trusts, holds) in [
        (r"find sub -name g.sh -exec sh {} \;", "sub", true),
        ("cat sub/g.sh | sh", "sub", true),
        (r"find . -name g.sh -exec sh {} \;", "sub", false),
        ("sh sub/*.sh", "sub/*.sh", true),
        ("sh sub/*.sh", "**/*.sh", true),
        // What an entry is not about does not hold for it.
        ("sh sub/*.sh", "**/*.md", false),
        ("sh sub/*.sh", "sub/g.sh", false),
        (r"find sub -exec sh {} \;", "sub/*.md", false),
        ("sh $(cat where)", "words.txt", false),
        ("sh $(cat where)", "sub", false),
    ] {
        let room = Room::new();
        room.write_program("sub/g.sh", GUARD);
        let hook = json!({"name": "g", "on": "before_tool", "command": line});
        room.write(".lineside/hooks.yaml", &json!({"trusts": [trusts], "hooks": [hook]}).to_string());
        assert!(!holds || room.content().iter().any(|path| path == "sub/g.sh"));
        let (_, said, in_force) = room.outcome().await;
        assert_eq!((said.is_empty(), in_force), (holds, usize::from(holds)), "{line} {trusts}: {said}");
    }
}

#[tokio::test]
async fn a_line_that_enters_an_environment_of_python_is_trusted_with_that_file_alone() {
    let room = Room::new();
    room.write(".venv/pyvenv.cfg", "home = /usr/bin\n");
    room.write(".venv/bin/activate", "A=b\n");
    std::os::unix::fs::symlink("/usr/bin/env", room.root.join(".venv/bin/python")).unwrap();
    let line = ". .venv/bin/activate && echo guarded >&2; exit 2";
    room.write_hook(line);
    assert_eq!(room.content(), [".lineside/hooks.yaml", ".venv/bin/activate"]);
    let (verdict, said, in_force) = room.outcome().await;
    assert!(format!("{verdict:?}").contains("guarded"), "{verdict:?} {said}");
    assert_eq!((&*said, in_force), ("", 1));
}

#[tokio::test]
async fn a_path_that_goes_up_is_of_the_project_where_it_leads_there() {
    for line in [
        "sub/../sub/g.sh",
        "sh ../project/sub/g.sh",
        "sh \"$PWD\"/../project/sub/g.sh",
        "cd ../other && ./x.sh; cd ../project && sub/../sub/g.sh",
        "sh ../other/x.sh; cat ../other/x.sh; sh sub/g.sh",
        "link/../g.sh",
    ] {
        let room = Room::new();
        room.write_program("sub/g.sh", GUARD);
        for folder in ["other", "sub/deep"] {
            fs::create_dir_all(room.root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink("sub/deep", room.root.join("link")).unwrap();
        let other = room.folder.path().join("other/x.sh");
        write(&other, "#!/bin/sh\ntrue\n");
        fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        room.write_hook(line);
        assert!(room.content().iter().any(|path| path == "sub/g.sh"), "{line}: {:?}", room.content());
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{line}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{line}");
        let mark = room.folder.path().join("mark");
        room.write_program("sub/g.sh", &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        tool(&room.session_of("other").await).await;
        assert!(!mark.exists(), "{line}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_stops_no_line_and_is_not_run_when_it_comes() {
    for (line, late) in [
        ("[ -f .env ] && . ./.env", ".env"),
        ("[ -f sub/x.sh ] && sh sub/x.sh", "sub/x.sh"),
        ("test -x .venv/bin/python && .venv/bin/python -m ruff || true", ".venv/bin/python"),
        ("[ ! -e x.py ] || python3 ./x.py", "x.py"),
        ("(cd sub; [ -f x.sh ] && ./x.sh)", "sub/x.sh"),
    ] {
        let room = Room::new();
        fs::create_dir(room.root.join("sub")).unwrap();
        room.write_hook(&format!("{line}; echo guarded >&2; exit 2"));
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{line}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{line}");
        let mark = room.folder.path().join("mark");
        room.write_program(late, &format!("#!/bin/sh\ntouch {}\n", mark.display()));
        assert!(room.content().iter().any(|path| path == late), "{line}: {:?}", room.content());
        tool(&room.session_of("other").await).await;
        assert!(!mark.exists(), "{line}");
    }
}

#[tokio::test]
async fn lines_that_start_nothing_of_the_project_are_left_alone() {
    for line in [
        "cat >/dev/null; echo guarded >&2; exit 2",
        "jq -r .tool.name | { read f; case $f in *.ts) prettier --check \"$f\";; esac; }; echo guarded >&2; exit 2",
        "F=$(jq -r .x 2>/dev/null); [ -n \"$F\" ] && grep -q x \"$F\"; echo guarded >&2; exit 2",
        r#"python3 -c "import sys, json; json.load(sys.stdin); sys.stderr.write('guarded'); sys.exit(2)""#,
        "git diff --quiet -- '*.rs' || true; ls *.md >/dev/null 2>&1; echo guarded >&2; exit 2",
        "[ -f \"$HOME/env\" ] && . \"$HOME/env\"; echo guarded >&2; exit 2",
        "make -n x >/dev/null 2>&1; npx --no-install x >/dev/null 2>&1; echo guarded >&2; exit 2",
        "if [ \"$CI\" ]; then exit 0; fi; echo guarded >&2; exit 2",
        // Nothing of the project is known to be run.
        "if [[ \"$F\" == *.ts ]]; then npx tsc; fi; echo guarded >&2; exit 2",
        "PATH=$HOME/.local/bin:$PATH; export PATH=\"$PWD/bin:$PATH\"; echo guarded >&2; exit 2",
        "false && npx -y @biomejs/biome check; echo guarded >&2; exit 2",
        "false && eval \"$(direnv hook sh)\"; echo guarded >&2; exit 2",
    ] {
        let room = Room::new();
        write(&room.folder.path().join("env"), "A=b\n");
        room.write_hook(line);
        let (verdict, said, in_force) = room.outcome().await;
        assert!(format!("{verdict:?}").contains("guarded"), "{line}: {verdict:?} {said}");
        assert_eq!((&*said, in_force), ("", 1), "{line}");
    }
}
