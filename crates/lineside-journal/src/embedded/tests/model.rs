//! Any sequence of appends, checkpoints, kills and losses of power, against a model of what has to be there.

use lineside_core::journal::Durability;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Append { records: usize, length: usize, durability: Durability },
    Checkpoint { back: u64 },
    Kill,
    PowerLoss { seed: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    use Durability::{Disk, Memory, Process};
    let durability = prop::sample::select(vec![Memory, Process, Disk]);
    prop_oneof![
        8 => (0..5usize, 0..900usize, durability)
            .prop_map(|(records, length, durability)| Step::Append { records, length, durability }),
        1 => (0..4u64).prop_map(|back| Step::Checkpoint { back }),
        1 => Just(Step::Kill),
        2 => any::<u64>().prop_map(|seed| Step::PowerLoss { seed }),
    ]
}

/// What a journal may hold: the end of each append, and what has to be there.
#[derive(Debug, Default)]
struct Model {
    up_to: u64,
    ends: Vec<u64>,
    last: u64,
    /// Survives a kill.
    process: u64,
    /// Survives a loss of power.
    disk: u64,
}

fn content(sequence: u64, length: usize) -> Vec<u8> {
    sequence.to_le_bytes().into_iter().cycle().take(length.max(8)).collect()
}

impl Model {
    fn check(&mut self, journal: &EmbeddedJournal, least: u64) {
        let records: Vec<_> = journal.recovered().collect();
        let (snapshot, log): (Vec<_>, Vec<_>) =
            records.into_iter().partition(|(sequence, _)| sequence.0 <= self.up_to);
        assert_eq!(snapshot.len(), usize::from(self.up_to > 0));
        for (expected, (sequence, record)) in (self.up_to + 1..).zip(&log) {
            assert_eq!(sequence.0, expected);
            assert_eq!(record.bytes, content(expected, record.bytes.len()));
        }
        let last = self.up_to + log.len() as u64;
        assert!(last >= least && last <= self.last.max(self.up_to), "{last} of {least} to {}", self.last);
        assert!(last == self.up_to || self.ends.contains(&last), "{last} is not the end of an append");
        self.ends.retain(|end| *end <= last);
        (self.last, self.process, self.disk) = (last, last, last);
        assert_eq!(journal.last(), Sequence(last));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever happens, what was acknowledged is there, in order, and no append is there in part.
    #[test]
    fn what_was_acknowledged_survives_what_it_was_said_to_survive(steps in prop::collection::vec(step(), 1..40)) {
        let mut disk = Fake::default();
        let mut journal = open(&disk);
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Append { records, length, durability } => {
                    let records = (1..=records as u64).map(|i| Record::new(1, content(model.last + i, length)));
                    let receipt = block_on(journal.append_with(records.collect(), durability)).unwrap();
                    assert!(receipt.durability >= durability);
                    model.last = receipt.last.0;
                    model.ends.push(model.last);
                    if durability >= Durability::Process { model.process = model.last; }
                    if durability == Durability::Disk { model.disk = model.last; }
                }
                Step::Checkpoint { back } => {
                    let up_to = model.last.saturating_sub(back).max(model.up_to);
                    if up_to == 0 { continue }
                    block_on(journal.checkpoint(vec![Record::new(1, content(up_to, 8))], Sequence(up_to))).unwrap();
                    model.up_to = up_to;
                    (model.process, model.disk) = (model.process.max(up_to), model.disk.max(up_to));
                }
                Step::Kill => {
                    disk = disk.after_kill();
                    journal = open(&disk);
                    model.check(&journal, model.process);
                }
                Step::PowerLoss { mut seed } => {
                    disk = disk.after_power_loss(|| {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        seed % 4 != 0
                    });
                    journal = open(&disk);
                    model.check(&journal, model.disk);
                }
            }
        }
        journal.close().unwrap();
        let journal = open(&disk.after_power_loss(|| false));
        let last = model.last;
        model.check(&journal, last);
    }
}
