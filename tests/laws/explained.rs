//! Law 17: what was decided is explained afterwards, with every hook and why.

use lineside::core::{Failure, FailureKind, Receipt};
use lineside::log::{Follower, Log, Look, Options, Why};
use lineside::prelude::*;

use crate::{session, shell};

/// A hook of a receipt, or of the page about it: its name, what became of it, its verdict.
type Fate = (String, String, Option<String>);

/// As the receipt has it, in its order.
fn received(receipt: &Receipt) -> Vec<Fate> {
    let receipt = receipt.to_json();
    let text = |hook: &Value, key: &str| hook.get(key).and_then(Value::as_str).map(str::to_owned);
    let hooks = receipt["hooks"].as_array().unwrap().iter();
    hooks
        .map(|hook| {
            let (what, verdict) = match (text(hook, "said"), text(hook, "skipped"), text(hook, "failed")) {
                (Some(said), ..) => ("answered".to_owned(), Some(said)),
                (_, Some(why), _) => (why, None),
                (.., Some(_)) => ("failed".to_owned(), text(hook, "taken_as")),
                _ => ("started".to_owned(), None),
            };
            (text(hook, "hook").unwrap(), what, verdict)
        })
        .collect()
}

fn explained(why: &Why) -> Vec<Fate> {
    let fate = |hook: &lineside::log::Considered| {
        (hook.hook.clone(), hook.what.clone(), hook.verdict.map(|verdict| verdict.to_string()))
    };
    why.hooks.iter().map(fate).collect()
}

#[tokio::test]
async fn every_decision_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.sqlite");
    let (bus, root) = session().await;
    let mut follower = Follower::new(&bus, Log::open(&file, Options::default()).unwrap());
    let pass = async |_, _| Verdict::Continue;
    // Hooks for other tools are not asked at all, and stand in the explanation like all others.
    bus.intercept::<BeforeTool>("other tool").priority(9).matching(tool("WriteFile")).gate(pass).unwrap();
    bus.intercept::<BeforeTool>("other path").priority(8).matching(path("*.rs")).gate(pass).unwrap();
    bus.intercept::<BeforeTool>("judge")
        .priority(7)
        .gate(
            async |event: Event<BeforeTool>, _| {
                if event.tool_input["command"] == "rm" { Verdict::block("no rm") } else { Verdict::Continue }
            },
        )
        .unwrap();
    bus.intercept::<BeforeTool>("fails")
        .priority(6)
        .on_failure(OnFailure::Continue)
        .try_gate(async |_, _| Err::<Verdict, _>(Failure::new(FailureKind::Exit, "exit status 3")))
        .unwrap();
    bus.intercept::<BeforeTool>("amends")
        .priority(5)
        .matching(argument("command", "^mv$"))
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "rm"}))))
        .unwrap();
    bus.intercept::<BeforeTool>("asks")
        .matching(argument("command", "^push$"))
        .gate(async |_, _| Verdict::ask("sure?"))
        .unwrap();
    let mut receipts = Vec::new();
    for command in ["ls", "rm", "mv", "push"] {
        receipts.push(root.publish(shell(command)).await.unwrap().receipt().unwrap().clone());
    }
    follower.end();
    let look = Look::open(&file).unwrap();
    for receipt in receipts {
        let id = receipt.event.envelope().id.to_string();
        let [why] = &look.why(&id).unwrap()[..] else { panic!("{id} is not explained") };
        let (mut told, mut expected) = (explained(why), received(&receipt));
        // The page has plan order, the receipt the order in which hooks were settled.
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "{}", why.decision.payload);
        assert_eq!(why.decision.verdict, receipt.verdict.strength());
        assert_eq!(
            why.decision.reason.as_deref(),
            receipt.verdict.reason().map(lineside::core::Reason::as_str)
        );
        assert_eq!(why.decision.by.as_deref(), receipt.author().map(|author| &*author.name));
        assert_eq!(why.decision.changes as usize, receipt.changes.len());
        let misfit = |name: &str| why.hooks.iter().find(|hook| hook.hook == name).unwrap().detail.clone();
        assert_eq!(misfit("other tool").as_deref(), Some("tool=WriteFile"));
    }
}
