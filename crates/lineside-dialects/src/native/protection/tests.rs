//! Calls that change what is protected, and calls that only look at it.

use std::fs;

use lineside_core::envelope::Source;
use lineside_core::hook::Selected;
use lineside_core::json::{Value, json};
use lineside_core::{AnyEvent, Layer, Verdict};
use tempfile::TempDir;

use super::*;
use crate::handler::{Call, Returned};
use crate::samples;

/// A home with a link in it, and the hook for its settings and for a file of a project.
struct Room {
    root: TempDir,
    hook: ForeignHook,
}

impl Room {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(at("home/.config/lineside")).unwrap();
        fs::create_dir_all(at("dots/claude")).unwrap();
        fs::create_dir_all(at("project [1]/.lineside")).unwrap();
        std::os::unix::fs::symlink(at("dots/claude"), at("home/.claude")).unwrap();
        fs::write(at("home/.config/lineside/hooks.yaml"), "wrappers: [run-as-me]\n").unwrap();
        let home = at("home").to_str().unwrap().to_owned();
        let places = Places {
            environment: [("HOME".to_owned(), home)].into(),
            project_root: None,
            cwd: "/".into(),
            trust: Trust::Withheld,
        };
        let paths =
            ["home/.config/lineside", "home/.claude/settings.json", "project [1]/.lineside/hooks.yaml"];
        let hooks = protection(&places, &paths.map(at).into(), Layer::User, None);
        assert_eq!(hooks.len(), 1);
        let hook = hooks.into_iter().next().unwrap();
        Self { root, hook }
    }

    /// The reason for which a call is refused, if it is.
    fn refused(&self, tool: &str, input: &Value) -> Option<String> {
        let root = self.root.path().canonicalize().unwrap();
        let root = root.to_str().unwrap();
        let input = input.to_string().replace("ROOT", root);
        let input: Value = lineside_core::json::from_str(&input).unwrap();
        let payload = json!({"tool_name": tool, "tool_input": input});
        let cwd = Some(format!("{root}/project [1]").into());
        let event = samples::event("before_tool", payload, Source { cwd, ..Source::root("s") });
        self.reason(&event).map(|reason| reason.replace(root, "ROOT"))
    }

    fn reason(&self, event: &AnyEvent) -> Option<String> {
        match self.hook.hook.select.as_ref().unwrap().select(event) {
            Selected::Skipped(_) => None,
            _ => {
                assert!(matches!(self.hook.handler.prepare(event), Ok(Call::Nothing)));
                let answer = self.hook.handler.read(event, &Returned::Nothing).unwrap();
                let Verdict::Block(reason) = answer.verdict else { panic!("{:?}", answer.verdict) };
                Some(reason.to_string())
            }
        }
    }
}

#[test]
fn what_changes_a_file_of_the_policy_is_refused_with_what_to_do_instead() {
    let room = Room::new();
    let shell = [
        "echo x > ~/.config/lineside/config.yaml",
        "rm .lineside/hooks.yaml",
        "rm -rf .lineside",
        "rm -rf ~",
        "rm -rf ~/.config/*",
        "mv ~/.config/lineside /tmp/elsewhere",
        "sed -i s/block/allow/ .lineside/hooks.yaml",
        "cp /tmp/x ~/.claude/settings.json",
        "tee ROOT/dots/claude/settings.json < /dev/null",
        "cd ~/.config && sudo sh -c 'truncate -s 0 lineside/hooks.yaml'",
        "run-as-me rm ~/.config/lineside/hooks.yaml",
        "ln -sf /dev/null ~/.config/lineside/hooks.yaml",
    ];
    for command in shell {
        let reason =
            room.refused("Bash", &json!({"command": command})).unwrap_or_else(|| panic!("{command}"));
        assert!(
            reason.contains("no agent changes it") && reason.contains("git diff > change.patch"),
            "{reason}"
        );
    }
    let patch =
        "*** Begin Patch\n*** Update File: src/a.rs\n*** Delete File: .lineside/hooks.yaml\n*** End Patch";
    for (tool, input) in [
        ("Write", json!({"file_path": "ROOT/home/.claude/settings.json", "content": "{}"})),
        ("Edit", json!({"file_path": ".lineside/hooks.yaml", "old_string": "a", "new_string": "b"})),
        ("MultiEdit", json!({"file_path": "../home/.config/lineside/x", "edits": []})),
        ("apply_patch", json!({"input": patch})),
        ("write_file", json!({"path": "ROOT/dots/claude/settings.json", "content": ""})),
    ] {
        let reason = room.refused(tool, &input).unwrap_or_else(|| panic!("{tool} {input}"));
        assert!(reason.starts_with("ROOT/"), "{reason}");
    }
}

