//! Where a question that waits for a person is seen beside its page.

use super::*;

#[test]
fn a_question_that_waits_is_in_the_timeline_of_its_session_and_is_what_that_does() {
    // Colours have no width.
    let mut stage = Stage::new((180, 24)).fleet(4).coloured();
    stage.told(&Ask::Approvals, Told::Approvals(vec![question()]));
    stage.press("G");
    let fleet = stage.text();
    assert!(fleet.contains("waiting") && fleet.contains("before_tool Bash git push origin main"), "{fleet}");
    stage.size = (80, 16);
    stage.press("⏎");
    let asked = Ask::Timeline { session: "s1".to_owned(), is_tree: false, query: String::new() };
    stage.told(&asked, Told::Timeline(vec![logged("s1", "continue", NOW - 9_000)]));
    insta::assert_snapshot!("timeline_that_waits", stage.text());
    stage.press("G⏎");
    assert_eq!((stage.top.view().kind, &*stage.top.view().about), (Kind::Question, "1f3a9c07"));
    stage.size = (80, 24);
    let text = stage.text();
    assert!(text.contains("command   git push origin main") && !text.contains("below"), "{text}");
    // Once it is answered it is gone, and so from the timeline of the tree.
    stage.press("⎋t");
    assert!(stage.text().contains("git push origin main"), "{}", stage.text());
    stage.told(&Ask::Approvals, Told::Approvals(Vec::new()));
    assert!(!stage.text().contains("git push origin main"), "{}", stage.text());
}

#[test]
fn a_question_that_goes_on_below_is_allowed_when_its_end_was_seen() {
    let mut long = question();
    long["payload"]["tool_input"]["command"] =
        json!(format!("git push # {} && rm -rf build", "x ".repeat(900)));
    let mut stage = Stage::new((80, 24));
    stage.press("2");
    stage.told(&Ask::Approvals, Told::Approvals(vec![long]));
    stage.press("⏎");
    let first = stage.text();
    assert!(first.contains("more lines below") && !first.contains("rm -rf build"), "{first}");
    let mut pages = 0;
    while !stage.text().contains("rm -rf build") {
        stage.press("y");
        assert!(!stage.due().iter().any(Ask::is_change));
        assert!(stage.text().contains("once its end was seen"));
        pages += 1;
    }
    assert!((1..4).contains(&pages) && !stage.text().contains("more lines below"), "{}", stage.text());
    stage.press("y");
    assert!(stage.due().iter().any(Ask::is_change));
}
