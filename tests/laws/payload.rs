//! Laws 4 and 5.

use lineside::core::Amendment;
use lineside::prelude::*;

use crate::{ran, session, shell};

#[tokio::test]
async fn the_decision_is_about_the_bytes_that_run() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("guard")
        .priority(2)
        .gate(async |call: lineside::core::Event<BeforeTool>, _| match call.command().as_deref() {
            Some("rm -rf /") => Verdict::block("not that"),
            _ => Verdict::allow(),
        })
        .unwrap();
    root.intercept::<BeforeTool>("rewrites")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "rm -rf /"}))))
        .unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    // The guard has judged `ls`; what would run is something else, and it judges that too.
    assert_eq!(ran(&decision), ["guard", "rewrites", "guard"]);
    assert_eq!(decision.verdict(), &Verdict::block("not that"));
    assert!(decision.is_about(&shell("rm -rf /")));
    assert!(!decision.is_about(&shell("ls")));
}

#[tokio::test]
async fn d05_a_guard_that_its_matcher_left_out_is_asked_about_what_the_payload_has_become() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("guard")
        .priority(2)
        .matching(text("rm -rf"))
        .gate(async |_, _| Verdict::block("not that"))
        .unwrap();
    root.intercept::<BeforeTool>("rewrites")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "rm -rf /"}))))
        .unwrap();
    assert!(root.publish(shell("ls")).await.unwrap().is_refused());
}

#[tokio::test]
async fn d05_what_came_with_an_earlier_judgement_is_taken_back() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("notes")
        .priority(2)
        .gate(async |call: lineside::core::Event<BeforeTool>, _| {
            Judgement::from(Verdict::Continue).append(call.command().unwrap().into_owned())
        })
        .unwrap();
    root.intercept::<BeforeTool>("rewrites")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "other"}))))
        .unwrap();
    let decision = root.publish(shell("ls")).await.unwrap();
    let texts: Vec<_> = decision.context().iter().map(|by| by.what.text.as_str()).collect();
    assert_eq!(texts, ["other"]);
}

#[tokio::test]
async fn d05_an_approval_of_an_earlier_payload_counts_for_nothing() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("approves").priority(2).amend(async |_, _| Verdict::allow()).unwrap();
    root.intercept::<BeforeTool>("rewrites")
        .priority(1)
        .amend(async |_, _| Reply::amend(BeforeTool::amend().tool_input(json!({"command": "other"}))))
        .unwrap();
    assert_eq!(root.publish(shell("ls")).await.unwrap().verdict(), &Verdict::Continue);
}

#[tokio::test]
async fn an_amendment_is_exact() {
    let (_bus, root) = session().await;
    root.intercept::<BeforeTool>("adds")
        .priority(2)
        .amend(async |call: lineside::core::Event<BeforeTool>, _| {
            let mut input = call.tool_input.clone();
            input["timeout"] = json!(5);
            Reply::amend(BeforeTool::amend().tool_input(input))
        })
        .unwrap();
    root.intercept::<BeforeTool>("sees")
        .priority(1)
        .gate(async |call: lineside::core::Event<BeforeTool>, _| {
            assert_eq!(call.tool_input, json!({"command": "ls", "timeout": 5}));
            assert_eq!(call.original().tool_input, json!({"command": "ls"}));
            Verdict::Continue
        })
        .unwrap();
    let decision = root.publish(shell("ls").paths(vec!["a".to_owned()])).await.unwrap();
    assert!(!decision.is_refused(), "{:?}", decision.reason());
    let [change] = decision.changes() else { panic!("one field has changed") };
    assert_eq!(decision.receipt().unwrap().name(change.hook), "adds");
    assert_eq!(change.what.field, "tool_input");
    assert_eq!(change.what.before, json!({"command": "ls"}));
    assert_eq!(change.what.after, json!({"command": "ls", "timeout": 5}));
    let rest = decision.into_payload();
    assert_eq!((rest.tool_name.as_str(), rest.paths), ("Shell", Some(vec!["a".to_owned()])));
}

#[test]
fn d07_an_amendment_with_a_forbidden_field_changes_nothing() {
    let call = shell("ls");
    let both = Amendment::default().with("tool_input", json!({})).with("tool_name", json!("Other"));
    let refused = both.apply(&call).unwrap_err();
    assert_eq!(refused.to_string(), "`tool_name` of before_tool cannot be amended");
    assert!(Amendment::default().with("tool_inputs", json!({})).apply(&call).is_err());
}
