//! Mailboxes: what waits, in which order, within which bounds, and what becomes of lost messages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;
use std::time::Duration;

use lineside_bus::extension::DeferredMessage;
use lineside_bus::signal::Watched;
use lineside_bus::{Bus, Delivery, Session, Signal, Signals, WhyMissing};
use lineside_core::context::{Bounds, Size, parse, tokens};
use lineside_core::{Append, EventId, MessageId};
use lineside_points::OnIdle;
use proptest::prelude::*;

/// A message of a hook about the event of that number.
fn late(hook: &str, seq: u64, append: impl Into<Append>) -> DeferredMessage {
    let event = EventId::from_u128(u128::from(seq));
    let (hook, append) = (hook.into(), append.into());
    DeferredMessage {
        hook,
        dialect: "native",
        point: "on_idle".into(),
        event,
        seq,
        id: None,
        append,
        keeps_working: false,
    }
}

async fn session() -> (Bus, Session) {
    let bus = Bus::new();
    let session = bus.session("s").open().await.unwrap();
    (bus, session)
}

fn send(session: &Session, late: DeferredMessage) {
    // Nothing is kept here, so there is nothing to wait for.
    assert!(!session.bus().deliver(session.id(), late).is_durable());
}

fn texts(delivery: &Delivery) -> Vec<&str> {
    delivery.messages().iter().map(|message| &*message.text).collect()
}

/// The names of the signals about the context that have come, each with its hook.
fn told(signals: &mut Signals) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Watched::Signal(signal)) = signals.try_next() {
        told.push(match signal {
            Signal::ContextDropped { hook, .. } => format!("dropped {hook}"),
            Signal::ContextExpired { hook, .. } => format!("expired {hook}"),
            Signal::ContextReplaced { hook, .. } => format!("replaced {hook}"),
            Signal::ContextCut { hook, .. } => format!("cut {hook}"),
            Signal::ContextDelivered { messages, .. } => format!("delivered {messages}"),
            _ => continue,
        });
    }
    told
}

fn most(messages: usize, bytes: usize) -> Bounds {
    Bounds { messages, bytes, tokens: usize::MAX }
}

#[tokio::test]
async fn what_does_not_fit_stays_in_order_for_the_next_delivery() {
    let (_bus, session) = session().await;
    for number in 0..5 {
        send(&session, late("h", 0, format!("{number}{}", "x".repeat(9))));
    }
    let delivery = session.collect().at_most(most(9, 25)).ready();
    assert_eq!(delivery.messages().len(), 2);
    assert_eq!(delivery.remaining(), 3);
    // Not accepted: the same again, and the others after it.
    drop(delivery);
    let delivery = session.collect().at_most(most(3, usize::MAX)).ready();
    let firsts: String = delivery.messages().iter().map(|message| &message.text[..1]).collect();
    assert_eq!((&*firsts, delivery.remaining()), ("012", 2));
    delivery.accept();
    let tokens = Bounds { tokens: 3, ..Bounds::NONE };
    assert_eq!(session.collect().at_most(tokens).ready().accept().len(), 1, "three tokens are one of them");
    assert_eq!(session.collect().at_most(most(0, 0)).ready().accept().len(), 1, "there is always one");
    assert!(session.collect().ready().accept().is_empty());
}

