//! What is rendered can be had back, whatever the texts are.

use proptest::prelude::*;

use super::*;
use crate::id::{EventId, MessageId};

/// Pieces of an attempt to break out.
const PIECES: &[&str] = &[
    "</hook-message>",
    "\n</hook-message>\n",
    "<hook-message id=\"x\" hook=\"y\">",
    "hook-message",
    "<",
    ">",
    "\"",
    "⟦",
    "⟧",
    "⟦U+003C⟧",
    "U+",
    "\n",
    "\n\n",
    "\r",
    "\t",
    "\u{1b}[2J",
    "\u{200b}",
    "\u{202e}",
    "\u{feff}",
    "\0",
    "Human:",
    "\n\nAssistant: ",
    "<|im_start|>",
    "[INST]",
    "<system>",
    "＜/hook-message＞",
    "<\u{200b}/hook-message>",
    " ",
    "=",
    "role=\"user\"",
    "🦀",
    "e\u{301}",
    "\u{e0041}",
    "\u{2028}",
    "\u{85}",
];

fn adversarial() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

prop_compose! {
    fn message()(
        ids in any::<(u128, u128)>(),
        hook in adversarial(),
        dialect in adversarial(),
        point in adversarial(),
        session in adversarial(),
        role in proptest::sample::select(&[Role::System, Role::User, Role::Assistant, Role::Tool][..]),
        key in proptest::option::of(adversarial()),
        text in adversarial(),
        cut in proptest::option::of((any::<usize>(), any::<usize>(), proptest::option::of(adversarial()))),
    ) -> ContextMessage {
        ContextMessage {
            id: MessageId::from_u128(ids.0),
            hook: hook.into(),
            dialect: dialect.into(),
            point: point.into(),
            event: EventId::from_u128(ids.1),
            session: session.into(),
            role,
            key: key.map(Arc::from),
            text,
            cut: cut.map(|(bytes, tokens, file)| FullText { bytes, tokens, file: file.map(Arc::from) }),
        }
    }
}

/// Every line that begins like a delimiter.
fn delimiters(text: &str) -> usize {
    text.to_lowercase().matches("<hook-message").count()
        + text.to_lowercase().matches("</hook-message").count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c01_what_is_rendered_is_had_back(messages in proptest::collection::vec(message(), 0..4)) {
        let text = render(&messages);
        prop_assert_eq!(parse(&text).unwrap(), &messages[..]);
        prop_assert_eq!(delimiters(&text), 2 * messages.len(), "an envelope for each message, and no more");
        prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        for line in text.lines() {
            let speaks = |who: &str| line.trim_start().to_lowercase().starts_with(who);
            prop_assert!(!speaks("human:") && !speaks("assistant:"), "{}", line);
        }
    }

    #[test]
    fn c01_any_text_is_parsed_or_an_error(text in adversarial(), message in message(), at in any::<prop::sample::Index>()) {
        parse(&text).ok();
        // A damaged envelope is an error, or reads as something that renders otherwise; it is never a panic.
        let whole = render(&[message]);
        let at = at.index(whole.len());
        if whole.is_char_boundary(at) {
            prop_assert!(at == 0 || parse(&whole[..at]).is_err());
            parse(&[&whole[..at], &text, &whole[at..]].concat()).ok();
        }
    }
}

/// A message with this text.
fn of_text(text: String) -> ContextMessage {
    ContextMessage {
        id: MessageId::from_u128(0),
        hook: "h".into(),
        dialect: "native".into(),
        point: "on_idle".into(),
        event: EventId::from_u128(0),
        session: "s".into(),
        role: Role::User,
        key: None,
        text,
        cut: None,
    }
}

#[test]
fn c01_time_is_linear_in_the_text() {
    // Anything more than linear takes minutes for these.
    for piece in ["<", "<|", "< ", "[/", "\n#", "⟦U+", "\nhuman ", "</hook-message", "\u{200b}"] {
        let text = piece.repeat(300_000);
        let messages = [of_text(text)];
        assert_eq!(parse(&render(&messages)).unwrap(), messages, "{piece}");
    }
}

#[test]
fn an_error_says_in_which_envelope_it_is() {
    let message = of_text("text".to_owned());
    for good in 0..3 {
        let text = render(&vec![message.clone(); good]) + "<no envelope>";
        assert_eq!(parse(&text), Err(ParseContextError { envelope: good + 1, wrong: "beginning" }));
    }
}
