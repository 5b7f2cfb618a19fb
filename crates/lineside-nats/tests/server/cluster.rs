//! What members of a cluster have of one another.

use std::time::Duration;

use bytes::Bytes;
use lineside_nats::health::ServerSync;
use lineside_nats::{
    AskMachineError, Cluster, Credentials, Entry, EntryName, JoinClusterError, JoinSettings, Link, Sync,
};
use tokio::time::{Instant, timeout};

use crate::members::{member, settings, stands};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

const ONE: EntryName = EntryName(1);
const TWO: EntryName = EntryName(2);

/// Waits until a member has this of an entry.
pub(crate) async fn has(
    cluster: &Cluster,
    name: EntryName,
    so: impl Fn(Option<&Entry>) -> bool,
) -> Option<Entry> {
    cluster.follow(name);
    let found = async {
        loop {
            let entry = cluster.get(name);
            if so(entry.as_ref()) {
                return entry;
            }
            cluster.changed().await;
        }
    };
    timeout(LONG, found).await.expect("it has it in time")
}

pub(crate) fn is(value: &str) -> impl Fn(Option<&Entry>) -> bool {
    move |entry| entry.is_some_and(|entry| entry.value == value)
}

/// Answers each question with its text and this behind it.
pub(crate) fn answering(mut questions: lineside_nats::cluster::Questions, more: &'static str) {
    tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            let answer = [&question.text, more.as_bytes()].concat();
            question.answer(answer.into()).await;
        }
    });
}

#[tokio::test]
async fn an_entry_of_one_machine_is_read_by_the_others_and_goes_with_it() {
    let nats = Nats::new().await;
    let (a, _questions_a) = member(&nats.url(), "a").await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    a.put(ONE, "one");
    let entry = has(&b, ONE, is("one")).await.unwrap();
    assert_eq!((&*entry.machine, &*entry.life), ("a", "1"));
    a.put(ONE, "another");
    let later = has(&b, ONE, is("another")).await.unwrap();
    assert!(later.revision > entry.revision);
    assert_eq!(a.get(ONE), None, "its own is not one of others");
    // The bucket has it for those who have not read it yet.
    assert_eq!(a.look_up(ONE, LONG).await.unwrap().value, "another");
    a.put(TWO, "two");
    has(&b, TWO, is("two")).await;
    a.remove(ONE);
    has(&b, ONE, |entry| entry.is_none()).await;
    assert_eq!(b.look_up(ONE, LONG).await, None, "its deletion is no entry");
    a.leave(LONG).await;
    has(&b, TWO, |entry| entry.is_none()).await;
    assert_eq!(b.look_up(TWO, LONG).await, None);
    assert!(b.away_since("a").is_some());
}

#[tokio::test]
async fn a_member_that_comes_later_reads_what_is_there() {
    let nats = Nats::new().await;
    let (a, _questions_a) = member(&nats.url(), "a").await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    (0..1_000).for_each(|number| a.put(EntryName(number), number.to_string()));
    has(&b, EntryName(999), is("999")).await;
    // Written in any order.
    for number in 0..1_000 {
        has(&b, EntryName(number), |entry| entry.is_some()).await;
    }
    let (c, _questions_c) = member(&nats.url(), "c").await;
    assert_eq!(c.mirrored(), 1_000);
    assert_eq!(c.get(EntryName(500)).unwrap().value, "500");
    let machines: Vec<_> = c.members().into_iter().map(|member| member.machine).collect();
    assert!(machines.contains(&"c".to_owned()) || machines.len() <= 2);
}

