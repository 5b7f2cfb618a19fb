//! Which events a filter lets through.

use lineside_core::AnyEvent;
use lineside_core::envelope::Model;
use lineside_core::hook::{Select as _, Selected};
use lineside_core::json::json;

use super::{Conditions, Filter};
use crate::jcli::{events, samples};

fn runs(names: &[&str], conditions: &Conditions, event: &AnyEvent) -> bool {
    let events: Vec<_> = names.iter().map(|name| events::find(name).unwrap()).collect();
    match Filter::new(&events, conditions) {
        None => true,
        Some(filter) => filter.select(event) == Selected::Runs,
    }
}

fn tool(name: &str) -> AnyEvent {
    samples::event("before_tool", json!({"tool_name": name, "tool_input": {}}))
}

#[test]
fn tools_are_compared_by_their_whole_name() {
    // JC-12
    let name = Conditions::new(Some("Bash"), None, None);
    let either = |names| Conditions::new(None, Some(names), None);
    let both = Conditions::new(Some("Bash"), Some("Write"), None);
    for (conditions, called, expected) in [
        (&name, "Bash", true),
        (&name, "bash", false),
        (&name, "BashOutput", false),
        (&either("Bash | Shell"), "Shell", true),
        (&either("Bash|Shell"), "Bash", true),
        (&either("Bash|Shell"), "Write", false),
        (&either("Ba.*"), "Bash", false),
        (&both, "Write", false),
        (&both, "Bash", true),
    ] {
        let got = runs(&["pre_tool_execution"], conditions, &tool(called));
        assert_eq!(got, expected, "{conditions:?} {called}");
    }
    let stop = samples::event("before_stop", json!({"stop_active": false}));
    assert!(!runs(&["stop"], &name, &stop));
    assert!(!runs(&["stop"], &either("Bash"), &stop));
}

#[test]
fn a_prefix_is_that_of_the_model_that_is_known() {
    // JC-12
    let gpt = Conditions::new(None, None, Some("gpt-4"));
    let request = |model: &str| samples::event("before_model", json!({"model": model}));
    assert!(runs(&["pre_llm_request"], &gpt, &request("gpt-4o")));
    assert!(!runs(&["pre_llm_request"], &gpt, &request("GPT-4o")));
    let with = |selected: Option<&str>, running: Option<&str>| {
        samples::of_source(&tool("Bash"), |source| {
            let (selected, running) = (selected.map(Into::into), running.map(Into::into));
            source.model = Some(Model { selected, running });
        })
    };
    let at_tool = |event: &AnyEvent| runs(&["pre_tool_execution"], &gpt, event);
    assert!(at_tool(&with(Some("claude"), Some("gpt-4o"))));
    assert!(!at_tool(&with(Some("gpt-4o"), Some("claude"))));
    assert!(at_tool(&with(Some("gpt-4o"), None)));
    assert!(!at_tool(&tool("Bash")));
    let own = samples::of_source(&request("gpt-4o"), |source| {
        source.model = Some(Model { selected: None, running: Some("claude".into()) });
    });
    assert!(runs(&["pre_llm_request"], &gpt, &own));
    // A point whose payload has no model in the catalogue.
    let stop = samples::event("before_stop", json!({"stop_active": false, "model": "gpt-4o"}));
    assert!(runs(&["stop"], &gpt, &stop));
    let claude = Conditions::new(Some("Bash"), None, Some("gpt"));
    assert!(!runs(&["pre_tool_execution"], &claude, &with(None, Some("claude"))));
    let any = Conditions::new(None, None, Some(""));
    assert!(!runs(&["pre_tool_execution"], &any, &tool("Bash")), "no model is known");
}

#[test]
fn a_compaction_reaches_the_hooks_of_its_kind() {
    // JC-14
    let none = Conditions::default();
    let event = |kind: &str| samples::event("before_compact", json!({"kind": kind}));
    for (names, micro, auto) in [
        (vec!["pre_micro_compact"], true, false),
        (vec!["pre_auto_compact"], false, true),
        (vec!["pre_micro_compact", "pre_auto_compact"], true, true),
    ] {
        assert_eq!(runs(&names, &none, &event("micro")), micro, "{names:?}");
        assert_eq!(runs(&names, &none, &event("auto")), auto, "{names:?}");
        assert_eq!(runs(&names, &none, &event("manual")), auto, "{names:?}");
        assert!(!runs(&names, &none, &event("other")), "{names:?}");
    }
}

#[test]
fn a_condition_is_shown_to_people() {
    // JC-12
    let shown = |name: &str, conditions| {
        Filter::new(&[events::find(name).unwrap()], &conditions).map(|filter| filter.describe())
    };
    assert_eq!(shown("stop", Conditions::default()), None);
    assert_eq!(
        shown("pre_tool_execution", Conditions::new(None, Some("a|b"), Some("gpt"))).as_deref(),
        Some("tool_matcher=a|b, model_prefix=gpt")
    );
    assert_eq!(shown("pre_auto_compact", Conditions::default()).as_deref(), Some("kind=auto|manual"));
}
