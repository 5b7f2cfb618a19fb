//! What is done with each kind of snippet.

use std::fs;
use std::path::Path;
use std::process::Output;

use lineside::json::{Value, json};

use crate::ground::Ground;
use crate::root;
use crate::snippet::Snippet;

impl Snippet {
    /// The path of the file that it is, if it is one.
    pub(crate) fn file(&self) -> Option<&str> {
        self.comment.strip_prefix("file ")
    }
}

/// Runs a snippet that stands after others on the ground of its page.
pub(crate) fn run(snippet: &Snippet, before: &[Snippet], ground: &Ground) -> Result<(), String> {
    let Snippet { page, language, comment, text, .. } = snippet;
    if let Some(path) = snippet.file() {
        return loads(ground, path);
    }
    if let Some(command) = comment.strip_prefix("output of ") {
        return prints(ground, command, text);
    }
    if let Some(name) = comment.strip_prefix("test ") {
        return exists(name);
    }
    match (language.as_str(), comment.as_str()) {
        ("rust" | "rust,no_run", "") => is_doctest(page),
        ("sh", "") => ends_well(&ground.sh(text), &[0], text),
        ("sh", "exits 0 or 1") => {
            text.lines().try_for_each(|line| ends_well(&ground.sh(line), &[0, 1], line))
        }
        ("json", "event") => publish(ground, text).map(|_| ()),
        ("json", "decision") => {
            let event = before.iter().rev().find(|other| other.comment == "event");
            decides(ground, &event.ok_or("no event stands before it")?.text, text)
        }
        ("yaml", "cases") => {
            ground.write("project/page.cases.yaml", text);
            ends_well(&ground.sh("lineside test page.cases.yaml"), &[0], text)
        }
        ("json", "answer") => answers(ground, text),
        ("typescript", "") => is_run_by_node(page),
        ("python" | "javascript", "") => works(ground, language, text),
        ("json", "receipt") => {
            let receipt: Value = lineside::json::from_str(text).map_err(|error| error.to_string())?;
            let keys = ["id", "session", "seq", "point", "verdict", "hooks", "changes", "payload_sha256"];
            let absent = keys.iter().find(|key| receipt[**key].is_null());
            absent.map_or(Ok(()), |key| Err(format!("a receipt has the key `{key}`")))
        }
        ("yaml", "front matter") => {
            let hook = "front/.agents/hooks/page";
            ground.write(&format!("{hook}/scripts/run.sh"), "#!/bin/sh\n");
            let text = format!("---\nname: page\ndescription: d\ntrigger: before_tool\n{text}---\n");
            ground.write(&format!("{hook}/HOOK.md"), &text);
            ends_well(&ground.sh_in("front", "lineside check --untrusted --project ."), &[0], &text)
        }
        ("toml", "manifest") => is_manifest(page, text),
        ("text" | "tree" | "edges" | "layers" | "circles" | "remainder", "picture") => Ok(()),
        ("sh", "chore") => is_chore(text),
        (language, comment) => {
            Err(format!("nothing says how `{language}` with the comment {comment:?} is run"))
        }
    }
}

/// Whether each line runs a chore of the repository that there is.
fn is_chore(text: &str) -> Result<(), String> {
    let chores = root().join("crates/xtask/src");
    text.lines().try_for_each(|line| {
        let name = line.strip_prefix("cargo xtask ").and_then(|rest| rest.split(' ').next());
        let is_there = name.is_some_and(|name| chores.join(name).with_extension("rs").is_file());
        if is_there { Ok(()) } else { Err(format!("`{line}` runs no chore that there is")) }
    })
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn ends_well(output: &Output, codes: &[i32], what: &str) -> Result<(), String> {
    if output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Ok(());
    }
    Err(format!("{what}ended with {}:\n{}", output.status, said(output)))
}

/// Whether the project of the page loads, and the file is seen.
fn loads(ground: &Ground, path: &str) -> Result<(), String> {
    let output = ground.sh("lineside check --untrusted --project .");
    ends_well(&output, &[0], &format!("with {path}, lineside check "))
}

