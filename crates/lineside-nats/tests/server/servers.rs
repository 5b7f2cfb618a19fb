//! Three servers of which any may be away, and servers whose users may do what they need alone.

use std::time::Duration;

use bytes::Bytes;
use lineside_nats::{Cluster, Credentials, EntryName, JoinSettings, Link, NewName, StartsIn, Token};
use tokio::time::timeout;

use crate::cluster::{answering, has, is};
use crate::jobs::next;
use crate::members::{member, settings, stands};
use crate::nats::{LONG, Nats};
use crate::windows::{Holds, Runs};

const ONE: EntryName = EntryName(1);

/// Three servers that are one.
async fn three() -> [Nats; 3] {
    // Each has to know the others before it is started.
    let ports: Vec<u16> = {
        let free = [(); 3].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
        free.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
    };
    let routes: Vec<_> = ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
    let one = async |number: usize| {
        let (port, routes) = (ports[number], routes.join(", "));
        let cluster = format!("{{name: three, listen: \"127.0.0.1:{port}\", routes: [{routes}]}}");
        Nats::with(&format!("server_name: n{number}\ncluster: {cluster}")).await
    };
    [one(0).await, one(1).await, one(2).await]
}

#[tokio::test]
async fn what_machines_have_outlives_the_loss_of_any_of_three_servers() {
    let mut servers = three().await;
    let urls = servers.iter().map(Nats::url).collect::<Vec<_>>().join(",");
    let (a, questions_a) = member(&urls, "a").await;
    answering(questions_a, "!");
    let (b, _questions_b) = member(&urls, "b").await;
    a.put(ONE, "all are there");
    has(&b, ONE, is("all are there")).await;
    for (number, server) in servers.iter_mut().enumerate() {
        // One of the three leads what the bucket is.
        server.kill();
        let value = format!("without {number}");
        a.put(ONE, value.clone());
        has(&b, ONE, is(&value)).await;
        let asked = async {
            while b.ask("a", Bytes::from("well"), LONG).await.ok() != Some(Bytes::from("well!")) {
                // A question to a machine that is away fails at once, and that it is back is heard on this thread.
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, asked).await.expect("it is asked in time");
        server.start().await;
        for one in [&a, &b] {
            stands(one, |health| health.link.is_together()).await;
        }
        assert_eq!(b.look_up(ONE, LONG).await.map(|entry| entry.value), Some(Bytes::from(value)));
    }
}

/// A machine of the example, as this user of its servers.
async fn of_example(nats: &Nats, machine: &str, user: &str) -> (Cluster, lineside_nats::cluster::Questions) {
    let settings = JoinSettings {
        cluster: Token::new("build").unwrap(),
        credentials: Credentials::read(&format!("{user}:change-{user}")),
        ..settings(&nats.url(), machine, "1")
    };
    Cluster::join(settings).await.unwrap()
}

#[tokio::test]
async fn machines_with_the_permissions_of_the_example_join_and_write_in_no_other_name() {
    let nats = Nats::with(include_str!("../../../../examples/cluster/machines.conf")).await;
    let (a, questions_a) = of_example(&nats, "a", "a").await;
    answering(questions_a, "!");
    let (b, _questions_b) = of_example(&nats, "b", "b").await;
    for one in [&a, &b] {
        stands(one, |health| health.link.is_together()).await;
    }
    a.put(ONE, "of a");
    has(&b, ONE, is("of a")).await;
    assert_eq!(b.look_up(ONE, LONG).await.unwrap().value, "of a");
    assert_eq!(b.ask("a", Bytes::from("well"), LONG).await.unwrap(), "well!");
    let key = Token::new("k").unwrap();
    let fences = [&a, &b].map(|one| one.under(&key, std::future::ready));
    let fences =
        timeout(LONG, futures_util::future::join_all(fences)).await.expect("each has the key in time");
    assert_ne!(fences[0].clone().unwrap(), fences[1].clone().unwrap());
    let (runs, window) = (Runs::default(), Token::new("w").unwrap());
    let held = [Holds::new(0, &runs), Holds::new(1, &runs)];
    held[0].push("one".to_owned());
    held[1].push("other".to_owned());
    let parts = [&a, &b].into_iter().zip(&held).map(|(one, held)| one.take_part(&window, held));
    timeout(LONG, futures_util::future::join_all(parts)).await.expect("the window is over in time");
    let ran = runs.lock().unwrap().clone();
    assert!(matches!(&ran[..], [(_, events)] if events.len() == 2), "{ran:?}");
    let one = StartsIn { starts: 1, period: Duration::from_secs(3_600) };
    let starts = [a.let_in(&key, one, false).await, b.let_in(&key, one, false).await];
    assert_eq!(starts, [true, false], "one is let in");
    let name = NewName { job: 7, round: "1".to_owned(), hook: "content.hook".to_owned(), key: None };
    a.name_jobs(vec![name]).await.unwrap();
    assert_eq!(b.hooks_with_jobs().await, ["content.hook"]);
    let taken = next(&mut b.job_queue("content.hook")).await;
    assert_eq!((&*taken.name.machine, taken.name.job), ("a", 7));
    taken.hold().await;
    taken.done().await;
    a.remove(ONE);
    has(&b, ONE, |entry| entry.is_none()).await;
    a.leave(LONG).await;
    // The user of the one machine is not believed to be the other.
    let (other, _questions) = of_example(&nats, "a", "b").await;
    other.put(ONE, "of a, it says");
    let is_refused = |health: &lineside_nats::Health| match &health.link {
        Link::Away { why, .. } => why.contains("failed to write"),
        _ => false,
    };
    stands(&other, is_refused).await;
    assert_eq!(b.look_up(ONE, LONG).await, None);
}

#[tokio::test]
async fn a_server_with_tls_is_joined_by_those_who_have_its_root_and_by_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let roots = file("root.pem", made.cert.pem());
    let key = file("key.pem", made.signing_key.serialize_pem());
    let nats = Nats::with(&format!("tls: {{cert_file: {roots:?}, key_file: {key:?}}}")).await;
    let url = nats.url().replace("nats://", "tls://");
    let with = |machine: &str, roots| JoinSettings { roots, ..settings(&url, machine, "1") };
    let (a, _a) = Cluster::join(with("a", Some(roots))).await.unwrap();
    stands(&a, |health| health.link.is_together()).await;
    let (b, _b) = Cluster::join(with("b", None)).await.unwrap();
    let is_refused = |health: &lineside_nats::Health| match &health.link {
        Link::Away { why, .. } => !why.is_empty(),
        _ => panic!("it has joined"),
    };
    let health = stands(&b, is_refused).await;
    let Link::Away { why, .. } = health.link else { unreachable!() };
    assert!(why.contains("certificate"), "{why}");
}
