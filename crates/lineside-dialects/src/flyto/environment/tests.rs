//! What is inherited, cut and left out.

use std::borrow::Cow;
use std::ffi::OsStr;

use super::*;

fn made(variables: &[(&'static str, &[u8])], plugin_dir: Option<&str>) -> (Environment, Vec<EventFile>) {
    let variables = variables.iter().map(|(name, value)| Variable { name, value: Cow::Borrowed(*value) });
    of(HookType::find("pre_tool_use").unwrap(), variables.collect(), plugin_dir.map(Path::new))
}

fn set<'a>(environment: &'a Environment, name: &str) -> Option<&'a OsStr> {
    environment.set.iter().rfind(|(set, _)| set == name).map(|(_, value)| value.as_os_str())
}

#[test]
fn a_value_that_fits_is_handed_on_as_it_is() {
    // FL-11
    let value = vec![b'x'; 65_536];
    let (environment, files) = made(&[("TOOL_INPUT", &value)], None);
    assert_eq!(set(&environment, "TOOL_INPUT").unwrap().len(), 65_536);
    assert_eq!(set(&environment, "TOOL_INPUT_TRUNCATED"), None);
    assert_eq!(files, []);
}

#[test]
fn a_value_that_does_not_fit_is_cut_between_characters_and_whole_in_a_file() {
    // FL-11
    let value = format!("a{}", "é".repeat(40_000));
    let (environment, files) = made(&[("TOOL_INPUT", value.as_bytes())], None);
    let kept = set(&environment, "TOOL_INPUT").unwrap();
    assert_eq!(kept, OsStr::new(&value[..65_535]));
    assert_eq!(set(&environment, "TOOL_INPUT_TRUNCATED"), Some(OsStr::new("true")));
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(
        (file.variable.as_os_str(), &file.bytes[..]),
        (OsStr::new("TOOL_INPUT_FILE"), value.as_bytes())
    );
    // A plugin's hook gets the same.
    let (environment, files) = made(&[("TOOL_INPUT", value.as_bytes())], Some("/plugin"));
    assert_eq!((set(&environment, "TOOL_INPUT_TRUNCATED").unwrap(), files.len()), (OsStr::new("true"), 1));
}

#[test]
fn nul_becomes_a_character_that_can_be_handed_on() {
    // FL-11
    let variables = [("TOOL_NAME", b"a\0\0b".as_slice()), ("CWD", b"/".as_slice())];
    let (environment, _) = made(&variables, None);
    assert_eq!(set(&environment, "TOOL_NAME"), Some(OsStr::new("a\u{fffd}\u{fffd}b")));
    let variables = variables.map(|(name, value)| Variable { name, value: Cow::Borrowed(value) });
    assert_eq!(with_nul(&variables), ["TOOL_NAME"]);
}

#[test]
fn a_user_hook_inherits_everything_but_what_would_mislead_it() {
    // FL-11, FL-12, FL-13
    let (environment, _) = made(&[("TOOL_NAME", b"T")], None);
    assert_eq!(environment.inherit, Inherit::All);
    for name in ["TOOL_INPUT_TRUNCATED", "TOOL_INPUT_FILE", "CWD_TRUNCATED", "FLYTO_PLUGIN_ROOT"] {
        assert!(environment.remove.iter().any(|removed| removed == name), "{name}");
    }
    assert!(!environment.remove.iter().any(|removed| removed == "TOOL_NAME"), "it is replaced");
    assert_eq!(set(&environment, "FLYTO_PLUGIN_ROOT"), None);
}

#[test]
fn a_plugins_hook_inherits_four_names_and_gets_its_directory() {
    // FL-13
    let (environment, _) = made(&[("TOOL_NAME", b"T")], Some("/plugin"));
    let names = ["PATH", "HOME", "LANG", "LC_ALL"].map(OsString::from).to_vec();
    assert_eq!(environment.inherit, Inherit::Only(names));
    assert_eq!(set(&environment, "FLYTO_PLUGIN_ROOT"), Some(OsStr::new("/plugin")));
    assert_eq!(set(&environment, "TOOL_NAME"), Some(OsStr::new("T")));
}