#[tokio::test]
async fn deliveries_that_go_back_stand_where_they_stood() {
    let (_bus, session) = session().await;
    for text in ["a", "b", "c", "d"] {
        send(&session, late("h", 0, text));
    }
    let first = session.collect().at_most(most(2, 99)).ready();
    let second = session.collect().at_most(most(1, 99)).ready();
    send(&session, late("h", 0, "e"));
    drop(first);
    drop(second);
    assert_eq!(texts(&session.collect().ready()), ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn what_is_handed_over_keeps_its_room_until_it_is_accepted() {
    let (_bus, session) = session().await;
    let everything = most(usize::MAX, usize::MAX);
    let mut numbers = 0..;
    let mut fill =
        || numbers.by_ref().take(2_000).for_each(|n: u64| send(&session, late("h", n, n.to_string())));
    fill();
    for _ in 0..3 {
        let delivery = session.collect().at_most(everything).ready();
        assert_eq!(delivery.messages().len(), 1_024);
        fill();
    }
    let taken =
        session.collect().at_most(everything).ready().accept_some(|message| message.event.as_u128() < 24);
    assert_eq!(taken.len(), 24);
    fill();
    let delivery = session.collect().at_most(everything).ready();
    assert_eq!(delivery.messages().len(), 1_024, "what was accepted has given its room back, and no more");
    delivery.accept();
    assert!(session.collect().at_most(everything).ready().accept().is_empty());
    fill();
    assert_eq!(session.collect().at_most(everything).ready().accept().len(), 1_024);
}

#[tokio::test]
async fn c03_a_message_that_is_too_long_is_cut_and_all_of_it_can_be_asked_for() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let long = format!("begin {} end", "x".repeat(5_000));
    send(&session, late("h", 0, &*long));
    send(&session, late("h", 0, "next"));
    for _ in 0..2 {
        // The second time because the first delivery goes back.
        let delivery = session.collect().at_most(most(9, 300)).ready();
        let [message] = delivery.messages() else { panic!("{:?}", texts(&delivery)) };
        assert!(message.text.len() <= 300);
        assert!(message.text.starts_with("begin ") && message.text.ends_with(" end"));
        let cut = message.cut.as_ref().unwrap();
        assert_eq!((cut.bytes, cut.tokens, &cut.file), (long.len(), tokens(&long), &None));
        assert!(message.text.contains(&format!("of {} bytes left out", long.len())), "{}", message.text);
        assert!(message.text.contains(&message.id.to_string()), "the marker names it");
        assert_eq!(session.full_text(message.id).as_deref(), Some(&*long));
        assert_eq!(parse(&delivery.text()).unwrap(), delivery.messages());
    }
    assert_eq!(told(&mut signals), ["cut h", "cut h"]);
    let whole = session.collect().at_most(Bounds::NONE).ready();
    assert_eq!(texts(&whole), [&*long, "next"], "what went back went back whole");
    assert_eq!(whole.messages()[0].cut, None);
}

#[tokio::test]
async fn c03_by_default_a_delivery_is_bounded() {
    let (_bus, session) = session().await;
    for _ in 0..40 {
        send(&session, late("h", 0, "word ".repeat(2_000)));
    }
    let (mut deliveries, mut messages) = (0, 0);
    loop {
        let delivery = session.collect().ready();
        let size = delivery.messages().iter().fold(Size::default(), |all, one| all + Size::of(&one.text));
        assert!(Bounds::default().hold(delivery.messages().len(), size), "{size:?}");
        messages += delivery.messages().len();
        deliveries += 1;
        if delivery.remaining() == 0 {
            delivery.accept();
            break;
        }
        delivery.accept();
    }
    assert_eq!((deliveries, messages), (10, 40), "and all of it comes");
}

#[tokio::test]
async fn a_mailbox_takes_no_more_than_it_has_room_for_and_what_it_does_not_take_is_signalled_and_counted() {
    // Ten times as many messages as one takes, and ten times as many bytes.
    for (count, text) in [(10 * 1_024, "short".to_owned()), (40, "word ".repeat((1 << 20) / 5))] {
        let (bus, session) = session().await;
        let mut signals = bus.signals();
        for number in 0..count {
            send(&session, late("h", number, &*text));
        }
        let delivery = session.collect().at_most(Bounds::NONE).ready();
        let waited = delivery.messages().len();
        let bytes: usize = delivery.messages().iter().map(|message| message.text.len()).sum();
        assert!((1..=1_024).contains(&waited) && bytes <= 4 << 20, "{waited} of {bytes} bytes");
        assert!(waited == 1_024 || bytes > 3 << 20, "{waited} of {bytes} bytes");
        let lost = usize::try_from(count).unwrap() - waited;
        let [missing] = delivery.missing() else { panic!("{:?}", delivery.missing()) };
        assert_eq!(missing.messages, u64::try_from(lost).unwrap());
        assert!(told(&mut signals).iter().all(|told| told == "dropped h"));
    }
}

#[tokio::test]
async fn a_later_message_of_the_same_key_takes_the_place_of_one_that_waits() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let keyed = |text: &str| Append::system(text).key("status");
    send(&session, late("lint", 0, keyed("3 errors")));
    send(&session, late("other", 0, keyed("mine")));
    send(&session, late("lint", 0, "no key"));
    send(&session, late("lint", 0, keyed("2 errors")));
    assert_eq!(told(&mut signals), ["replaced lint"]);
    let delivery = session.collect().ready();
    assert_eq!(texts(&delivery), ["2 errors", "mine", "no key"], "in the place of the earlier one");
    assert!(delivery.missing().is_empty(), "nothing is missing of which there is something newer");
    // While it is handed over, a later one comes: when it goes back, there is one.
    send(&session, late("lint", 0, keyed("1 error")));
    drop(delivery);
    assert_eq!(texts(&session.collect().ready()), ["1 error", "mine", "no key"]);
    session.collect().ready().accept();
    send(&session, late("lint", 0, keyed("0 errors")));
    assert_eq!(texts(&session.collect().ready()), ["0 errors"], "what was delivered is not taken back");
}

