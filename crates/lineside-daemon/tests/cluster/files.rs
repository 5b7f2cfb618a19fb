//! Hooks of files hold below their sessions on other machines too, where these have trusted their content.

use lineside::client::Session;
use lineside::json::json;

use crate::machine::{Machine, comes_to, reason, refusing};
use crate::nats::Nats;
use crate::proxy::Proxy;

async fn two() -> (Nats, Machine, Machine) {
    let nats = Nats::new().await;
    let (a, b) = (Machine::new(&nats.url(), "a").await, Machine::new(&nats.url(), "b").await);
    (nats, a, b)
}

async fn works_in(machine: &Machine, id: &str, root: &std::path::Path) -> Session {
    machine.client().session(id).cwd(root.to_string_lossy()).open().await.unwrap()
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
