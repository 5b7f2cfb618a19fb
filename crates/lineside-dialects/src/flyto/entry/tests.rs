//! What an entry may say.

use lineside_core::Severity;

use super::super::places::{Level, Plugin};
use super::*;

fn place(plugin: Option<Plugin>) -> Place {
    Place { file: PathBuf::from("/f/settings.json"), level: Level::Project, plugin }
}

/// What an entry is called and declares.
struct Entry {
    name: String,
    definition: Option<Definition>,
}

/// The entry, and what was found, as `line severity text`.
fn read_at(hook_type: &str, text: &str, place: &Place) -> (Entry, Vec<String>) {
    let mut findings = Findings::about(&place.file);
    let item = crate::lined_json::read(text).unwrap().root;
    let hook_type = HookType::find(hook_type).unwrap();
    let (name, definition) = read(hook_type, format!("{}-0", hook_type.name()), &item, place, &mut findings);
    let told = findings.diagnostics.iter().map(|one| {
        let line = one.origin.as_ref().unwrap().line;
        let severity = if one.severity == Severity::Error { "error" } else { "warning" };
        format!("{line} {severity} {}", one.text)
    });
    (Entry { name, definition }, told.collect())
}

fn definition(text: &str) -> Definition {
    let (entry, told) = read_at("pre_tool_use", text, &place(None));
    assert_eq!(told, Vec::<String>::new(), "{text}");
    entry.definition.unwrap()
}

fn told(text: &str) -> Vec<String> {
    let (entry, told) = read_at("pre_tool_use", text, &place(None));
    assert!(entry.definition.is_none(), "{text}");
    told
}

#[test]
fn what_is_absent_or_null_has_its_default() {
    // FL-3, FL-4
    let run = Run::Command("c".to_owned());
    assert_eq!(definition("{\"command\": \"c\"}"), Definition::new(run.clone()));
    let nulls = "{\"command\": \"c\", \"webhook_url\": null, \"timeout\": null, \"async\": null, \"source\": null, \
                  \"plugin_dir\": null, \"name\": null, \"on_failure\": null, \"matcher\": null}";
    assert_eq!(definition(nulls), Definition::new(run.clone()));
    assert_eq!(
        definition("{\"command\": \"c\", \"timeout\": 0, \"plugin_dir\": \"\"}"),
        Definition::new(run)
    );
}

#[test]
fn every_key_is_read() {
    // FL-4
    let text = "{\"command\": \"c\", \"timeout\": 86400, \"async\": false, \"source\": \"s\", \
                 \"plugin_dir\": \"/d\", \"name\": \"n m\", \"on_failure\": \"block\"}";
    let (entry, told) = read_at("pre_tool_use", text, &place(None));
    assert_eq!((entry.name.as_str(), told), ("n m", Vec::new()));
    let expected = Definition {
        timeout: Duration::from_secs(86_400),
        source: "s".into(),
        plugin_dir: Some("/d".into()),
        on_failure: OnFailure::Block,
        ..Definition::new(Run::Command("c".to_owned()))
    };
    assert_eq!(entry.definition, Some(expected));
    let webhook =
        definition("{\"webhook_url\": \"https://h/x\", \"async\": true, \"on_failure\": \"continue\"}");
    assert!(webhook.is_async);
    assert_eq!(webhook.run, Run::Webhook { url: "https://h/x".to_owned(), addresses: Addresses::AsWritten });
    let (entry, _) = read_at("stop", "{\"command\": \"c\"}", &place(None));
    assert_eq!(entry.name, "stop-0");
}

#[test]
fn a_wrong_value_is_an_error_that_names_hook_key_and_value() {
    // FL-5
    for (key, value, expected) in [
        ("timeout", "-1", "an integer of 0 to 86400 seconds"),
        ("timeout", "86401", "an integer of 0 to 86400 seconds"),
        ("timeout", "1.5", "an integer of 0 to 86400 seconds"),
        ("timeout", "\"10\"", "an integer of 0 to 86400 seconds"),
        ("timeout", "99999999999999999999", "an integer of 0 to 86400 seconds"),
        ("async", "\"yes\"", "true or false"),
        ("async", "1", "true or false"),
        ("source", "7", "a text"),
        ("plugin_dir", "\"rel/dir\"", "an absolute path"),
        ("plugin_dir", "true", "an absolute path"),
        ("on_failure", "\"stop\"", "\"continue\" or \"block\""),
        ("on_failure", "true", "\"continue\" or \"block\""),
        ("webhook_url", "\"ftp://h/x\"", "an absolute http or https URL"),
    ] {
        let text = format!("{{\"name\": \"n\",\n\"command\": \"c\",\n\"{key}\": {value}}}");
        assert_eq!(told(&text), [format!("3 error hook \"n\": '{key}' must be {expected}, not {value}")]);
    }
    for (value, shown) in [("\"  \"", "\"  \""), ("[\"true\"]", "[…]")] {
        let text = format!("{{\"name\": \"n\", \"command\": {value}}}");
        assert_eq!(
            told(&text),
            [format!("1 error hook \"n\": 'command' must be a text that is not blank, not {shown}")]
        );
    }
    for name in ["7", "\"a\\nb\"", "\"\\u0007\"", "\"a\\u2028b\""] {
        let told = told(&format!("{{\"command\": \"c\", \"name\": {name}}}"));
        assert!(
            told[0].starts_with("1 error hook \"pre_tool_use-0\": 'name' must be a text of one line"),
            "{told:?}"
        );
    }
    assert_eq!(told("[]"), ["1 error hook \"pre_tool_use-0\" must be an object, not […]"]);
    assert_eq!(told("{\"name\": \"n\"}"), ["1 error hook \"n\" has neither 'command' nor 'webhook_url'"]);
    // Everything that is wrong is reported.
    assert_eq!(told("{\"command\": \"\", \"timeout\": -1, \"async\": 0}").len(), 3);
}

