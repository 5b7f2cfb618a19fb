//! Code that gives names to what it deletes, reads, writes and starts, beside code that only looks like it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Access, Analysis, Shell, Surroundings, analyse};

/// What a code of a language does, as a program of the shell has it.
fn read(language: &str, code: &str) -> Analysis {
    let flag = if language == "python3" { "-c" } else { "-e" };
    let text = format!("{language} {flag} '{}'", code.replace('\'', "'\\''"));
    analyse(&text, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

/// The paths that a code touches so, in their order.
fn touched(access: Access, language: &str, code: &str) -> Vec<String> {
    let analysis = read(language, code);
    analysis.paths(access).map(|touch| touch.path.clone()).collect()
}

#[track_caller]
fn touches(access: Access, rows: &[(&str, &str, &str)]) {
    let found = rows.iter().map(|(language, code, path)| (code, path, touched(access, language, code)));
    let missing: Vec<String> = found
        .filter(|(_, path, found)| !found.iter().any(|found| found == *path))
        .map(|(code, _, found)| format!("{code}: {found:?}"))
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
fn a_name_that_is_bound_once_to_a_path_is_that_path() {
    touches(
        Access::Write,
        &[
            (
                "python3",
                "p = Path(\".claude/settings.json\"); p.write_text(\"{}\")",
                "/proj/.claude/settings.json",
            ),
            ("python3", "class Door:\n  def open(self): pass\nopen(\"a\", \"w\")", "/proj/a"),
            (
                "python3",
                "for d in [\"a\", \"b\"]:\n  for f in [\"c\", \"d\"]:\n    open(f\"{d}/{f}\", \"w\")",
                "/proj/a/d",
            ),
            (
                "python3",
                "for d in [\"a\", \"b\"]:\n  for f in [\"c\", \"d\"]:\n    open(f\"{d}/{f}\", \"w\")",
                "/proj/b/c",
            ),
            ("node", "const n = total\n  / 2; fs.writeFileSync(\"a\", \"x\") // half", "/proj/a"),
            ("node", "lines.filter(l => /^\"/.test(l)); fs.writeFileSync(\"a\", \"x\")", "/proj/a"),
            ("python3", "os.symlink(\"/tmp/s.json\", \"a\")", "/proj/a"),
            ("python3", "p: Path = Path(\"a\")\np.write_text(\"\")", "/proj/a"),
            (
                "python3",
                "p = Path.home()/\".config\"/\"lineside\"/\"hooks.yaml\"; p.write_text(\"\")",
                "/home/dev/.config/lineside/hooks.yaml",
            ),
            ("python3", "p = Path(\"a\", \"b\")\nwith p.open(\"w\") as f: f.write(\"\")", "/proj/a/b"),
            ("python3", "base = Path(\"a\"); (base / \"b\").write_text(\"\")", "/proj/a/b"),
            ("python3", "d = \"a\"\np = d + \"/b\"\nopen(p, \"w\")", "/proj/a/b"),
            (
                "python3",
                "def save(path, text):\n  open(path, \"w\").write(text)\nsave(\"a\", \"x\")",
                "/proj/a",
            ),
            ("python3", "root = Path(\".\"); root.joinpath(\"a\", \"b\").write_text(\"x\")", "/proj/a/b"),
            ("python3", "p = Path(\"a\"); p.write_text(p.read_text().replace(\"b\", \"c\"))", "/proj/a"),
            (
                "python3",
                "with open(f\"{os.environ['HOME']}/.bashrc\", \"a\") as f: f.write(\"x\")",
                "/home/dev/.bashrc",
            ),
            (
                "node",
                "const {join}=require(\"path\"); fs.writeFileSync(join(process.env.HOME,\".claude\",\"settings.json\"),\"{}\")",
                "/home/dev/.claude/settings.json",
            ),
            (
                "node",
                "import {writeFileSync as w} from \"node:fs\"; w(process.cwd()+\"/a\", \"{}\")",
                "/proj/a",
            ),
            (
                "node",
                "const p = path.join(os.homedir(), \".claude\",\"settings.json\"); fs.writeFileSync(p,\"{}\")",
                "/home/dev/.claude/settings.json",
            ),
            ("node", "const d = \"a\"; fs.writeFileSync(`${d}/b`, \"\")", "/proj/a/b"),
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
            (
                "python3",
                "print(open(f\"{Path.home()}/.aws/credentials\").read())",
                "/home/dev/.aws/credentials",
            ),
            ("python3", "for p in [\"b\", \".env\"]: print(open(p).read())", "/proj/.env"),
            ("python3", "for p in \"b .env\".split(): print(open(p).read())", "/proj/.env"),
            (
                "python3",
                "files = [\n  \"b\",\n  \".env\",\n]\nfor p in files:\n  print(open(p).read())",
                "/proj/.env",
            ),
            ("python3", "print([open(p).read() for p in (\"b\", \".env\")])", "/proj/.env"),
            (
                "python3",
                "def load(path): return open(path).read()\nprint(load(\"b\"), load(\".env\"))",
                "/proj/.env",
            ),
            ("node", "for (const f of [\"a\", \".env\"]) console.log(fs.readFileSync(f))", "/proj/.env"),
            ("node", "[\"a\", \".env\"].forEach(f => console.log(fs.readFileSync(f)))", "/proj/.env"),
            ("node", "const read = p => fs.readFileSync(p); console.log(read(\".env\"))", "/proj/.env"),
            ("node", "console.log(fs.readFileSync(path.join(process.cwd(), \".env\")))", "/proj/.env"),
            ("node", "console.log(fs.readFileSync(`${process.cwd()}/.env`))", "/proj/.env"),
        ],
    );
    touches(
        Access::Delete,
        &[
            ("python3", "p = Path(\"a\"); p.unlink()", "/proj/a"),
            ("python3", "p = Path(\"a\"); shutil.rmtree(p)", "/proj/a"),
            ("python3", "def drop(p):\n  os.remove(p)\ndrop(\"a\")\ndrop(\"b\")", "/proj/b"),
            ("python3", "a, b = \"src\", \"build\"; shutil.rmtree(b)", "/proj/build"),
            ("python3", "f = Path(\"a\")\nif f.exists():\n  f.unlink()", "/proj/a"),
            (
                "node",
                "const target = path.resolve(os.homedir(), \"old\"); await fs.rm(target, {recursive:true})",
                "/home/dev/old",
            ),
            ("node", "function drop(p) { fs.rmSync(p) }\ndrop(\"a\")", "/proj/a"),
        ],
    );
}

#[test]
fn a_name_that_is_bound_once_to_words_is_that_command() {
    starts(&[
        ("python3", "cmd = [\"git\",\"reset\",\"--hard\"]; subprocess.run(cmd)", "git reset --hard"),
        (
            "python3",
            "cmd = [\"git\",\"reset\",\"--hard\"]\nsubprocess.run(cmd, check=True)",
            "git reset --hard",
        ),
        (
            "python3",
            "subprocess.run(\n    [\n        \"git\",\n        \"reset\", \"--hard\"],\n    check=True,\n)",
            "git reset --hard",
        ),
        ("python3", "cmd = \"git reset --hard\"; subprocess.run(cmd.split())", "git reset --hard"),
        ("python3", "cmd = \"git reset --hard\".split(); subprocess.run(cmd)", "git reset --hard"),
        ("python3", "cmd = shlex.split(\"git reset --hard\"); subprocess.run(cmd)", "git reset --hard"),
        ("python3", "cmd = [\"git\"]+[\"push\",\"--force\"]; subprocess.run(cmd)", "git push --force"),
        ("python3", "git = [\"git\"]; subprocess.run(git + [\"push\",\"--force\"])", "git push --force"),
        ("python3", "more = [\"--hard\"]; subprocess.run([\"git\", \"reset\", *more])", "git reset --hard"),
        (
            "python3",
            "def run(cmd): subprocess.run(cmd, shell=True)\nrun(\"git reset --hard origin/main\")",
            "git reset --hard origin/main",
        ),
        (
            "python3",
            "def run(cmd: str, check: bool = True) -> None:\n  subprocess.run(cmd, shell=True, check=check)\nrun(\"git push -f\", check=False)",
            "git push -f",
        ),
        (
            "python3",
            "def git(*args):\n  subprocess.run([\"git\", *args], check=True)\ngit(\"push\", \"--force\")",
            "git push --force",
        ),
        (
            "python3",
            "def git(args):\n  os.system(f\"git {args}\")\ngit(\"push --force\")",
            "git push --force",
        ),
        (
            "python3",
            "def run(*args): subprocess.run(args)\nrun(\"git\", \"push\", \"--force\")",
            "git push --force",
        ),
        ("python3", "run = lambda c: os.system(c)\nrun(\"git push -f\")", "git push -f"),
        (
            "python3",
            "for c in ([\"git\",\"fetch\"],[\"git\",\"reset\",\"--hard\"]): subprocess.run(c)",
            "git reset --hard",
        ),
        (
            "python3",
            "cmd = [\"git\",\"push\"]\nif force: cmd.append(\"--force\")\nsubprocess.run(cmd)",
            "git push --force",
        ),
        (
            "python3",
            "cmd = [\"git\",\"push\"]; cmd += [\"--force\"]; subprocess.run(cmd)",
            "git push --force",
        ),
        ("node", "const cwd = \"/home/dev\"; spawnSync(\"git push -f\", {cwd, shell: true})", "git push -f"),
        ("python3", "cmd = [\"git\",\"status\"]; cmd.append(x); subprocess.run(cmd)", "git status *"),
        ("python3", "subprocess.run(args=[\"git\",\"push\",\"--force\"])", "git push --force"),
        ("node", "const cmds=[\"ls\", \"git push -f\"]; cmds.forEach(c => execSync(c))", "git push -f"),
        ("node", "const sh = promisify(exec); await sh(\"git push -f\")", "git push -f"),
        ("node", "const args=[\"push\",\"--force\"]; spawnSync(\"git\",args)", "git push --force"),
        ("node", "const run=c=>execSync(c); run(\"git push -f\")", "git push -f"),
        ("node", "const run = (c, o) => { execSync(c, o) }; run(\"git push -f\", {})", "git push -f"),
        ("node", "const git = (...args) => spawnSync(\"git\", args); git(\"push\", \"-f\")", "git push -f"),
        ("node", "const more=[\"-f\"]; spawnSync(\"git\", [\"push\", ...more])", "git push -f"),
        ("python3", "subprocess.run([\"bash\"], input=\"git push -f\\n\", text=True)", "git push -f"),
        ("python3", "subprocess.run(\"sh\", input=b\"git push -f\")", "git push -f"),
        (
            "python3",
            "s = \"git push -f\"; subprocess.run([\"sh\", \"-s\"], input=s, text=True)",
            "git push -f",
        ),
        ("node", "execSync(\"sh\", {input: \"git push -f\"})", "git push -f"),
    ]);
}

#[test]
fn clean_ups_by_loops_and_names_are_those_of_what_is_named() {
    for (language, code, gone) in [
        (
            "python3",
            "for d in [\"build\", \"dist\"]: shutil.rmtree(d, ignore_errors=True)",
            vec!["/proj/build", "/proj/dist"],
        ),
        ("python3", "[shutil.rmtree(d) for d in (\"build\", \"dist\")]", vec!["/proj/build", "/proj/dist"]),
        ("python3", "p = Path(\"build\")\nif p.exists():\n  shutil.rmtree(p)", vec!["/proj/build"]),
        (
            "node",
            "for (const d of [\"build\", \"dist\"]) fs.rmSync(d, {recursive: true})",
            vec!["/proj/build", "/proj/dist"],
        ),
        (
            "python3",
            "os.chdir(\"a\")\nfor d in [\"b\", \"c\"]: shutil.rmtree(d)",
            vec!["/proj/a/b", "/proj/a/c"],
        ),
    ] {
        let analysis = read(language, code);
        let found: Vec<&str> = analysis.paths(Access::Delete).map(|touch| touch.path.as_str()).collect();
        assert_eq!(found, gone, "{code}");
        assert!(analysis.unclear.is_empty(), "{code}: {:?}", analysis.unclear);
    }
}

/// What is written into a file is no path, and what the code made itself is none that is lost.
#[test]
fn everyday_code_is_neither_unclear_nor_elsewhere() {
    for (language, code) in [
        ("python3", "gi = Path(\".gitignore\"); gi.write_text(\"/target\\n\")"),
        ("python3", "x.write_text(\".env\"); rc.open(\"a\").write(\"/usr/bin/env\")"),
        ("python3", "df = df.rename(columns={\"a\": \"b\"})"),
        ("python3", "d = tempfile.mkdtemp(); print(d); shutil.rmtree(d)"),
        ("node", "const d = fs.mkdtempSync(path.join(os.tmpdir(),\"x-\")); fs.rmSync(d,{recursive:true})"),
        ("python3", "key = os.environ.get(\"OPENAI_API_KEY\"); print(\"set\" if key else \"missing\")"),
        (
            "python3",
            "def run(cmd):\n  print(\"+\", cmd)\n  return subprocess.run(cmd, shell=True)\nrun(\"make build\")",
        ),
    ] {
        let analysis = read(language, code);
        assert!(analysis.unclear.is_empty() && analysis.traits.is_empty(), "{code}: {analysis:?}");
        let mut paths = analysis.touches.iter().map(|touch| touch.path.as_str());
        assert!(
            paths.all(|path| ["/proj/.gitignore", "/proj/tmp"].contains(&path) || path.starts_with("/tmp/")),
            "{code}: {analysis:?}"
        );
        assert!(analysis.programs.iter().all(|program| program.name.pattern() != "make build"), "{code}");
    }
}

/// A text that a name had once does not hide what it is later, or elsewhere.
#[test]
fn a_name_that_is_bound_in_another_way_is_not_that_text() {
    for (language, code) in [
        ("python3", "d = \"x\"\nfor d in os.listdir(\"/\"): shutil.rmtree(d)"),
        ("python3", "p = \"x\"\ndef drop(p): shutil.rmtree(p)\ndrop(sys.argv[1])"),
        ("python3", "d, e = \"x\", \"y\"\nd = \"x\"\nshutil.rmtree(d)"),
        ("node", "const f=\"x\"; fs.readdirSync(\"/\").forEach(f => fs.rmSync(f,{recursive:true}))"),
        ("python3", "d = \"x\"\nif len(sys.argv) > 1: d = sys.argv[1]\nshutil.rmtree(d)"),
        ("python3", "subprocess.run(\"rm -rf \" + sys.argv[1], shell=True)"),
        ("python3", "subprocess.run(\"rm -rf %s\" % sys.argv[1], shell=True)"),
        ("node", "const c = require(\"child_process\"); c.exec(process.argv[2])"),
        ("node", "const f=\"x\"; { const {f} = g(); fs.rmSync(f,{recursive:true}) }"),
        ("python3", "p = Path(\"build/x\"); shutil.rmtree(p.parent.parent)"),
    ] {
        let found = touched(Access::Delete, language, code);
        assert!(found.iter().all(|path| !path.ends_with("/x")), "{code}: {found:?}");
        assert!(!read(language, code).unclear.is_empty(), "{code}");
    }
    let code =
        "keep = [\".git\", \".env\"]\nfor f in os.listdir(\".\"):\n  if f in keep: continue\n  os.remove(f)";
    assert!(touched(Access::Delete, "python3", code).iter().all(|path| path != "/proj/.git"));
}

/// What is put in the place of names is bounded: such texts took memory or time without an end.
#[test]
fn names_of_names_are_read_within_their_bounds() {
    let long = "q".repeat(20_000);
    for code in [
        format!("b=\"{long}\";c={}\nopen(c)", vec!["b"; 10_000].join("+")),
        format!("b=\"{long}\"\n{}", "print(b)\n".repeat(4_000)),
        format!("b=[\"{}\"]\n{}", vec!["x"; 4_000].join("\",\""), "subprocess.run(b)\n".repeat(1_000)),
        format!("a=\"q\";b=a;c=b;x={}f\"{}\";os.system(x)", "", "{c}{c}{c}{c}".repeat(2_000)),
        format!("x={}\"a\"{}", "str(".repeat(10_000), ")".repeat(10_000)),
        format!("{}{}", "(".repeat(10_000), ")=".repeat(10_000)),
        format!("def f(c): os.system(c)\n{}", "f(\"ls\")\n".repeat(5_000)),
        format!("for c in [{}]: os.system(c)", "\"ls\",".repeat(60)) + &"os.system(\"ls\")\n".repeat(1_500),
        "def f(c): f(c)\n".repeat(4_000),
        "\"x\".join([\"a\"])]+[]".to_owned(),
        "for a in [\"b\",\"c\",\"d\"]: open(a)\n".replace('a', "x").repeat(300),
        "aa=lambda bb=".repeat(4_000),
        format!("x = {}", "[\"a\"]+".repeat(9_000)),
    ] {
        read("python3", &code);
        read("node", &code);
    }
    read("node", &"[/".repeat(30_000));
}
