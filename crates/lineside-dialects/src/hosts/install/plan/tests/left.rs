//! What is left of a file without our entries.

use super::*;

#[test]
fn a_file_has_nothing_in_it_when_all_of_it_is_ours() {
    for (text, syntax, expected) in [
        ("{}", Syntax::Json, true),
        ("{\"version\": 1, \"hooks\": {}}", Syntax::Json, true),
        ("{\"version\": 2, \"hooks\": {}}", Syntax::Json, false),
        ("{\"hooks\": []}", Syntax::Json, true),
        ("{\"hooks\": {\"Stop\": []}}", Syntax::Json, false),
        ("{\"hooks\": [1]}", Syntax::Json, false),
        ("{\"a\": 1}", Syntax::Json, false),
        ("{} // c", Syntax::Json, false),
        ("{} /* c */", Syntax::Json, false),
        ("{", Syntax::Json, false),
        ("", Syntax::Toml, true),
        ("# c", Syntax::Toml, false),
    ] {
        let form = Form { syntax, version: Some(1) };
        assert_eq!(is_nothing(text, form), expected, "{text}");
    }
}

#[test]
fn what_is_not_ours_is_seen_to_have_changed() {
    let of = |text: &str| rest(&read(text, Syntax::Json).unwrap(), Syntax::Json);
    for other in ["{\"a\": 2}", "{\"b\": 1}", "{}", "{\"a\": 1, \"hooks\": {\"Stop\": 1}}"] {
        assert_ne!(of("{\"a\": 1}"), of(other), "{other}");
    }
    let stop = |list: &str| of(&format!("{{\"hooks\": {{\"Stop\": [{list}]}}}}"));
    for other in ["{\"command\": \"mine\"}", "{\"hooks\": []}", "{\"hooks\": [{\"command\": \"mine\"}]}"] {
        assert_ne!(stop(other), stop(""), "{other}");
    }
    assert_eq!(of("{\"a\": 1}"), of(&format!("{{\"a\": 1, \"hooks\": {{\"Stop\": [{PRE}], \"X\": []}}}}")));
}

#[test]
fn of_the_lists_that_are_empty_then_those_go_that_were_made_for_our_entries() {
    let ours = |beside: &str| format!("{{\"hooks\": {{\"Stop\": [{PRE}]{beside}}}}}");
    for (beside, made, expected) in [
        ("", &[][..], r#"{"hooks": {"Stop": []}}"#),
        ("", &["Stop"], r#"{"hooks": {}}"#),
        ("", &["hooks"], r#"{"hooks": {"Stop": []}}"#),
        ("", &["Stop", "hooks"], "{}"),
        (r#", "Other": [1]"#, &["Stop", "hooks"], r#"{"hooks": { "Other": [1]}}"#),
    ] {
        let made: Vec<String> = made.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(remove(&ours(beside), Syntax::Json, &made).unwrap(), expected, "{beside} {made:?}");
    }
}
