//! Ends: what was acknowledged has run to its end or rests dead, and the work itself has left its files.

use std::collections::{BTreeMap, BTreeSet};

use super::judgement::{Effects, Judgement, Violation};
use crate::contract::{self, CONTRACTS};
use crate::log::{How, Label, Line, Published, Rest};

pub(super) fn check(lines: &[Line], effects: &Effects, judgement: &mut Judgement) {
    let mut well: BTreeSet<(&str, &Label)> = BTreeSet::new();
    let mut dead: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut graves: BTreeSet<(&str, u64)> = BTreeSet::new();
    let mut running = BTreeMap::new();
    let mut jobs: BTreeSet<(&str, u64)> = BTreeSet::new();
    let mut acknowledged: BTreeSet<(&'static str, &Published)> = BTreeSet::new();
    for line in lines {
        match line {
            Line::Born { .. } => running.clear(),
            Line::Acknowledged { kind, events } => {
                let hear = CONTRACTS.iter().filter(|contract| contract.hears == kind);
                hear.for_each(|one| acknowledged.extend(events.iter().map(|event| (one.name, event))));
            }
            Line::Started(start) => {
                jobs.insert((&start.automation, start.job));
                running.insert(start.run, start);
            }
            Line::Ended { run, how } => {
                if let Some(start) = running.remove(run).filter(|_| *how == How::Well) {
                    well.extend(start.labels.iter().map(|label| (&*start.automation, label)));
                }
            }
            Line::Rests { job, automation, events, how, attempts } => {
                jobs.insert((automation, *job));
                let (automation_name, job) = (automation.clone(), *job);
                match how {
                    Rest::Done | Rest::Replaced => {}
                    Rest::Dead => {
                        graves.insert((&**automation, job));
                        dead.extend(events.iter().map(|id| (&**automation, &**id)));
                        if contract::of(automation).is_some_and(|contract| *attempts < contract.attempts) {
                            let (automation, attempts) = (automation_name, *attempts);
                            judgement.violations.push(Violation::DeadTooSoon { automation, job, attempts });
                        }
                    }
                    Rest::Otherwise(how) => {
                        let (automation, how) = (automation_name, how.clone());
                        judgement.violations.push(Violation::Rests { automation, job, how });
                    }
                }
            }
            _ => {}
        }
    }
    judgement.figures.acknowledged = acknowledged.len() as u64;
    judgement.figures.jobs = jobs.len() as u64;
    judgement.figures.dead = graves.len() as u64;
    judgement.figures.files = effects.len() as u64;
    for (automation, Published { label, id }) in acknowledged {
        if !well.contains(&(automation, label)) && !dead.contains(&(automation, &**id)) {
            let (automation, label) = (automation.to_owned(), label.clone());
            judgement.violations.push(Violation::Lost { automation, label });
        }
    }
    check_files(&well, effects, judgement);
}

/// What came to its end has left a file, and no file says more than there were attempts.
fn check_files(well: &BTreeSet<(&str, &Label)>, effects: &Effects, judgement: &mut Judgement) {
    for contract in CONTRACTS.iter().filter(|contract| contract.files) {
        let over = effects.iter().filter(|(_, count)| **count > contract.attempts);
        let over = over.map(|(label, count)| Violation::Effect { label: label.clone(), count: *count });
        judgement.violations.extend(over);
        let own = well.iter().filter(|(automation, _)| *automation == contract.name);
        let missing = own.filter(|(_, label)| !effects.contains_key(*label));
        let missing = missing.map(|(_, label)| Violation::Effect { label: (*label).clone(), count: 0 });
        judgement.violations.extend(missing);
    }
}
