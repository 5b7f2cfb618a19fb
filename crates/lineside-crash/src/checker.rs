//! Decides from the log of many lives whether every promise was kept: a pure function.
//!
//! It believes what was written by the work itself and by its publishers and collectors. What the automations say of
//! their jobs is used to tell jobs apart, and for what only they can know: that one rests dead.

use crate::log::Line;

mod context;
mod ends;
mod judgement;
mod runs;

pub(crate) use judgement::{Effects, Judgement};

use judgement::Violation;

/// Judges a log. `strange` are its lines that are none.
pub(crate) fn check(lines: &[Line], strange: Vec<String>, effects: &Effects) -> Judgement {
    let mut judgement = Judgement::default();
    judgement.violations.extend(strange.into_iter().map(Violation::Strange));
    check_lives(lines, &mut judgement);
    runs::check(lines, &mut judgement);
    ends::check(lines, effects, &mut judgement);
    context::check(lines, &mut judgement);
    judgement
}

/// The lives themselves and their journal.
fn check_lives(lines: &[Line], judgement: &mut Judgement) {
    let mut now = 0;
    for line in lines {
        match line {
            Line::Born { life } => {
                now = *life;
                judgement.figures.lives += 1;
            }
            Line::Opened { findings } => {
                judgement.figures.opened += 1;
                let violation = |finding: &String| Violation::Finding { life: now, finding: finding.clone() };
                judgement.violations.extend(findings.iter().map(violation));
            }
            Line::Drained { up_to, sequences } => {
                let mut after = *up_to;
                for found in sequences {
                    if *found != after + 1 {
                        judgement.violations.push(Violation::Sequence { after, found: *found });
                    }
                    after = *found;
                }
            }
            _ => {}
        }
    }
    if !matches!(lines.last(), Some(Line::Drained { .. })) {
        judgement.violations.push(Violation::NotDrained);
    }
}

#[cfg(test)]
mod tests;
