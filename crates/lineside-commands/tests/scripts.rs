//! Scripts that the command has just written: whatever runs them, what they do is what the command does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::{Analysis, Argument, Shell, Surroundings, Unknown, analyse};

fn read(text: &str) -> Analysis {
    analyse(text, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

fn pushes(analysis: &Analysis) -> bool {
    let is_push = |args: &[Argument]| args.iter().map(Argument::pattern).eq(["push", "--force"]);
    analysis.programs.iter().any(|program| program.name.text() == Some("git") && is_push(&program.args))
}

#[test]
fn a_script_is_entered_by_whichever_runner() {
    let python = "cat > x.py <<'E'\nimport os\nos.system('git push --force')\nE\n";
    let node =
        "cat > x.ts <<'E'\nimport { execSync } from 'child_process'\nexecSync('git push --force')\nE\n";
    let runs = [
        (
            python,
            &[
                "uv run x.py",
                "uv run --with a x.py",
                "uv run -s x.py",
                "uv run --script x.py",
                "uv run -- x.py",
                "uv run ./x.py",
                "pipx run x.py",
                "pdm run x.py",
                "hatch run x.py",
                "poetry run x.py",
                "coverage run x.py",
                "python -m coverage run x.py",
                "some-runner --file=x.py",
            ][..],
        ),
        (
            node,
            &[
                "bun x.ts", "bun run x.ts", "bun run --hot x.ts", "deno run -A x.ts", "deno x.ts",
                "tsx watch x.ts", "npx vite-node x.ts", "npx jiti x.ts", "npx ts-node -O '{}' x.ts",
                "nodemon x.ts",
            ],
        ),
        ("echo 'git push --force' > x.py; ", &["./x.py", "env ./x.py", "bash x.py"]),
        ("printf 'x:\\n    git push --force\\n' > justfile; ", &["just", "just x"]),
        ("printf 'git push ' > x; printf -- '--force\\n' >> x; ", &["sh x", "bash ./x"]),
        ("echo 'git push --force' > x; echo b >> x; ", &["sh x"]),
        ("echo 'git push --force' | tee x; echo b | tee -a x; ", &["sh x"]),
        ("", &["npm pkg set scripts.x='git push --force'"]),
        (
            "",
            &["deno run - <<'E'\nimport { execSync } from 'child_process'\nexecSync('git push --force')\nE"],
        ),
    ];
    for (front, ways) in runs {
        for way in ways {
            let text = format!("{front}{way}");
            assert!(pushes(&read(&text)), "{text}: {:?}", read(&text).programs);
        }
    }
}

#[test]
fn what_is_run_of_a_file_that_is_not_entered_is_unclear_and_what_only_reads_one_is_not() {
    for text in [
        "echo x > Taskfile.yml; task x",
        "echo x > Rakefile; rake x",
        "echo x > build.gradle; gradle x",
        "echo x > noxfile.py; nox -s x",
        "sort -o x.sql y; psql -f x.sql",
    ] {
        assert!(read(text).is_unclear(Unknown::Program), "{text}");
    }
    let python = "cat > x.py <<'E'\nprint(1)\nE\n";
    for way in
        ["uv run x.py", "uv run ./x.py", "black x.py", "ruff check x.py", "some-runner x.py", "python x.py"]
    {
        let text = format!("{python}{way}");
        assert!(!read(&text).is_unclear(Unknown::Program), "{text}: {:?}", read(&text).unclear);
    }
    for text in
        ["task x", "rake x", "echo 'select 1;' > x.sql; psql -f x.sql", "echo x > y; echo z >> y; cat y"]
    {
        assert!(!read(text).is_unclear(Unknown::Program), "{text}");
    }
    for way in ["flake8 x.py", "pylint --strict x.py", "bandit x.py"] {
        let text = format!("cat > x.py <<'E'\nimport os\nos.system('git push --force')\nE\n{way}");
        assert!(!pushes(&read(&text)), "{text}");
    }
    let text = "cat > x.py <<'E'\nimport os\nos.system('some-runner x.py; uv run x.py')\nE\nuv run x.py";
    assert!(read(text).is_cut, "a script that runs itself ends at a bound");
}
