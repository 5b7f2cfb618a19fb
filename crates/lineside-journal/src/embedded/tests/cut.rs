//! A log that ends behind its header: a new one, one that was cut, and one that lost its power.

use super::*;

#[test]
fn a_log_that_is_cut_behind_its_beginning_is_told_of_if_it_held_records() {
    let disk = Fake::default();
    let journal = open(&disk);
    let untouched = |disk: &Fake| open(&disk.after_kill()).findings().to_vec();
    assert_eq!(untouched(&disk), [], "a new journal");
    append(&journal, &["one"]).unwrap();
    let cuts: [fn(&mut Vec<u8>, usize); 2] =
        [|file, length| file.truncate(length), |file, length| file[length..].fill(0)];
    for (length, cut) in [header::LENGTH, header::LENGTH + frame::LENGTH]
        .into_iter()
        .flat_map(|length| cuts.map(|cut| (length, cut)))
    {
        let disk = disk.after_kill();
        disk.edit(&segment::name(1), |file| cut(file, length));
        let reopened = open(&disk);
        assert!(recovered(&reopened).is_empty());
        let [Finding::Cut { bytes, .. }] = reopened.findings() else { panic!("{:?}", reopened.findings()) };
        assert_eq!(*bytes, length as u64);
        drop(reopened);
        assert_eq!(untouched(&disk), [], "it is reported once");
    }
}

#[test]
fn a_loss_of_power_before_the_first_synchronisation_is_no_cut() {
    let disk = Fake::default();
    let journal = open(&disk);
    let records = vec![Record::new(1, "x".repeat(2000).as_str())];
    block_on(journal.append_with(records, Durability::Process)).unwrap();
    for survives in [[false; 3], [true, false, false], [false, true, false], [true, true, false]] {
        let mut sectors = survives.into_iter().cycle();
        let reopened = open(&disk.after_power_loss(|| sectors.next().unwrap()));
        let is_cut = reopened.findings().iter().any(|finding| matches!(finding, Finding::Cut { .. }));
        assert!(!is_cut, "{survives:?}: {:?}", reopened.findings());
    }
}
