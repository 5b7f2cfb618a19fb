//! That what stands in one column moves no other.

use super::*;

#[test]
fn a_label_without_room_for_a_second_name_moves_no_column() {
    let mut stage = Stage::new((80, 24));
    for (session, label) in
        [("a1", "main"), ("a1/b2", "general-purpose"), ("a1/b3", "general-purpose-of-another")]
    {
        let mut event = decided(session, "continue", NOW);
        event["agent"] = json!("b");
        if label != "main" {
            (event["parent"], event["tree"], event["agent_type"]) = (json!("a1"), json!("a1"), json!(label));
        }
        stage.hear(event);
    }
    let text = stage.text();
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("claude")).collect();
    let places = rows.iter().map(|line| line.split("claude").next().unwrap().chars().count());
    assert_eq!((rows.len(), places.collect::<std::collections::HashSet<_>>().len()), (3, 1), "{text}");
}