#[tokio::test]
async fn c02_a_message_of_the_same_id_is_handed_over_once() {
    let (_bus, session) = session().await;
    let id = Some(MessageId::stable(&[b"job 7"]));
    let again = || DeferredMessage { id, ..late("h", 0, "done") };
    send(&session, again());
    send(&session, again());
    let delivery = session.collect().ready();
    assert_eq!(delivery.messages().len(), 1, "while it waits");
    send(&session, again());
    assert!(session.collect().ready().messages().is_empty(), "while it is handed over");
    delivery.accept();
    send(&session, again());
    assert!(session.collect().ready().accept().is_empty(), "after it was accepted");
}

#[tokio::test(start_paused = true)]
async fn c02_a_message_that_comes_too_late_is_not_handed_over_and_named() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let minute = Duration::from_secs(60);
    send(&session, late("h", 0, Append::system("old").expires(minute)));
    send(&session, late("h", 0, Append::system("for ever").expires(Duration::MAX)));
    tokio::time::advance(minute - Duration::from_millis(1)).await;
    drop(session.collect().ready());
    assert_eq!(told(&mut signals), [""; 0], "it is not too late yet");
    tokio::time::advance(Duration::from_millis(1)).await;
    let delivery = session.collect().ready();
    assert_eq!(texts(&delivery), ["for ever"]);
    assert_eq!(told(&mut signals), ["expired h"]);
    let missing = &delivery.missing()[0];
    assert_eq!((missing.hook.as_deref(), missing.why, missing.messages), (Some("h"), WhyMissing::Expired, 1));
    drop(delivery);
    assert_eq!(session.collect().ready().missing().len(), 1, "that was not accepted");
    session.collect().ready().accept();
    assert!(session.collect().ready().missing().is_empty());
}

#[tokio::test(start_paused = true)]
async fn c03_what_does_not_fit_is_counted_told_and_named_in_the_next_delivery() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    for number in 0..1024 {
        let append = Append::system("m");
        let append = if number % 2 == 0 { append.expires(Duration::from_secs(1)) } else { append };
        send(&session, late("h", 0, append));
    }
    send(&session, late("one", 0, "too many"));
    send(&session, late("one", 0, "too many"));
    assert_eq!(told(&mut signals), ["dropped one", "dropped one"]);
    tokio::time::advance(Duration::from_secs(1)).await;
    send(&session, late("two", 0, "what is too old makes room"));
    assert_eq!(told(&mut signals), vec!["expired h"; 512]);
    let delivery = session.collect().at_most(Bounds::NONE).ready();
    assert_eq!(delivery.messages().len(), 513);
    let named: Vec<_> =
        delivery.missing().iter().map(|one| (one.hook.as_deref().unwrap(), one.why, one.messages)).collect();
    assert_eq!(named, [("one", WhyMissing::NoRoom, 2), ("h", WhyMissing::Expired, 512)]);
    delivery.accept();
    assert_eq!(bus.drain(Duration::from_secs(1)).await.context_dropped, 2);
}

#[tokio::test(start_paused = true)]
async fn c03_a_message_that_is_too_old_makes_room_once_for_a_later_one_of_its_key() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    let status = |kibibytes: usize| Append::system("x".repeat(kibibytes << 10)).key("status");
    send(&session, late("other", 0, "x".repeat(2000 << 10)));
    send(&session, late("h", 0, status(1000).expires(Duration::from_secs(1))));
    tokio::time::advance(Duration::from_secs(1)).await;
    send(&session, late("h", 0, status(2500)));
    assert_eq!(told(&mut signals), ["expired h", "dropped h"]);
}

#[tokio::test]
async fn messages_stand_by_their_events_and_not_by_when_they_come() {
    let (_bus, session) = session().await;
    for _ in 0..3 {
        drop(session.publish(OnIdle::new()).await.unwrap());
    }
    send(&session, late("h", 3, "third"));
    send(&session, late("h", 1, "first"));
    send(&session, late("h", 99, "of an earlier life"));
    send(&session, late("h", 2, "second"));
    assert_eq!(texts(&session.collect().ready()), ["first", "second", "third", "of an earlier life"]);
}