#[test]
fn one_more_name_for_a_file_of_the_policy_is_refused_and_so_is_what_writes_by_one() {
    let room = Room::new();
    for command in [
        "ln ~/.config/lineside/hooks.yaml hl",
        "cd ~/.config/lineside && ln hooks.yaml",
        "ln -t /tmp ~/.config/lineside/hooks.yaml",
        "ln -fP ~/.config/lineside/hooks.yaml /tmp/hl",
        "gln ~/.config/lineside/hooks.yaml hl",
        "link ~/.config/lineside/hooks.yaml hl",
        "cp -l ~/.config/lineside/hooks.yaml hl",
        "cp -al ~/.config/lineside hl",
        "cp -al ~/.config hl",
        "cp --link -t . ~/.config/lineside/hooks.yaml",
        "sudo busybox ln ~/.config/lineside/hooks.yaml hl",
        "find ~/.config/lineside -name hooks.yaml -exec ln {} hl ';'",
        "echo ~/.config/lineside/hooks.yaml | xargs -I{} ln {} hl",
        "echo ~/.config/lineside/hooks.yaml | cpio -pdl /tmp/copy",
        "find ~/.config/lineside | cpio -pl /tmp/copy",
        "cd ~ && find .config -depth -print0 | cpio -0 --pass-through --link /tmp/copy",
        "find ~/.config/lineside | pax -rwl /tmp/copy",
        "find ~ -name settings.json | cpio -pdl /tmp/copy",
        "find ~ -name settings.json -exec ln {} hl ';'",
        "find ~ -name 'lines*' -exec cp -al {} /tmp/copy ';'",
        "find . -name hooks.yaml -delete",
        "rsync -a --link-dest=$HOME/.config/lineside /tmp/a/ /tmp/b/",
        "python3 -c 'import os; os.link(os.path.expanduser(\"~/.config/lineside/hooks.yaml\"), \"hl\")'",
        "cd ~/.config/lineside; python3 -c 'from pathlib import Path; Path(\"/tmp/hl\").hardlink_to(\"hooks.yaml\")'",
        "cd ~/.config/lineside; node -e 'require(\"fs\").linkSync(\"hooks.yaml\", \"/tmp/hl\")'",
        "cd ~/.config/lineside; perl -e 'link \"hooks.yaml\", \"/tmp/hl\"'",
        "cd ~/.config/lineside; ruby -e 'File.link(\"hooks.yaml\", \"/tmp/hl\")'",
    ] {
        assert!(room.refused("Bash", &json!({"command": command})).is_some(), "{command}");
    }
    // One that was there before, made by what is not seen here.
    let root = room.root.path().canonicalize().unwrap();
    let (policy, project) = (root.join("home/.config/lineside/hooks.yaml"), root.join("project [1]"));
    fs::hard_link(&policy, project.join("hl")).unwrap();
    fs::write(root.join("dots/other"), "").unwrap();
    fs::hard_link(root.join("dots/other"), project.join("beside")).unwrap();
    std::os::unix::fs::symlink("hl", project.join("to-hl")).unwrap();
    for command in
        ["printf x > hl", "truncate -s 0 hl", "sed -i d hl", "cp /dev/null to-hl", "tee hl < /dev/null"]
    {
        let reason = room.refused("Bash", &json!({"command": command}));
        assert!(reason.is_some_and(|reason| reason.starts_with("ROOT/project [1]/")), "{command}");
    }
    for name in ["hl", "to-hl", "ROOT/project [1]/hl"] {
        let input = json!({"file_path": name, "content": ""});
        assert!(room.refused("Write", &input).is_some(), "{name}");
    }
    assert_eq!(room.refused("Write", &json!({"file_path": "beside", "content": ""})), None);
    for command in [
        "cat hl",
        "rm hl",
        "echo x > beside",
        "ln src/a b",
        "find src | cpio -pl /tmp/copy",
        "find . -name other.yaml | cpio -pl /tmp/copy",
        "find ~ -name '*.pyc' -delete",
        "ln -s ~/.config/lineside/hooks.yaml s",
        "cp -l a b",
    ] {
        assert_eq!(room.refused("Bash", &json!({"command": command})), None, "{command}");
    }
}

#[test]
fn what_only_looks_at_it_or_lies_beside_it_passes() {
    let room = Room::new();
    for command in [
        "cat ~/.config/lineside/hooks.yaml",
        "cp .lineside/hooks.yaml /tmp/copy.yaml",
        "git diff .lineside",
        "echo x > ~/.config/other/hooks.yaml",
        "mkdir -p ~/.config/other",
        "rm -rf target src",
        "echo x > ~/.claude/notes.md",
        "echo 'rm .lineside/hooks.yaml'",
        "git checkout main",
        "git stash",
        "cargo fmt",
        "npm install",
        "$UNKNOWN x",
    ] {
        assert_eq!(room.refused("Bash", &json!({"command": command})), None, "{command}");
    }
    for (tool, input) in [
        ("Read", json!({"file_path": ".lineside/hooks.yaml"})),
        ("Write", json!({"file_path": "ROOT/project [1]/src/hooks.yaml", "content": ""})),
        ("Write", json!({"file_path": "ROOT/home/.config/linesid", "content": ""})),
    ] {
        assert_eq!(room.refused(tool, &input), None, "{tool} {input}");
    }
}
