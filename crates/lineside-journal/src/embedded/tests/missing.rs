//! Records that are in no file: what an opening reports of them.

use super::*;

#[test]
fn what_is_missing_for_good_is_reported_once() {
    let disk = Fake::default();
    let journal = open(&disk);
    for _ in 0..5 {
        append(&journal, &[&"x".repeat(3000)]).unwrap();
    }
    disk.remove(&segment::name(2)).unwrap();
    let disk = disk.after_kill();
    let findings = || open(&disk).findings().to_vec();
    let missing = |number| Finding::Missing { first: Sequence(number), last: Sequence(number) };
    assert_eq!(findings(), [missing(2)]);
    assert_eq!(findings(), []);
    disk.edit(&segment::name(4), |file| file.truncate(header::LENGTH));
    let cut = Finding::Cut { file: segment::name(4), bytes: header::LENGTH as u64 };
    assert_eq!(findings(), [cut, missing(4)], "what comes later is told of");
    assert_eq!(findings(), []);
    assert_eq!(recovered(&open(&disk)).len(), 3);
}
