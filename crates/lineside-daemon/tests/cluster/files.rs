//! Hooks of files hold below their sessions on other machines too, where these have trusted their content.

use std::path::Path;

use lineside::client::Session;
use lineside::json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::machine::{Machine, comes_to, reason, refusing};
use crate::nats::Nats;
use crate::proxy::Proxy;

async fn two() -> (Nats, Machine, Machine) {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    (nats, a, b)
}

async fn works_in(machine: &Machine, id: &str, root: &Path) -> Session {
    machine.client().session(id).cwd(root.to_string_lossy()).open().await.unwrap()
}

/// A call of the session of an agent program, which works there; its answer.
async fn calls_from(machine: &Machine, id: &str, root: &Path) -> String {
    let mut body = json!({"hook_event_name": "PreToolUse", "session_id": id, "tool_name": "Bash"});
    body["tool_input"] = json!({"command": "ls"});
    body["cwd"] = json!(root.to_string_lossy());
    let body = body.to_string();
    let request = format!(
        "POST /v1/hosts/claude HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\nlineside-protocol: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = UnixStream::connect(machine.socket()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A child that works where no project is.
async fn child_of(machine: &Machine, parent: &Session, id: &str) -> Session {
    machine.below(parent).session(id).cwd("/").open().await.unwrap()
}

#[tokio::test]
async fn a_child_elsewhere_is_under_the_hooks_of_its_parents_project_which_run_where_it_is() {
    let (_nats, a, b) = two().await;
    let root = a.project("repo", &refusing("rm"));
    a.trust(&root);
    b.trust(&b.project("clone", &refusing("rm")));
    let parent = works_in(&a, "s1", &root).await;
    assert_eq!(reason(&parent, "rm").await.as_deref(), Some("no rm"));
    let child = child_of(&b, &parent, "s2").await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&child, "ls").await, None);
    let grandchild = child_of(&b, &child, "s3").await;
    // Also without the machine of its parent.
    a.end().await;
    assert_eq!(reason(&grandchild, "rm").await.as_deref(), Some("no rm"));
    assert_eq!(reason(&grandchild, "ls").await, None);
}

#[tokio::test]
async fn a_child_elsewhere_is_under_the_hooks_of_each_project_that_its_parent_is_in_as_they_stand_there() {
    let (_nats, a, b) = two().await;
    let words = [("one", "rm"), ("other", "dd"), ("third", "mv")];
    let [one, other, third] = words.map(|(name, word)| {
        let root = a.project(name, &refusing(word));
        a.trust(&root);
        root
    });
    let clone = |name: &str, word: &str| b.trust(&b.project(name, &refusing(word)));
    clone("one", "rm");
    for root in [&one, &other] {
        let answer = calls_from(&a, "s1", root).await;
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("deny"), "{answer}");
    }
    let parent = a.client().session("s1").resume().open().await.unwrap();
    let child = child_of(&b, &parent, "s2").await;
    let closed = |root: &Path| json!([root.to_string_lossy()]);
    let untrusted = async || {
        let status = b.status().await;
        let all = status["cluster"]["untrusted"].as_array().cloned().unwrap_or_default();
        all.iter().map(|project| project["root"].clone()).collect::<Value>()
    };
    assert_eq!(untrusted().await, closed(&other), "that of the first one is trusted there");
    let is_closed =
        |reason: Option<&str>| reason.is_some_and(|reason| reason.contains("no project on this machine"));
    assert!(is_closed(reason(&child, "ls").await.as_deref()));
    clone("other", "dd");
    comes_to(&child, "ls", |reason| reason.is_none()).await;
    for word in ["rm", "dd"] {
        assert_eq!(reason(&child, word).await, Some(format!("no {word}")));
    }
    assert_eq!(reason(&child, "mv").await, None);
    // One that its parent comes into while it runs.
    calls_from(&a, "s1", &third).await;
    comes_to(&child, "ls", is_closed).await;
    assert_eq!(untrusted().await, closed(&third));
    clone("third", "mv");
    comes_to(&child, "ls", |reason| reason.is_none()).await;
    let grandchild = child_of(&b, &child, "s3").await;
    // Also without the machine of its parent.
    a.end().await;
    for word in ["rm", "dd", "mv"] {
        assert_eq!(reason(&grandchild, word).await, Some(format!("no {word}")));
    }
}

