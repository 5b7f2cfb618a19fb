//! Calls of languages other than Python and JavaScript: what they start, which files they name, and their statements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use lineside_commands::Access::{Delete, Read, Write};
use lineside_commands::{Analysis, Shell, Surroundings, Trait, Unknown, analyse};

fn analysed(command: &str) -> Analysis {
    analyse(command, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

fn starts(analysis: &Analysis, expected: &str) -> bool {
    analysis.programs.iter().any(|program| {
        let words = std::iter::once(&program.name).chain(&program.args).map(ToString::to_string);
        words.collect::<Vec<_>>().join(" ") == expected
    })
}

#[test]
fn what_code_starts_is_listed_with_all_of_its_words() {
    for command in [
        r#"elixir -e 'System.cmd("git", ["push", "--force"])'"#,
        "julia -e 'run(`git push --force`)'",
        "bun -e 'await Bun.$`git push --force`'",
        "bun -e 'import {$} from \"bun\"; await $`git push --force`'",
        "npx zx -e 'await $`git push --force`'",
        r#"deno eval 'new Deno.Command("git", {args: ["push", "--force"]}).outputSync()'"#,
        r#"ruby -ropen3 -e 'Open3.capture2("git", "push", "--force")'"#,
        r#"ruby -ropen3 -e 'Open3.capture3("git push --force")'"#,
        r#"php -r 'exec("git push --force");'"#,
        r#""$DIR/git" push --force"#,
        r#""${DIR}/bin/git" push --force"#,
        "$(npm bin)/git push --force",
        r#""$(npm bin)/git" push --force"#,
    ] {
        let analysis = analysed(command);
        assert!(starts(&analysis, "git push --force"), "{command}: {:?}", analysis.programs);
        assert!(!analysis.is_unclear(Unknown::Program), "{command}");
    }
    for command in [
        "$DIR/git push --force", "$(cat x)/git status", r#""$DIR/own" x"#, r#""$DIR/$X" x"#, r#""$DIR/"$X x"#,
    ] {
        assert!(analysed(command).is_unclear(Unknown::Program), "{command}");
    }
    // No command, but a name of R.
    assert_eq!(analysed("Rscript -e '`my name` <- 1; print(`my name`)'").programs.len(), 1);
}

#[test]
fn what_code_reads_writes_and_deletes_is_listed() {
    for (command, access, expected) in [
        (r#"Rscript -e 'unlink("~/x", recursive=TRUE)'"#, Delete, "/home/dev/x"),
        (r#"Rscript -e "file.remove('~/x')""#, Delete, "/home/dev/x"),
        (r#"Rscript -e 'writeLines("a", "~/x")'"#, Write, "/home/dev/x"),
        (r#"Rscript -e 'write.csv(a, "~/x")'"#, Write, "/home/dev/x"),
        (r#"Rscript -e 'readLines("~/x")'"#, Read, "/home/dev/x"),
        (r#"emacs --batch --eval '(delete-directory "~/x" t)'"#, Delete, "/home/dev/x"),
        (r#"elixir -e 'File.rm_rf!(Path.expand("~/x"))'"#, Delete, "/home/dev/x"),
        ("bun -e 'await Bun.$`rm -rf ~/x`'", Delete, "/home/dev/x"),
        (r#"ruby -e 'Pathname.new("x").write("{}")'"#, Write, "/proj/x"),
        (r#"ruby -e 'puts Pathname("x").read'"#, Read, "/proj/x"),
        (r#"ruby -e 'Pathname("/home/dev/x").rmtree'"#, Delete, "/home/dev/x"),
        (r#"ruby -e 'FileUtils.cd("/home/dev") { FileUtils.rm_rf("x") }'"#, Delete, "/home/dev/x"),
        (r#"php -r 'print_r(parse_ini_file("x"));'"#, Read, "/proj/x"),
    ] {
        let analysis = analysed(command);
        let paths: Vec<&str> = analysis.paths(access).map(|touch| touch.path.as_str()).collect();
        assert!(paths.contains(&expected), "{command}: {paths:?}");
    }
    assert_eq!(analysed(r#"Rscript -e 'writeLines("x")'"#).paths(Write).count(), 0);
}

#[test]
fn statements_that_methods_are_given_are_no_programs() {
    for command in [
        r#"php -r '$pdo->exec("DROP TABLE users");'"#,
        "php <<'E'\n<?php (new PDO('x'))->exec('DROP TABLE users');\nE",
        r#"php -r '$p->query("DELETE FROM t");'"#,
        r#"php -r 'mysqli_query($c, "DROP TABLE t");'"#,
        r#"perl -MDBI -e 'DBI->connect("x")->do("DROP TABLE t")'"#,
    ] {
        let analysis = analysed(command);
        assert!(analysis.traits.contains(&Trait::DestroysData), "{command}");
        assert_eq!(analysis.programs.len(), 1, "{command}: {:?}", analysis.programs);
    }
}
