//! Events, their versions, and what becomes of their payloads.

use std::cell::RefCell;

use super::*;
use crate::envelope::{Extra, Source};
use crate::json::json;
use crate::sample::{Note, envelope, noted};

fn note(title: &str) -> Arc<dyn Payload> {
    Arc::new(Note::titled(title))
}

#[test]
fn an_amended_event_still_has_what_was_published() {
    let published = noted("one");
    let amended = published.amended(note("three"));
    let again = amended.amended(note("eleven"));
    let events = [published, amended, again];
    let title = |payload: &dyn Payload| payload.text("title").unwrap_or_default().to_owned();
    assert_eq!(events.each_ref().map(AnyEvent::version), [0, 1, 2]);
    assert_eq!(events.each_ref().map(|event| title(event.payload())), ["one", "three", "eleven"]);
    assert_eq!(events.each_ref().map(|event| title(event.original())), ["one"; 3]);
    assert_eq!(events.each_ref().map(AnyEvent::weight), [3, 5 + 3, 6 + 3]);
    let as_published = events[2].with_payload(note("four"));
    assert_eq!(
        (as_published.version(), title(as_published.original()), as_published.weight()),
        (0, "four".to_owned(), 4)
    );
}

#[test]
fn an_event_weighs_what_its_publisher_has_said_beside_its_payload() {
    let weight = |about: Envelope| AnyEvent::new(about, note("one")).weight();
    let bare = weight(envelope(Source::root("s")));
    let text = |length: usize| Some(Arc::from("x".repeat(length)));
    let more = |change: &dyn Fn(&mut Source)| {
        let mut source = Source::root("s");
        change(&mut source);
        weight(envelope(source)) - bare
    };
    assert_eq!(more(&|source| source.cwd = text(1_000)), 1_000);
    assert_eq!(more(&|source| source.project_root = text(1_000)), 1_000);
    assert_eq!(more(&|source| source.host = text(1_000)), 1_000);
    assert_eq!(more(&|source| source.traceparent = text(1_000)), 1_000);
    assert_eq!(more(&|source| source.connection = text(1_000)), 1_000);
    assert_eq!(more(&|source| source.agent.role = text(1_000)), 1_000);
    let model = || Some(crate::Model { selected: text(700), running: text(300) });
    assert_eq!(more(&|source| source.model = model()), 1_000);
    let extra = |value: crate::json::Value| {
        let fields = Extra::from(Map::from([("field".to_owned(), value)]));
        let about = Envelope { extra: Some(Arc::new(fields)), ..envelope(Source::root("s")) };
        weight(about) - bare
    };
    let field = extra(json!(null));
    assert_eq!(extra(json!("x".repeat(1_000))), field + 1_000);
    let digits = format!("0.{}", "7".repeat(998));
    assert_eq!(extra(crate::json::from_str(&digits).unwrap()), field + 1_000);
    let spelled =
        Extra::from(Map::from([("field".to_owned(), json!("a"))])).spelled("field", "x".repeat(1_000));
    assert!(spelled.weight() >= 1_000 + Extra::from(Map::from([("field".to_owned(), json!("a"))])).weight());
    // An amended event has its envelope once.
    let about = Envelope { extra: Some(Arc::new(spelled)), ..envelope(Source::root("s")) };
    let event = AnyEvent::new(about, note("one"));
    assert_eq!(event.amended(note("three")).weight(), event.weight() + 5);
    // What is made of it counts where it is kept.
    assert_eq!(event.made_weight(), 0);
    let text = event.payload_text().len();
    assert_eq!(event.made_weight(), text);
    assert_eq!(event.payload_json()["title"], json!("one"));
    assert_eq!(event.made_weight(), text + 3);
}

#[test]
fn only_references_to_one_event_are_the_same() {
    let event = noted("one");
    assert!(event.is_same(&event.clone()));
    assert!(event.typed::<Note>().is_some_and(|typed| typed.any().is_same(&event)));
    for other in
        [self::noted("one"), event.amended(note("one")), event.with_envelope(envelope(Source::root("s")))]
    {
        assert!(!event.is_same(&other) && !other.is_same(&event), "{other:?}");
    }
}

#[test]
fn a_digest_is_the_sha_256_in_hexadecimal() {
    let of_nothing = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(digest_of(&Map::new()), of_nothing);
    assert_eq!(noted("one").digest(), digest_of(noted("one").payload_json()));
    assert_eq!(hexadecimal(&[0x00, 0x1f, 0xa0, 0xff]), "001fa0ff");
}

#[test]
fn a_payload_is_moved_out_unless_others_hold_it() {
    let shared = note("shared");
    let held = noted("held");
    let typed = |event: AnyEvent| event.into_payload::<Note>().unwrap();
    let place = |event: &AnyEvent| event.payload().text("title").map(str::as_ptr).unwrap();
    let cases = [
        ("within", noted("one"), true),
        ("in an envelope of its own", noted("one").with_envelope(envelope(Source::root("s"))), true),
        ("alone in what may be shared", AnyEvent::new(envelope(Source::root("s")), note("one")), true),
        ("amended", noted("one").amended(note("two")), true),
        ("shared", AnyEvent::new(envelope(Source::root("s")), Arc::clone(&shared)), false),
        ("of an event that is held", held.with_envelope(envelope(Source::root("s"))), false),
        ("held", held.clone(), false),
    ];
    for (which, event, is_moved) in cases {
        let (before, title) = (place(&event), event.payload().text("title").unwrap().to_owned());
        let note = typed(event);
        assert_eq!(note.title, title, "{which}");
        assert_eq!(note.title.as_ptr() == before, is_moved, "{which}");
    }
}

thread_local! {
    static BACK: RefCell<Vec<AnyEvent>> = const { RefCell::new(Vec::new()) };
}

#[test]
fn each_typed_reference_is_given_back_once() {
    let event = noted("one");
    let typed = || event.typed::<Note>().unwrap();
    let lent = typed().given_back_to(|event| BACK.with_borrow_mut(|back| back.push(event)));
    let clone = lent.clone();
    drop(typed());
    assert_eq!(BACK.take().len(), 0, "only those that were lent");
    for reference in [lent, clone] {
        drop(reference);
        let back = BACK.take();
        assert!(matches!(&back[..], [only] if only.is_same(&event)), "{back:?}");
    }
}