#[tokio::test]
async fn a_machine_answers_questions_and_one_that_is_not_there_fails_at_once() {
    let nats = Nats::new().await;
    let (a, questions_a) = member(&nats.url(), "a").await;
    let (b, questions_b) = member(&nats.url(), "b").await;
    answering(questions_a, "!");
    assert_eq!(b.ask("a", Bytes::from("well"), LONG).await.unwrap(), "well!");
    let before = Instant::now();
    let away = |machine: &str| AskMachineError::Away { machine: machine.to_owned() };
    assert_eq!(b.ask("nobody", Bytes::new(), LONG).await, Err(away("nobody")));
    assert!(before.elapsed() < LONG / 2);
    // B does not take its questions.
    let within = Duration::from_millis(50);
    let late = AskMachineError::TimedOut { machine: "b".to_owned() };
    assert_eq!(a.ask("b", Bytes::from("x"), within).await, Err(late));
    for _ in 1..1_024 {
        a.tell("b", Bytes::from("x"));
    }
    let busy = AskMachineError::Busy { machine: "b".to_owned() };
    assert_eq!(a.ask("b", Bytes::from("x"), LONG).await, Err(busy));
    drop(questions_b);
    let length = 2 << 20;
    let large = AskMachineError::TooLarge { length, most: 1 << 20 };
    assert_eq!(a.ask("b", vec![0; length].into(), LONG).await, Err(large));
    a.leave(LONG).await;
    assert_eq!(b.ask("a", Bytes::new(), LONG).await, Err(away("a")));
}

#[tokio::test]
async fn a_machine_that_was_cut_off_has_what_it_missed_when_it_is_back() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, _questions_a) = member(&nats.url(), "a").await;
    let (b, questions_b) = member(&proxy.url(), "b").await;
    answering(questions_b, "!");
    a.put(ONE, "one");
    a.put(TWO, "two");
    has(&b, ONE, is("one")).await;
    has(&b, TWO, is("two")).await;
    assert!(a.ask("b", Bytes::new(), LONG).await.is_ok());
    proxy.cut();
    stands(&b, |health| !health.link.is_together()).await;
    assert_eq!(b.ask("a", Bytes::new(), LONG).await, Err(AskMachineError::NotConnected));
    assert_eq!(b.look_up(ONE, LONG).await, None);
    // The server has to notice it, too.
    let away = Err(AskMachineError::Away { machine: "b".to_owned() });
    while a.ask("b", Bytes::new(), Duration::from_millis(50)).await != away {}
    assert_eq!(b.get(ONE).unwrap().value, "one", "what it has read stays");
    a.put(ONE, "changed");
    a.remove(TWO);
    b.put(EntryName(3), "of b");
    proxy.heal();
    has(&b, ONE, is("changed")).await;
    has(&b, TWO, |entry| entry.is_none()).await;
    has(&a, EntryName(3), is("of b")).await;
    let health = stands(&b, |health| health.link.is_together()).await;
    assert!(matches!(health.link, Link::Together { times: 2.., .. }));
    assert_eq!(a.ask("b", Bytes::from("again"), LONG).await.unwrap(), "again!");
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_or_has_lost_everything_is_joined_when_it_is_there() {
    let mut nats = Nats::new().await;
    nats.kill();
    let (a, _questions_a) = Cluster::join(settings(&nats.url(), "a", "1")).await.unwrap();
    a.put(ONE, "one");
    assert!(!a.health().borrow().link.is_together());
    nats.start().await;
    stands(&a, |health| health.link.is_together()).await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    has(&b, ONE, is("one")).await;
    nats.kill();
    for member in [&a, &b] {
        stands(member, |health| !health.link.is_together()).await;
    }
    nats.lose_everything();
    nats.start().await;
    stands(&a, |health| health.link.is_together()).await;
    let (c, _questions_c) = member(&nats.url(), "c").await;
    has(&c, ONE, is("one")).await;
    stands(&b, |health| health.link.is_together()).await;
    has(&b, ONE, is("one")).await;
}

