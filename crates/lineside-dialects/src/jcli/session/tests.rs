//! Hooks of a host.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lineside_core::hook::Standby;
use lineside_core::{Layer, OnFailure, Part};

use super::{Ask, RegisterSessionHookError, SessionHook, session_hook};
use crate::dialect::{Dialect as _, Places, Trust};

fn places() -> Places {
    Places {
        environment: BTreeMap::new(),
        project_root: None,
        cwd: "/nowhere".into(),
        trust: Trust::Withheld,
    }
}

fn command() -> SessionHook {
    SessionHook::new(Ask::Command("true".to_owned()))
}

#[test]
fn a_hook_of_a_session_is_named_by_its_number_and_comes_last() {
    // JC-6, JC-16
    let hook = session_hook("pre_tool_execution", 2, command(), &places()).unwrap();
    assert_eq!(&*hook.hook.name, "session:2");
    assert_eq!((hook.hook.layer, hook.hook.part), (Layer::Session, Part::Amender));
    assert_eq!(hook.hook.standby, Standby::Ready);
    assert_eq!((hook.trigger.as_str(), hook.points[0].name), ("pre_tool_execution", "before_tool"));
    assert_eq!(hook.retry.again, 0);
    let other = session_hook("pre_tool_execution", 3, command(), &places()).unwrap();
    assert!(Arc::ptr_eq(hook.hook.ensemble.as_ref().unwrap(), other.hook.ensemble.as_ref().unwrap()));
}

#[test]
fn it_has_the_keys_of_a_file() {
    // JC-6, JC-8
    let ask = Ask::Prompt { prompt: "fine?".to_owned(), model: None };
    let hook = SessionHook {
        stops_on_error: true,
        tool_name: Some("Bash".to_owned()),
        timeout: Some(Duration::from_secs(5)),
        ..SessionHook::new(ask)
    };
    let hook = session_hook("pre_tool_execution", 0, hook, &places()).unwrap();
    assert_eq!((hook.hook.on_failure, hook.retry.again), (OnFailure::Block, 1));
    assert_eq!(hook.hook.select.unwrap().describe(), "tool_name=Bash");
    assert!(hook.hook.timeout > Duration::from_secs(10));
}

#[test]
fn what_cannot_be_registered_is_told() {
    // JC-6, JC-9
    let told = |event: &str, hook: SessionHook| {
        session_hook(event, 0, hook, &places()).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(told("pre_tool", command()), "unknown event 'pre_tool'; the nearest is 'pre_tool_execution'");
    assert_eq!(told("stop", SessionHook::new(Ask::Command(" ".to_owned()))), "the command is blank");
    let prompt = Ask::Prompt { prompt: String::new(), model: None };
    assert_eq!(told("stop", SessionHook::new(prompt)), "the prompt is blank");
    let hook = SessionHook { timeout: Some(Duration::ZERO), ..command() };
    assert_eq!(told("stop", hook), RegisterSessionHookError::NoTime.to_string());
    assert!(crate::jcli::Jcli.names().contains(&"stop"));
}