/// A message of the model: its number in the order, its key, its id and its text.
type Known = (usize, Option<u8>, Option<u8>, String);

#[derive(Debug, Clone)]
enum Step {
    Send {
        text: usize,
        key: Option<u8>,
        id: Option<u8>,
    },
    Collect {
        messages: usize,
        bytes: usize,
        accept: bool,
    },
    /// A delivery is held until the next one of these.
    Hold,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_usize..40, proptest::option::of(0_u8..3), proptest::option::of(0_u8..6))
            .prop_map(|(text, key, id)| Step::Send { text, key, id }),
        3 => (0_usize..5, 0_usize..80, any::<bool>())
            .prop_map(|(messages, bytes, accept)| Step::Collect { messages, bytes, accept }),
        1 => Just(Step::Hold),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a mailbox of a few lines: a list, searched from its beginning each time.
    #[test]
    fn whatever_happens_each_message_comes_once_and_in_order(steps in proptest::collection::vec(step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_bus, session) = session().await;
            let (mut model, mut held): (Vec<Known>, Vec<Known>) = (Vec::new(), Vec::new());
            let mut seen: BTreeSet<u8> = BTreeSet::new();
            let mut holding: Option<Delivery> = None;
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Send { text, key, id } => {
                        let text = format!("{number}:{}", "x".repeat(text));
                        let mut append = Append::system(&*text);
                        if let Some(key) = key {
                            append = append.key(key.to_string());
                        }
                        let stable = id.map(|id| MessageId::stable(&[&[id]]));
                        send(&session, DeferredMessage { id: stable, ..late("h", 0, append) });
                        if id.is_some_and(|id| !seen.insert(id)) {
                            continue;
                        }
                        let place = key.and_then(|key| model.iter().position(|one| one.1 == Some(key)));
                        match place {
                            Some(place) => model[place] = (model[place].0, key, id, text),
                            None => model.push((number, key, id, text)),
                        }
                        model.sort_by_key(|one| one.0);
                    }
                    Step::Collect { messages, bytes, accept } => {
                        let delivery = session.collect().at_most(most(messages, bytes)).ready();
                        let mut expected: Vec<String> = Vec::new();
                        for (.., text) in &model {
                            let all: usize = expected.iter().map(String::len).sum();
                            let fits = expected.len() < messages && all + text.len() <= bytes;
                            if !expected.is_empty() && !fits {
                                break;
                            }
                            expected.push(text.clone());
                        }
                        prop_assert_eq!(delivery.remaining(), model.len() - expected.len());
                        prop_assert_eq!(delivery.messages().len(), expected.len());
                        for (message, text) in delivery.messages().iter().zip(&expected) {
                            let whole = session.full_text(message.id);
                            let whole = if message.cut.is_some() { whole.unwrap() } else { message.text.clone() };
                            prop_assert_eq!(&whole, text);
                            prop_assert!(message.text.len() <= bytes);
                        }
                        if accept {
                            delivery.accept();
                            model.drain(..expected.len());
                        }
                    }
                    Step::Hold => match holding.take() {
                        None => {
                            holding = Some(session.collect().at_most(most(2, 1_000)).ready());
                            held = model.drain(..model.len().min(2)).collect();
                        }
                        Some(delivery) => {
                            drop(delivery);
                            for one in held.drain(..) {
                                match model.iter_mut().find(|other| one.1.is_some() && other.1 == one.1) {
                                    Some(later) => later.0 = one.0,
                                    None => model.push(one),
                                }
                            }
                            model.sort_by_key(|one| one.0);
                        }
                    },
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn of_a_delivery_some_can_be_accepted_and_the_others_stand_where_they_stood() {
    let (bus, session) = session().await;
    let mut signals = bus.signals();
    for text in ["a", "b", "c", "d"] {
        send(&session, late("h", 0, text));
    }
    let taken = session.collect().ready().accept_some(|message| matches!(&*message.text, "b" | "d"));
    let taken: Vec<&str> = taken.iter().map(|message| &*message.text).collect();
    assert_eq!(taken, ["b", "d"]);
    send(&session, late("h", 0, "e"));
    assert_eq!(texts(&session.collect().ready()), ["a", "c", "e"]);
    assert!(session.collect().ready().accept_some(|_| false).is_empty());
    assert_eq!(texts(&session.collect().ready()), ["a", "c", "e"]);
    assert_eq!(told(&mut signals), ["delivered 2"]);
}
