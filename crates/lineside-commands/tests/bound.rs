//! Code that binds names to what it deletes, reads, writes and starts, beside code that only looks like it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Access, Analysis, Shell, Surroundings, Unknown, analyse};

/// What a code of a language does, as a program of the shell has it.
fn read(language: &str, code: &str) -> Analysis {
    let flag = if language == "php" {
        "-r"
    } else if language == "python3" {
        "-c"
    } else {
        "-e"
    };
    let text = format!("{language} {flag} '{}'", code.replace('\'', "'\\''"));
    analyse(&text, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

#[track_caller]
fn touches(access: Access, rows: &[(&str, &str, &str)]) {
    let missing: Vec<String> = rows
        .iter()
        .filter_map(|(language, code, path)| {
            let analysis = read(language, code);
            let found: Vec<&str> = analysis.paths(access).map(|touch| touch.path.as_str()).collect();
            (!found.contains(path)).then(|| format!("{code}: {found:?}"))
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[track_caller]
fn starts(rows: &[(&str, &str, &str)]) {
    let missing: Vec<String> = rows
        .iter()
        .filter_map(|(language, code, line)| {
            let analysis = read(language, code);
            let lines = analysis.programs.iter().map(|program| {
                let words = program.args.iter().map(lineside_commands::Argument::pattern);
                std::iter::once(program.name.pattern()).chain(words).collect::<Vec<_>>().join(" ")
            });
            let lines: Vec<String> = lines.collect();
            (!lines.iter().any(|one| one == line)).then(|| format!("{code}: {lines:?}"))
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_name_that_is_bound_to_a_path_is_that_path() {
    touches(
        Access::Write,
        &[
            (
                "python3",
                "p = Path(\".claude/settings.json\"); p.write_text(\"{}\")",
                "/proj/.claude/settings.json",
            ),
            (
                "python3",
                "p = Path.home()/\".config\"/\"lineside\"/\"hooks.yaml\"; p.write_text(\"\")",
                "/home/dev/.config/lineside/hooks.yaml",
            ),
            ("python3", "p = Path(\"a\", \"b\")\nwith p.open(\"w\") as f: f.write(\"\")", "/proj/a/b"),
            ("python3", "base = Path(\"a\"); (base / \"b\").write_text(\"\")", "/proj/a/b"),
            ("python3", "d = \"a\"\np = d + \"/b\"\nopen(p, \"w\")", "/proj/a/b"),
            (
                "node",
                "const p = path.join(os.homedir(), \".claude\",\"settings.json\"); fs.writeFileSync(p,\"{}\")",
                "/home/dev/.claude/settings.json",
            ),
            ("node", "const d = \"a\"; fs.writeFileSync(`${d}/b`, \"\")", "/proj/a/b"),
            ("ruby", "d = \"a\"; File.write(\"#{d}/b\", \"\")", "/proj/a/b"),
            ("php", "$p = \"a/b\"; file_put_contents($p, \"\");", "/proj/a/b"),
        ],
    );
    touches(
        Access::Read,
        &[
            ("python3", "p = Path(\".env\"); print(p.read_text())", "/proj/.env"),
            (
                "python3",
                "p = Path.home()/\".ssh\"/\"id_rsa\"; print(open(p).read())",
                "/home/dev/.ssh/id_rsa",
            ),
            (
                "python3",
                "p = os.path.join(os.path.expanduser(\"~\"), \".aws\",\"credentials\"); print(open(p).read())",
                "/home/dev/.aws/credentials",
            ),
            (
                "python3",
                "home=os.path.expanduser(\"~\"); print(open(f\"{home}/.aws/credentials\").read())",
                "/home/dev/.aws/credentials",
            ),
            ("python3", "for p in [\".env\", \"b\"]: print(open(p).read())", "/proj/b"),
            ("python3", "p = \".env\"\np = \"b\"\nopen(p)", "/proj/.env"),
            ("node", "for (const f of [\"a\", \".env\"]) console.log(fs.readFileSync(f))", "/proj/.env"),
            ("perl", "for my $f (\"a\", \".env\") { open(F, \"<\", $f) }", "/proj/.env"),
        ],
    );
    touches(
        Access::Delete,
        &[
            ("python3", "p = Path(\"a\"); p.unlink()", "/proj/a"),
            ("python3", "def drop(p):\n  os.remove(p)\ndrop(\"a\")\ndrop(\"b\")", "/proj/b"),
            ("node", "function drop(p) { fs.rmSync(p) }\ndrop(\"a\")", "/proj/a"),
        ],
    );
}

#[test]
fn a_name_that_is_bound_to_words_is_that_command() {
    starts(&[
        ("python3", "cmd = [\"git\",\"reset\",\"--hard\"]; subprocess.run(cmd)", "git reset --hard"),
        ("python3", "cmd = \"git reset --hard\"; subprocess.run(cmd.split())", "git reset --hard"),
        ("python3", "cmd = \"git reset --hard\".split(); subprocess.run(cmd)", "git reset --hard"),
        ("python3", "cmd = [\"git\"]+[\"push\",\"--force\"]; subprocess.run(cmd)", "git push --force"),
        (
            "python3",
            "cmd = [\"git\"]; cmd += [\"reset\", \"--hard\"]; subprocess.run(cmd)",
            "git reset --hard",
        ),
        (
            "python3",
            "cmd = [\"git\", \"reset\"]\ncmd.append(\"--hard\")\nsubprocess.run(cmd)",
            "git reset --hard",
        ),
        ("python3", "more = [\"--hard\"]; subprocess.run([\"git\", \"reset\", *more])", "git reset --hard"),
        (
            "python3",
            "def run(cmd): subprocess.run(cmd, shell=True)\nrun(\"git reset --hard origin/main\")",
            "git reset --hard origin/main",
        ),
        (
            "python3",
            "def run(*args): subprocess.run(args)\nrun(\"git\", \"push\", \"--force\")",
            "git push --force",
        ),
        (
            "python3",
            "def run(cmd: str, **kw) -> int:\n  return os.system(cmd)\nrun(\"git push -f\")",
            "git push -f",
        ),
        (
            "python3",
            "def run(*args, **kw):\n  subprocess.check_call(list(args), **kw)\nrun(\"git\", \"push\", \"-f\")",
            "git push -f",
        ),
        ("python3", "run = lambda c: os.system(c)\nrun(\"git push -f\")", "git push -f"),
        (
            "python3",
            "for c in ([\"git\",\"fetch\"],[\"git\",\"reset\",\"--hard\"]): subprocess.run(c)",
            "git reset --hard",
        ),
        ("python3", "c = \"git fetch\"\nif x: c = \"git push -f\"\nos.system(c)", "git push -f"),
        ("node", "const args=[\"push\",\"--force\"]; spawnSync(\"git\",args)", "git push --force"),
        ("node", "const run=c=>execSync(c); run(\"git push -f\")", "git push -f"),
        ("node", "const run = (c, o) => { execSync(c, o) }; run(\"git push -f\", {})", "git push -f"),
        ("node", "const more=[\"-f\"]; spawnSync(\"git\", [\"push\", ...more])", "git push -f"),
        ("ruby", "def run(c) system(c) end; run(\"git push -f *\")", "git push -f *"),
    ]);
}

#[test]
fn what_is_not_known_of_a_name_is_unclear() {
    for (language, code) in [
        ("python3", "cmd = other(); subprocess.run(cmd)"),
        ("python3", "cmd = [\"git\"]; cmd += other(); subprocess.run(cmd)"),
        ("node", "spawnSync(argv[0], [])"),
    ] {
        let analysis = read(language, code);
        assert!(analysis.unclear.iter().any(|unclear| unclear.what == Unknown::Program), "{code}");
    }
    let names: String = (0..100).map(|number| format!("c = \"echo {number}\"\n")).collect();
    assert!(!read("python3", &format!("{names}os.system(c)")).unclear.is_empty());
    let deep = format!("x = 1; {}{}", "[".repeat(9000), "]".repeat(9000));
    assert!(!read("python3", &deep).unclear.is_empty());
    let known = read("python3", "x = f(a=\"b\"); y = [\"a\"]; print(y)\nfor z in y: print(z)");
    assert!(known.unclear.is_empty() && known.touches.is_empty(), "{known:?}");
}
