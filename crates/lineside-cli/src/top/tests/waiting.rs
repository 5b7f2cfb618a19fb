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
