//! Every snippet of every page is run, in the language that it is in.
//!
//! How, is said by its language, or by a comment in the line before it (`<!-- snippet: … -->`):
//!
//! | snippet | comment | what is done with it |
//! |---|---|---|
//! | `rust`, `rust,no_run` | | it is a doctest: the page is included by the crate `lineside`; this is checked, the doctests run elsewhere |
//! | `sh` | | its commands run in a project, and end well |
//! | `sh` | `exits 0 or 1` | the same, each command by itself, which may also say that there is no such thing |
//! | any | `file PATH` | it is a file of the project, which loads without an error; a script is run by what names it |
//! | `json` | `event` | it is published, and is an event |
//! | `json` | `decision` | it is the decision about the event before it |
//! | `json` | `cases` | it is a case file, and its cases pass |
//! | `json` | `answer` | a hook of lineside's own answers with it, and nothing of it is refused |
//! | `json` | `receipt` | it is JSON with the keys of a receipt |
//! | `python`, `javascript` | | with its kit it is a worker, which refuses `rm -rf /` and nothing else |
//! | `typescript` | | it is a program that the tests of `lineside-node` run; that they have the page is checked |
//! | `yaml` | `front matter` | it stands in the front matter of a hook, which loads without an error |
//! | `toml` | `manifest` | it is TOML that a manifest can hold |
//! | `text` | `output of COMMAND` | the command prints these lines one after another, with other times; `…` is what is left out |
//! | any | `test NAME` | a test of that name runs it, which has to exist |
//! | `text`, `tree`, `edges`, `layers`, `circles`, `remainder` | `picture` | it is drawn for people; there is nothing that could be run |
//! | `sh` | `chore` | each line is a chore of the repository that there is; it is not run |
//!
//! Anything else fails: nothing is passed over. `cargo` is a stand-in: it runs the command in the place of
//! `cargo run -- …`, and looks whether what else it is asked for exists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ground;
mod snippet;
mod treatment;

use std::fs;
use std::path::{Path, PathBuf};

use ground::Ground;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages, by their paths from the root.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_snippet_of_every_page_is_run() {
    let mut failures = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let snippets = snippet::of(&page, &text);
        if snippets.is_empty() {
            continue;
        }
        let ground = Ground::of(&snippets);
        for (index, snippet) in snippets.iter().enumerate() {
            count += 1;
            if let Err(why) = treatment::run(snippet, &snippets[..index], &ground) {
                failures.push(format!("{}:{}: {why}", snippet.page, snippet.line));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} snippets:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 50, "there are more than {count}");
}

#[test]
fn a_snippet_that_nobody_says_how_to_run_fails() {
    let check = |text: &str, expected: &str| {
        let snippets = snippet::of("README.md", text);
        let ground = Ground::of(&snippets);
        let result = treatment::run(snippets.last().unwrap(), &snippets[..snippets.len() - 1], &ground);
        match (result, expected) {
            (Ok(()), "") => {}
            (Err(why), expected) if !expected.is_empty() && why.contains(expected) => {}
            (result, _) => panic!("{text}: {result:?} instead of {expected:?}"),
        }
    };
    check("```cobol\nx\n```\n", "says how");
    check("```text\nx\n```\n", "says how");
    check("<!-- snippet: picture -->\n```text\nx\n```\n", "");
    check("```sh\nlineside lst\n```\n", "lineside lst");
    check("<!-- snippet: chore -->\n```sh\ncargo xtask tidy   # rules\n```\n", "");
    check("<!-- snippet: chore -->\n```sh\ncargo xtask tidies\n```\n", "tidies");
    check("```sh\nlineside list --project .   # what is found\n```\n", "");
    check("```sh\ncargo run --example nothing_like_it\n```\n", "nothing_like_it");
    check("<!-- snippet: event -->\n```json\n{\"point\": \"on_idel\"}\n```\n", "on_idel");
    check("<!-- snippet: file .agents/hooks/a/HOOK.md -->\n```markdown\n---\nname: a\n---\n```\n", "HOOK.md");
    check(
        "<!-- snippet: output of lineside list --project . -->\n```text\nno hook here\n```\n",
        "no hook here",
    );
    check("<!-- snippet: test no_such_test_anywhere_at_all -->\n```text\nx\n```\n", "no test");
}