#[tokio::test]
async fn what_an_earlier_life_of_a_machine_has_left_is_taken_out_by_the_next() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    let (first, _questions) = member(&proxy.url(), "a").await;
    first.put(ONE, "one");
    has(&b, ONE, is("one")).await;
    // Its end is not heard.
    proxy.cut();
    stands(&first, |health| !health.link.is_together()).await;
    first.leave(LONG).await;
    assert_eq!(b.get(ONE).unwrap().value, "one");
    let (second, _questions) = Cluster::join(settings(&nats.url(), "a", "2")).await.unwrap();
    stands(&second, |health| health.link.is_together()).await;
    has(&b, ONE, |entry| entry.is_none()).await;
    let taken_out = async {
        while b.look_up(ONE, LONG).await.is_some() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, taken_out).await.expect("no other daemon has the name of this machine");
}

#[tokio::test]
async fn two_daemons_are_not_one_machine() {
    let nats = Nats::new().await;
    let (first, _questions) = member(&nats.url(), "a").await;
    let (second, _questions) = Cluster::join(settings(&nats.url(), "a", "2")).await.unwrap();
    let why = |health: &lineside_nats::Health| match &health.link {
        Link::Away { why, .. } => why.contains("another daemon is machine `a`"),
        _ => false,
    };
    stands(&second, why).await;
    first.leave(LONG).await;
    stands(&second, |health| health.link.is_together()).await;
}

#[tokio::test]
async fn of_two_daemons_of_one_name_that_come_at_once_one_stays_and_has_its_entries() {
    let nats = Nats::new().await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    for turn in 0..5 {
        let (first, second) = (format!("{turn}a"), format!("{turn}b"));
        let joins = [&first, &second].map(|life| Cluster::join(settings(&nats.url(), "a", life)));
        let mut members = Vec::new();
        for (joined, name) in
            futures_util::future::try_join_all(joins).await.unwrap().into_iter().zip([ONE, TWO])
        {
            joined.0.put(name, "mine");
            members.push((joined, name));
        }
        let is_refused = |cluster: &Cluster| match &cluster.health().borrow().link {
            Link::Away { why, .. } => why.contains("another daemon is machine `a`"),
            _ => false,
        };
        let settled = async {
            loop {
                let (away, together): (Vec<_>, Vec<_>) =
                    members.iter().partition(|((one, _), _)| is_refused(one));
                let [((one, _), name)] = &*together else {
                    tokio::task::yield_now().await;
                    continue;
                };
                if away.len() == 1 && one.health().borrow().link.is_together() {
                    return *name;
                }
                tokio::task::yield_now().await;
            }
        };
        let stays = timeout(LONG, settled).await.expect("one of them stays");
        has(&b, stays, is("mine")).await;
        for ((one, _questions), _) in members {
            one.leave(LONG).await;
        }
        has(&b, stays, |entry| entry.is_none()).await;
    }
}

/// The user `u` of the account `A` may ask the server how it is set.
const TELLS: &str = r#"
accounts: {
    SYS: {users: [{user: s, password: s}], exports: [{service: "$SYS.REQ.SERVER.*.JSZ", accounts: [A]}]}
    A: {
        jetstream: enabled, users: [{user: u, password: p}]
        imports: [{service: {account: SYS, subject: "$SYS.REQ.SERVER.*.JSZ"}}]
    }
}
system_account: SYS
"#;

