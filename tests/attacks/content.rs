//! What belongs to the content of a project: a script that is not named by a hook, and is loaded by one that is.

use std::fs;

use crate::ground::{Ground, answer};
use crate::projects::{reload, trust};

#[test]
fn t03_a_file_that_comes_to_lie_beside_a_trusted_script_is_not_used_by_it() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path("one/.git")).unwrap();
    let hook = "hooks:\n  - {name: guard, on: before_tool, command: [python3, .lineside/scripts/guard.py], timeout: 10000}\n";
    ground.file("one/.lineside/hooks.yaml", hook);
    ground.file("one/.lineside/scripts/words.py", "REFUSED = 'forbidden'\n");
    let guard =
        "import json, sys, words\ntext = sys.stdin.read()\nsys.exit(2 if words.REFUSED in text else 0)\n";
    ground.file("one/.lineside/scripts/guard.py", guard);
    trust(&ground, "one");
    let _daemon = ground.background();
    let ran = ground.path("one/ran");
    for added in ["json.py", "deeper/json.py"] {
        // Python leaves nothing beside its modules that was not looked at.
        assert!(ground.ask("s", "one", "ls").lets_pass());
        assert!(!ground.ask("s", "one", "forbidden").lets_pass());
        let added = format!("one/.lineside/scripts/{added}");
        ground.file(&added, &format!("open({:?}, 'w')\n", ran.display().to_string()));
        let answer = ground.ask("s", "one", "ls");
        assert!(!answer.lets_pass() && !ran.exists(), "{added}: {answer:?}");
        fs::remove_file(ground.path(&added)).unwrap();
        reload(&ground);
    }
}

#[test]
fn t02_what_a_guard_loads_by_itself_is_trusted_with_it_where_its_file_names_it() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path("one/.git")).unwrap();
    let hook = "trusts: lib/**/*.py\nhooks:\n  - {name: guard, on: before_tool, command: [python3, guard.py], timeout: 10000}\n";
    ground.file("one/.lineside/hooks.yaml", hook);
    ground.file("one/lib/deep/words.py", "REFUSED = 'forbidden'\n");
    // From beside itself, which is beside its copy.
    let guard = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib', 'deep'))\n\
        import words\nsys.exit(2 if words.REFUSED in sys.stdin.read() else 0)\n";
    ground.file("one/guard.py", guard);
    let shown =
        answer(ground.command(&["trust", "--show"]).current_dir(ground.path("one")).spawn().unwrap()).out;
    assert!(shown.contains("lib/deep/words.py (file)\n  REFUSED = 'forbidden'"), "{shown}");
    trust(&ground, "one");
    let _daemon = ground.background();
    let ran = ground.path("one/ran");
    let evil = format!("open({:?}, 'w')\nREFUSED = 'none'\n", ran.display().to_string());
    for file in ["one/lib/deep/words.py", "one/lib/deep/os.py", "one/lib/more/new.py"] {
        assert!(ground.ask("s", "one", "ls").lets_pass());
        assert!(!ground.ask("s", "one", "forbidden").lets_pass());
        let before = fs::read(ground.path(file)).ok();
        ground.file(file, &evil);
        let answer = ground.ask("s", "one", "ls");
        assert!(!answer.lets_pass() && !ran.exists(), "{file}: {answer:?}");
        match before {
            Some(before) => fs::write(ground.path(file), before).unwrap(),
            None => fs::remove_file(ground.path(file)).unwrap(),
        }
        reload(&ground);
    }
    ground.file("one/lib/notes.md", "");
    assert!(ground.ask("s", "one", "ls").lets_pass(), "no glob fits it");
    ground.file("one/.lineside/hooks.yaml", &hook.replace("lib/**/*.py", "[]"));
    reload(&ground);
    assert!(!ground.ask("s", "one", "ls").lets_pass(), "what is trusted is content too");
}