/// Whether the doctests of `lineside` have the page.
fn is_doctest(page: &str) -> Result<(), String> {
    let source = root().join("crates/lineside/src");
    // A link within the crate, so that the page is packed with it.
    let link = format!("guide/{}", page.trim_start_matches("docs/"));
    let leads = |link: &str| source.join(link).canonicalize().is_ok_and(|to| to == root().join(page));
    let includes = |file: &str, path: &str| {
        fs::read_to_string(source.join(file)).unwrap().contains(&format!("include_str!(\"{path}\")"))
    };
    let included =
        includes("guide.rs", &link) && leads(&link) || includes("lib.rs", &format!("../../../{page}"));
    included.then_some(()).ok_or_else(|| "the page is no doctest of the crate `lineside`".to_owned())
}

/// Whether the tests of the package for Node run the programs of the page.
fn is_run_by_node(page: &str) -> Result<(), String> {
    let tests = fs::read_to_string(root().join("crates/lineside-node/tests/pages.ts")).unwrap();
    let name = page.strip_prefix("docs/").unwrap_or(page);
    tests
        .contains(&format!("'{name}'"))
        .then_some(())
        .ok_or_else(|| "no test of Node has the page".to_owned())
}

/// Whether a test of that name exists.
fn exists(name: &str) -> Result<(), String> {
    fn look(folder: &Path, name: &str) -> bool {
        fs::read_dir(folder).unwrap().flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return look(&path, name);
            }
            let word = match path.extension().and_then(|extension| extension.to_str()) {
                Some("rs") => "fn",
                Some("py") => "def",
                _ => return false,
            };
            fs::read_to_string(&path).is_ok_and(|text| text.contains(&format!("{word} {name}(")))
        })
    }
    let found = ["crates", "tests"].iter().any(|folder| look(&root().join(folder), name));
    found.then_some(()).ok_or_else(|| format!("there is no test `{name}`"))
}

/// A line without what is different each time: times, ids, digests, and the blanks around them.
fn timeless(line: &str) -> String {
    let different = r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|\d+(\.\d+)? (ms|s)\b|^ *\d+\.\d{3}\b|\b[0-9a-f]{12}…|\s+";
    regex::Regex::new(different).unwrap().replace_all(line.trim_end(), " ").trim().to_owned()
}

/// Whether a command prints these lines, one after another; `…` stands for lines that are left out, as they are before
/// the first one and after the last one, and the end of a line may be.
fn prints(ground: &Ground, command: &str, text: &str) -> Result<(), String> {
    let output = ground.sh(command);
    let all = said(&output);
    let mut printed = all.lines().map(timeless).filter(|line| !line.is_empty());
    let mut may_skip = true;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("$ ")) {
        if line == "…" {
            may_skip = true;
            continue;
        }
        let wanted = timeless(line);
        let is_there = if std::mem::take(&mut may_skip) {
            printed.any(|printed| printed.starts_with(&wanted))
        } else {
            printed.next().is_some_and(|printed| printed.starts_with(&wanted))
        };
        if !is_there {
            return Err(format!("`{command}` does not print, at this place: {line}\nbut:\n{all}"));
        }
    }
    Ok(())
}

/// Publishes an event to the hooks of the examples. Gives the decision.
fn publish(ground: &Ground, event: &str) -> Result<Value, String> {
    let event: Value = lineside::json::from_str(event).map_err(|error| error.to_string())?;
    ground.write("project/one.jsonl", &format!("{event}\n"));
    let output = ground.sh("lineside run --json --project examples/hooks one.jsonl");
    ends_well(&output, &[0], &format!("{event} "))?;
    let warned = String::from_utf8_lossy(&output.stderr).contains("unknown key");
    if warned { Err(said(&output)) } else { Ok(lineside::json::from_slice(&output.stdout).unwrap()) }
}

/// Whether an event gets this decision, with another id and number.
fn decides(ground: &Ground, event: &str, expected: &str) -> Result<(), String> {
    let mut expected: Value = lineside::json::from_str(expected).map_err(|error| error.to_string())?;
    let mut decision = publish(ground, event)?;
    for decision in [&mut expected, &mut decision] {
        let fields = decision.as_object_mut().unwrap();
        for different in ["id", "seq"] {
            if fields.remove(different).is_none() {
                return Err(format!("a decision has the key `{different}`"));
            }
        }
    }
    if expected == decision {
        Ok(())
    } else {
        Err(format!("the decision is\n{decision}\nand not\n{expected}"))
    }
}

