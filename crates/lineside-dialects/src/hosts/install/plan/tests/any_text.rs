//! What holds for any text.

use proptest::prelude::*;

use super::*;

/// What stands between the tokens of a file.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // c, ]}\"\n".to_owned()),
        1 => Just("/* c, ]}\" */".to_owned()),
    ]
}

fn comma() -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(String::new()), 1 => Just(",".to_owned())]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("\"é \\\" // [\"".to_owned()),
        Just("-0.50e3".to_owned())
    ]
}

fn handler() -> impl Strategy<Value = String> {
    let command = prop_oneof![3 => Just("mine"), 1 => Just("lineside hook codex"), 1 => Just("'/old path/lineside' hook codex")];
    (command, gap())
        .prop_map(|(command, gap)| format!("{{\"type\":{gap}\"command\", \"command\": \"{command}\"}}"))
}

/// Items between brackets, with a comma at the end or not.
fn listed(open: char, close: char, items: Vec<String>, gaps: &[String], last: &str) -> String {
    let mut text = String::from(open);
    let mut gaps = gaps.iter().cycle();
    let mut gap = || gaps.next().cloned().unwrap_or_default();
    let count = items.len();
    for (index, item) in items.into_iter().enumerate() {
        text.push_str(&gap());
        text.push_str(&item);
        text.push_str(&gap());
        text.push_str(if index + 1 < count { "," } else { last });
    }
    text.push_str(&gap());
    text.push(close);
    text
}

prop_compose! {
    fn group()(handlers in prop::collection::vec(handler(), 0..3), gaps in prop::collection::vec(gap(), 1..6), last in comma())
        -> String {
        let list = listed('[', ']', handlers, &gaps, &last);
        format!("{{\"matcher\": \"x\", \"hooks\": {list}}}")
    }
}

prop_compose! {
    fn event(name: &'static str)(groups in prop::collection::vec(group(), 0..3), gaps in prop::collection::vec(gap(), 1..6), last in comma())
        -> String {
        format!("\"{name}\":{}", listed('[', ']', groups, &gaps, &last))
    }
}

prop_compose! {
    fn settings()(
        scalars in prop::collection::vec(scalar(), 0..3),
        hooks in prop::option::of((prop::option::of(event("Stop")), prop::option::of(event("Other")), prop::option::of(event("PreToolUse")))),
        at in any::<prop::sample::Index>(),
        gaps in prop::collection::vec(gap(), 1..9), last in comma(), bom in any::<bool>(), end in gap(),
    ) -> String {
        let mut members: Vec<String> = scalars.iter().enumerate().map(|(n, value)| format!("\"k{n}\": {value}")).collect();
        if let Some((a, b, c)) = hooks {
            let events: Vec<String> = [a, b, c].into_iter().flatten().collect();
            let list = listed('{', '}', events, &gaps, if gaps.len() > 4 { "," } else { "" });
            let list = if list.ends_with(",}") && list.len() < 4 { "{}".to_owned() } else { list };
            members.insert(at.index(members.len() + 1), format!("\"hooks\":{list}"));
        }
        let text = listed('{', '}', members, &gaps, &last);
        format!("{}{text}{end}", if bom { "\u{feff}" } else { "" })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn what_was_inserted_is_taken_back_byte_for_byte(text in settings()) {
        let Ok(root) = read(&text, Syntax::Json) else { return Err(TestCaseError::reject("not JSON")) };
        let all = entries(Host::Codex);
        let edit = add(Some(&text), JSON, &all).unwrap();
        if edit.inserted.is_empty() {
            // Something was replaced, or nothing was to do.
            prop_assert!(text.contains("lineside"));
        } else {
            prop_assert_eq!(reverted(&edit.text, &edit.inserted), Some(text.clone()));
        }
        prop_assert_eq!(&add(Some(&edit.text), JSON, &all).unwrap().text, &edit.text);
        let removed = remove(&edit.text, Syntax::Json, &edit.made).unwrap();
        prop_assert_eq!(rest(&read(&removed, Syntax::Json).unwrap(), Syntax::Json), rest(&root, Syntax::Json));
        prop_assert_eq!(&remove(&removed, Syntax::Json, &[]).unwrap(), &removed);
    }

    #[test]
    fn tables_are_taken_back_byte_for_byte(
        before in prop::collection::vec(prop_oneof![Just("a = 1"), Just("# c"), Just(""), Just("b = [1,\n 2]")], 0..4),
        hooks in prop::collection::vec(prop_oneof![Just("mine"), Just("lineside hook kimi"), Just("/old/lineside hook kimi")], 0..3),
        form in 0..3_usize, last in any::<bool>(), crlf in any::<bool>(),
    ) {
        let mut before = before;
        before.dedup();
        let mut seen = Vec::new();
        before.retain(|line| !line.contains('=') || (!seen.contains(line) && { seen.push(*line); true }));
        let mut text = before.join("\n");
        if !text.is_empty() { text.push('\n'); }
        let inline: Vec<_> = hooks.iter().map(|command| format!("{{event = \"Stop\", command = \"{command}\"}}")).collect();
        match form {
            0 => hooks.iter().for_each(|command| text.push_str(&format!("\n[[hooks]]\nevent = \"Stop\" # d\ncommand = \"{command}\"\n"))),
            1 => text.push_str(&format!("hooks = [{}] # e\n", inline.join(", "))),
            _ => text.push_str(&format!("hooks = [ # f\n  {}\n]\n[t]\nx = 1\n", inline.join(", # g\n  "))),
        }
        let mut text = if last { text.trim_end_matches('\n').to_owned() } else { text };
        if crlf { text = text.replace('\n', "\r\n"); }
        let all = entries(Host::Kimi);
        let edit = add(Some(&text), TOML, &all).unwrap();
        if !edit.inserted.is_empty() {
            prop_assert_eq!(reverted(&edit.text, &edit.inserted), Some(text.clone()));
        }
        prop_assert_eq!(&add(Some(&edit.text), TOML, &all).unwrap().text, &edit.text);
        let removed = remove(&edit.text, Syntax::Toml, &edit.made).unwrap();
        prop_assert_eq!(rest(&read(&removed, Syntax::Toml).unwrap(), Syntax::Toml), rest(&read(&text, Syntax::Toml).unwrap(), Syntax::Toml));
    }
}