#[tokio::test]
async fn when_the_server_syncs_is_read_where_it_says_so_and_may_be_required() {
    let nats = Nats::with(TELLS).await;
    let of_user = |machine: &str| JoinSettings {
        credentials: Credentials::read("u:p"),
        ..settings(&nats.url(), machine, "1")
    };
    let (a, _questions) = Cluster::join(of_user("a")).await.unwrap();
    stands(&a, |health| health.link.is_together()).await;
    let server = a.health().borrow().server.clone().unwrap();
    assert_eq!(server.sync, ServerSync::Within(Duration::from_secs(120)));
    let requires = |settings: JoinSettings| JoinSettings { sync: Sync::Always, ..settings };
    let (b, _questions) = Cluster::join(requires(of_user("b"))).await.unwrap();
    let says = |health: &lineside_nats::Health, part: &str| match &health.link {
        Link::Away { why, .. } => why.contains("require_fsync") && why.contains(part),
        _ => false,
    };
    stands(&b, |health| says(health, "it syncs within 120s")).await;
    let silent = Nats::new().await;
    let (c, _questions) = Cluster::join(requires(settings(&silent.url(), "b", "1"))).await.unwrap();
    stands(&c, |health| says(health, "does not say so")).await;
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused() {
    let wrong = Cluster::join(settings("nats://u:secret@[", "a", "1")).await.unwrap_err().to_string();
    assert!(wrong.contains("no list of addresses") && !wrong.contains("secret"), "{wrong}");
    let of_user = Cluster::join(settings("nats://u:secret@127.0.0.1:1", "a", "1")).await;
    assert!(matches!(of_user, Err(JoinClusterError::UserInAddress)));
    let credentials = Credentials::read("BEGIN NATS USER JWT");
    let wrong = Cluster::join(JoinSettings { credentials, ..settings("nats://127.0.0.1:1", "a", "1") }).await;
    assert!(matches!(wrong, Err(JoinClusterError::Credentials(_))));
}

#[tokio::test]
async fn a_user_that_the_server_does_not_let_in_is_said_to_be_one() {
    let nats = Nats::with(r#"authorization: {users: [{user: u, password: p}]}"#).await;
    let wrong = JoinSettings { credentials: Credentials::read("u:q"), ..settings(&nats.url(), "a", "1") };
    let (a, _questions) = Cluster::join(wrong).await.unwrap();
    let why = |health: &lineside_nats::Health| match &health.link {
        Link::Away { why, .. } => why.contains("authorization violation"),
        _ => false,
    };
    stands(&a, why).await;
}

#[tokio::test]
async fn an_entry_that_is_longer_than_the_server_takes_takes_no_other_along_and_leaves_no_earlier_one() {
    let nats = Nats::new().await;
    let (a, _questions_a) = member(&nats.url(), "a").await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    a.put(ONE, "one");
    has(&b, ONE, is("one")).await;
    a.put(ONE, vec![b'x'; (1 << 20) + 1]);
    has(&b, ONE, |entry| entry.is_none()).await;
    a.put(TWO, "two");
    has(&b, TWO, is("two")).await;
    assert_eq!(b.look_up(ONE, LONG).await, None);
    let link = a.health().borrow().link.clone();
    assert!(matches!(link, Link::Together { times: 1, .. }), "{link:?}");
    a.put(ONE, "short again");
    has(&b, ONE, is("short again")).await;
}

#[tokio::test]
async fn what_is_answered_at_once_waits_for_no_other_question_and_what_is_given_back_waits_for_its_turn() {
    let nats = Nats::new().await;
    let (a, mut questions) = member(&nats.url(), "a").await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    a.answer_at_once(|question| {
        if question.text != "now" {
            return Some(question);
        }
        tokio::spawn(question.answer(Bytes::from("at once")));
        None
    });
    let asks = b.clone();
    let later = tokio::spawn(async move { asks.ask("a", Bytes::from("later"), LONG).await });
    let asked = timeout(LONG, questions.next()).await.expect("it is asked").unwrap();
    assert_eq!(b.ask("a", Bytes::from("now"), LONG).await.unwrap(), "at once");
    asked.answer(Bytes::from("in its turn")).await;
    assert_eq!(later.await.unwrap().unwrap(), "in its turn");
}

#[tokio::test]
async fn a_question_under_way_fails_when_the_machine_that_is_asked_goes() {
    let nats = Nats::new().await;
    let (a, mut questions_a) = member(&nats.url(), "a").await;
    let (b, _questions_b) = member(&nats.url(), "b").await;
    let asked = tokio::spawn(async move { b.ask("a", Bytes::from("well"), 100 * LONG).await });
    let question = questions_a.next().await.unwrap();
    a.leave(LONG).await;
    let away = AskMachineError::Away { machine: "a".to_owned() };
    assert_eq!(timeout(LONG, asked).await.expect("it does not wait for its time").unwrap(), Err(away));
    drop(question);
}