#[tokio::test]
async fn guards_stand_closed_until_a_person_has_trusted_their_content_there() {
    let (_nats, a, b) = two().await;
    let root = a.project("repo", &refusing("rm"));
    a.trust(&root);
    let clone = b.project("clone", &refusing("rm"));
    let parent = works_in(&a, "s1", &root).await;
    let child = child_of(&b, &parent, "s2").await;
    let closed = reason(&child, "ls").await.unwrap();
    assert!(
        closed.contains("guard") && closed.contains("no project on this machine was trusted"),
        "{closed}"
    );
    let status = b.status().await;
    let untrusted = &status["cluster"]["untrusted"][0];
    assert_eq!((&untrusted["machine"], &untrusted["sessions"]), (&json!("a"), &json!(1)));
    let findings = status["findings"].to_string();
    assert!(findings.contains("its guards stand closed below 1 of its sessions"), "{findings}");
    b.trust(&clone);
    comes_to(&child, "ls", |reason| reason.is_none()).await;
    assert_eq!(reason(&child, "rm").await.as_deref(), Some("no rm"));
    assert_eq!(b.status().await["cluster"]["untrusted"], json!(null));
}

#[tokio::test]
async fn a_project_that_changes_closes_its_guards_elsewhere_until_both_have_trusted_that() {
    let (_nats, a, b) = two().await;
    let root = a.project("repo", &refusing("rm"));
    a.trust(&root);
    let clone = b.project("clone", &refusing("rm"));
    b.trust(&clone);
    let parent = works_in(&a, "s1", &root).await;
    let child = child_of(&b, &parent, "s2").await;
    assert_eq!(reason(&child, "ls").await, None);
    a.project("repo", &refusing("dd"));
    comes_to(&child, "ls", |reason| {
        reason.is_some_and(|reason| reason.contains("is not what was trusted there"))
    })
    .await;
    a.trust(&root);
    comes_to(&child, "ls", |reason| {
        reason.is_some_and(|reason| reason.contains("on this machine was trusted"))
    })
    .await;
    b.project("clone", &refusing("dd"));
    b.trust(&clone);
    comes_to(&child, "ls", |reason| reason.is_none()).await;
    assert_eq!(reason(&child, "dd").await.as_deref(), Some("no dd"));
    assert_eq!(reason(&child, "rm").await, None);
}

#[tokio::test]
async fn hooks_that_do_not_hold_on_their_own_machine_hold_nowhere() {
    let (_nats, a, b) = two().await;
    let root = a.project("repo", &refusing("rm"));
    let parent = works_in(&a, "s1", &root).await;
    assert_eq!(reason(&parent, "rm").await, None, "no person has trusted it");
    let child = child_of(&b, &parent, "s2").await;
    assert_eq!(reason(&child, "rm").await, None);
    a.trust(&root);
    comes_to(&child, "ls", |reason| reason.is_some()).await;
}

#[tokio::test]
async fn of_a_machine_that_cannot_be_asked_for_its_guards_every_gate_stands_closed() {
    let nats = Nats::new().await;
    let proxy = Proxy::to(nats.port).await;
    let (a, b) = (Machine::new(&proxy.url(), "a").await, Machine::new(&nats.url(), "b").await);
    let root = a.project("repo", &refusing("rm"));
    a.trust(&root);
    let parent = works_in(&a, "s1", &root).await;
    b.until(|status| status["cluster"]["mirrored"] == json!(1)).await;
    proxy.cut();
    a.until(|status| status["cluster"]["together"] == json!(false)).await;
    let child = child_of(&b, &parent, "s2").await;
    let closed = reason(&child, "ls").await.unwrap();
    assert!(closed.contains("hook \"hooks of "), "{closed}");
    proxy.heal();
    comes_to(&child, "ls", |reason| reason.is_some_and(|reason| reason.contains("hook \"guard\""))).await;
}