#[test]
fn what_has_no_effect_is_a_warning() {
    // FL-4, FL-5, FL-7
    let warned = |hook_type: &str, text: &str| {
        let (entry, told) = read_at(hook_type, text, &place(None));
        let definition = entry.definition.unwrap();
        assert_eq!(definition.on_failure, OnFailure::Continue);
        told
    };
    assert_eq!(
        warned("stop", "{\"name\": \"n\", \"command\": \"c\",\n\"matcher\": \"Bash\"}"),
        ["2 warning hook \"n\": unknown key 'matcher' in /f/settings.json is ignored"]
    );
    let both = "{\"name\": \"n\", \"command\": \"c\", \"webhook_url\": \"http://h\"}";
    assert_eq!(
        warned("stop", both),
        ["1 warning hook \"n\": 'webhook_url' (http://h) is not used, because 'command' runs"]
    );
    let guard = "{\"name\": \"n\", \"command\": \"c\", \"on_failure\": \"block\"}";
    for hook_type in ["stop", "session_start", "post_compact", "notification"] {
        assert_eq!(
            warned(hook_type, guard),
            [
                "1 warning hook \"n\": 'on_failure' (\"block\") is ignored, because hooks of its type cannot block"
            ]
        );
    }
    let guard = "{\"name\": \"n\", \"command\": \"c\", \"on_failure\": \"block\", \"async\": true}";
    assert_eq!(warned("pre_tool_use", guard).len(), 1);
    let twice = "{\"name\": \"n\", \"command\": \"a\",\n\"command\": \"b\"}";
    assert_eq!(warned("stop", twice), ["2 warning the key 'command' occurs twice, the last one counts"]);
}

#[test]
fn a_plugins_file_does_not_say_whose_it_is() {
    // FL-5, FL-6
    let plugin = Plugin { name: "audit".to_owned(), directory: "/p/audit".into() };
    let text = "{\"name\": \"n\", \"command\": \"c\", \"source\": \"other\", \"plugin_dir\": 7}";
    let (entry, told) = read_at("stop", text, &place(Some(plugin)));
    let definition = entry.definition.unwrap();
    assert_eq!((&*definition.source, definition.plugin_dir), ("audit", Some("/p/audit".into())));
    assert_eq!(
        told,
        [
            "1 warning hook \"n\": 'source' (\"other\") is ignored, because the hook belongs to the plugin 'audit'",
            "1 warning hook \"n\": 'plugin_dir' (7) is ignored, because the hook belongs to the plugin 'audit'"
        ]
    );
}

#[test]
fn a_url_has_a_scheme_and_a_host() {
    // FL-4
    for right in ["http://h", "HTTPS://h:8080/x?y#z", "http://[::1]/x", "http://[::1]:80", "http://u:p@h/"] {
        assert!(is_web_address(right), "{right}");
    }
    for wrong in [
        "", "/hook", "h/x", "ftp://h", "http:/h", "http://", "http:///x", "http://:80", "http://h:x",
        "http://h/ x",
    ] {
        assert!(!is_web_address(wrong), "{wrong}");
    }
}

#[test]
fn a_url_with_a_password_is_told_when_it_is_loaded_and_the_password_is_not() {
    let url = "{\"name\": \"n\", \"webhook_url\": \"https://me:hunter2@h/x\"}";
    let (entry, told) = read_at("pre_tool_use", url, &place(None));
    assert!(entry.definition.is_some());
    assert_eq!(
        told,
        ["1 warning hook \"n\": nothing can be posted to a 'webhook_url' with a name and password"]
    );
}

#[test]
fn a_webhook_of_the_user_may_be_anywhere_and_one_of_a_project_where_it_says() {
    for (level, addresses) in [
        (Level::User, Addresses::Any),
        (Level::UserPlugin, Addresses::Any),
        (Level::Project, Addresses::AsWritten),
        (Level::Local, Addresses::AsWritten),
        (Level::ProjectPlugin, Addresses::AsWritten),
    ] {
        let place = Place { level, ..place(None) };
        let (entry, _) = read_at("pre_tool_use", "{\"webhook_url\": \"https://h/x\"}", &place);
        let run = entry.definition.unwrap().run;
        assert_eq!(run, Run::Webhook { url: "https://h/x".to_owned(), addresses }, "{level:?}");
    }
}
