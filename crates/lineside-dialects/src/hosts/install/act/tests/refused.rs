//! Where a program would not read an entry: a file that it rejects, and a folder that a variable leads it away from.

use super::*;
use crate::hosts::install::{Passed, passed};

#[test]
fn a_file_that_its_program_rejects_gets_no_entry_and_is_left_alone() {
    let stage = Stage::new();
    let text = "{\n  \"model\": \"x\", // mine\n}";
    let file = stage.file("home/.claude/settings.json", text);
    let said = stage.refused(Host::Claude, Level::User);
    assert!(said.contains("line 2: ") && said.contains("Claude Code rejects such a file"), "{said}");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), stage.records()), (text, 0));
    // Gemini CLI passes over comments.
    stage.file("home/.gemini/settings.json", "{ // mine\n}");
    stage.install(Host::Gemini, Level::User, "lineside").unwrap();
}

#[test]
fn an_entry_goes_where_a_variable_leads_the_program_and_one_elsewhere_is_named() {
    for (host, variable, usual, led) in [
        (Host::Claude, "CLAUDE_CONFIG_DIR", ".claude/settings.json", "settings.json"),
        (Host::Codex, "CODEX_HOME", ".codex/hooks.json", "hooks.json"),
        (Host::Copilot, "COPILOT_HOME", ".copilot/hooks/lineside.json", "hooks/lineside.json"),
        (Host::Gemini, "GEMINI_CLI_HOME", ".gemini/settings.json", ".gemini/settings.json"),
        (Host::Kimi, "KIMI_SHARE_DIR", ".kimi/config.toml", "config.toml"),
        (Host::Qwen, "QWEN_HOME", ".qwen/settings.json", "settings.json"),
    ] {
        let stage = Stage::new();
        fs::create_dir(stage.path("home/.kimi")).unwrap();
        stage.install(host, Level::User, "lineside").unwrap();
        let mut places = stage.places();
        let lead = |places: &mut Places, to: &str| {
            places.environment.insert(variable.to_owned(), to.to_owned());
        };
        assert_eq!(passed(host, &places), [], "{host}");
        lead(&mut places, stage.path("elsewhere").to_str().unwrap());
        let (file, reads) = (stage.path("home").join(usual), stage.path("elsewhere").join(led));
        let found = passed(host, &places);
        assert_eq!(found, [Passed { file, variable, reads: reads.clone() }], "{host}");
        let program = Program::new("lineside").unwrap();
        let acts = install(host, Level::User, &places, &stage.state(), &program, &[]).unwrap();
        acts.iter().for_each(|act| act.perform(&stage.state()).unwrap());
        assert!(reads.exists(), "{host}");
        assert_eq!(passed(host, &places), [], "{host}");
        lead(&mut places, "elsewhere");
        let refused = install(host, Level::User, &places, &stage.state(), &program, &[]).unwrap_err();
        assert!(chain(&refused).contains(variable), "{host}: {refused}");
    }
}