/// Whether a hook of lineside's own may answer so.
fn answers(ground: &Ground, answer: &str) -> Result<(), String> {
    let expected: Value = lineside::json::from_str(answer).map_err(|error| error.to_string())?;
    ground.write("own/answer.json", answer);
    ground.write(
        "own/.lineside/hooks.yaml",
        "hooks:\n  - {name: own, on: before_tool, amends: true, command: [sh, -c, \"cat > /dev/null; cat answer.json\"]}\n",
    );
    ground.write(
        "own/one.jsonl",
        "{\"point\": \"before_tool\", \"payload\": {\"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"x\"}}}\n",
    );
    let output = ground.sh_in("own", "lineside run --receipts --project . one.jsonl");
    ends_well(&output, &[0], answer)?;
    let decision: Value = lineside::json::from_slice(&output.stdout).unwrap();
    let hook = &decision["hooks"][0];
    if decision["verdict"] != expected["verdict"] || !hook["failed"].is_null() || !hook["remarks"].is_null() {
        return Err(format!("it is not taken as it stands: {decision}"));
    }
    Ok(())
}

/// Whether a script with its kit beside it is a worker that refuses what it is to refuse and nothing else.
fn works(ground: &Ground, language: &str, text: &str) -> Result<(), String> {
    let (name, kit, program) = match language {
        "python" => ("guard.py", "python > scripts/lineside_hook.py", "python3"),
        _ => ("guard.mjs", "node > scripts/lineside-hook.mjs", "node"),
    };
    let folder = format!("{language}/.agents/hooks/no-deletions");
    ground.write(&format!("{folder}/scripts/{name}"), text);
    let start = format!("#!/bin/sh\nexec {program} \"$(dirname \"$0\")/{name}\"\n");
    ground.write(&format!("{folder}/scripts/run"), &start);
    let hook = "---\nname: no-deletions\ndescription: d\ntrigger: before_tool\nmode: worker\non_failure: block\n---\n";
    ground.write(&format!("{folder}/HOOK.md"), hook);
    ends_well(&ground.sh_in(&folder, &format!("lineside kit {kit}")), &[0], "lineside kit ")?;
    let event = |tool: &str, input: Value| {
        json!({"point": "before_tool", "payload": {"tool_name": tool, "tool_input": input}}).to_string()
            + "\n"
    };
    let events = [
        event("Shell", json!({"command": "rm -rf / now"})),
        event("Shell", json!({"command": "ls"})),
        event("ReadFile", json!({"path": "a"})),
    ];
    ground.write(&format!("{language}/events.jsonl"), &events.concat());
    let output = ground.sh_in(language, "lineside run --json --project . events.jsonl");
    ends_well(&output, &[0], name)?;
    let decisions = String::from_utf8_lossy(&output.stdout).into_owned();
    let verdict = |line| lineside::json::from_str::<Value>(line).unwrap()["verdict"].clone();
    let verdicts: Vec<Value> = decisions.lines().map(verdict).collect();
    if verdicts != ["block", "continue", "continue"] {
        return Err(format!("it answers {verdicts:?}:\n{}", said(&output)));
    }
    Ok(())
}

/// Whether these lines are a table with dependencies, whose paths from beside the clone exist, with the features that
/// the programs of the page need.
fn is_manifest(page: &str, text: &str) -> Result<(), String> {
    let programs = fs::read_to_string(root().join(page)).unwrap();
    if programs.contains("#[tokio::main]\n") && !text.contains("\"rt-multi-thread\"") {
        return Err("a program of the page needs the feature `rt-multi-thread` of tokio".to_owned());
    }
    let mut lines = text.lines();
    if lines.next() != Some("[dependencies]") {
        return Err("a manifest names dependencies".to_owned());
    }
    for path in lines.filter_map(|line| line.split("path = \"../lineside/").nth(1)?.split('"').next()) {
        if !root().join(path).join("Cargo.toml").exists() {
            return Err(format!("there is no crate in {path}"));
        }
    }
    Ok(())
}
