//! `lineside demo PROGRAM`: each recorded session plays through real calls of the hook command and a real daemon.

use crate::stage::Stage;

const PROGRAMS: [&str; 8] =
    ["claude-code", "codex", "copilot", "gemini-cli", "kimi-cli", "kimi-code", "opencode", "qwen-code"];

#[test]
fn each_recorded_session_plays_and_what_its_policies_refuse_is_refused() {
    for program in PROGRAMS {
        let said = Stage::new().run(&["demo", program], "");
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{program}");
        let of_removals = |line: &&str| line.contains(": mv ./");
        let refused = |line: &&str| line.starts_with('✗') && line.contains("precious stays");
        let removals = said.out.lines().filter(of_removals).filter(refused).count();
        assert!(removals >= 2, "the main agent and its helper, in {program}: {}", said.out);
        let is_changed = |line: &str| line.starts_with(['~', '+', '?']);
        assert!(!said.out.lines().filter(of_removals).any(is_changed), "{program}: {}", said.out);
        assert!(said.out.contains("demo  ") && said.out.contains(" refused, "), "{program}: {}", said.out);
    }
}

#[test]
fn a_recording_that_there_is_not_is_named_with_those_that_there_are() {
    let said = Stage::new().run(&["demo", "emacs"], "");
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("there is no recording of `emacs`") && said.err.contains("claude-code"),
        "{}",
        said.err
    );
}
