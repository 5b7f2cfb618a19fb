//! The hooks of one host at one point: their answers count together (HO-50).

use std::sync::Arc;

use lineside_core::ensemble::{Ensemble, Pace, Sees};
use lineside_core::outcome::FromHook;
use lineside_core::{Amendment, Answer, AnyEvent, Notice, Verdict};

use super::format::Format;
use super::select::Selection;

/// The hooks of one host at one point.
pub(super) struct Group {
    pub(super) format: &'static dyn Format,
    pub(super) point: &'static str,
    pub(super) members: Vec<Arc<Selection>>,
}

impl Ensemble for Group {
    fn sees(&self) -> Sees {
        self.format.sees(self.point)
    }

    fn pace(&self, event: &AnyEvent) -> Pace {
        let is_sequential =
            self.members.iter().any(|member| member.entry.is_sequential && member.runs(event));
        self.format.pace(self.point, is_sequential)
    }

    fn finalize(&self, event: &AnyEvent, mut given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        if self.format.profile().joins_reasons {
            join_reasons(&mut given);
        }
        if let Some(merged) = self.format.merged(self.point, event, &given) {
            for by in &mut given {
                by.what.amendment = Amendment::default();
            }
            if let Some(last) = given.last_mut() {
                last.what.amendment = merged;
            }
            return given;
        }
        if self.pace(event) == Pace::AtOnce {
            self.keep_the_last(&mut given);
        }
        given
    }
}

impl Group {
    /// Of amendments of a field that were made beside one another the last one holds.
    fn keep_the_last(&self, given: &mut [FromHook<Answer>]) {
        let Some(last) = given.iter().rposition(|by| !by.what.amendment.is_empty()) else { return };
        let mut notices = Vec::new();
        for at in 0..last {
            let mut kept = Amendment::default();
            for (field, value) in given[at].what.amendment.fields() {
                let later = given[at + 1..].iter().rev();
                let mut held = later.filter_map(|by| Some((by, by.what.amendment.fields().get(field)?)));
                match held.next() {
                    None => kept = kept.with(field, value.clone()),
                    Some((_, held)) if held == value => {}
                    Some((by, _)) => {
                        let (other, holds) = (self.named(&given[at]), self.named(by));
                        notices.push(format!(
                            "hooks `{other}` and `{holds}` change the same; what `{holds}` says holds"
                        ));
                    }
                }
            }
            given[at].what.amendment = kept;
        }
        given[last].what.notices.extend(notices.into_iter().next().map(Notice::warning));
    }

    /// The name of the hook that gave an answer: it stands beside what it said.
    fn named(&self, by: &FromHook<Answer>) -> String {
        let named = by.what.own.as_ref().and_then(|own| own.as_str());
        named.unwrap_or_default().to_owned()
    }
}

/// The reason of the first block becomes that of all, in plan order (GE-21).
fn join_reasons(given: &mut [FromHook<Answer>]) {
    let blocks = given.iter().filter_map(|by| match &by.what.verdict {
        Verdict::Block(reason) => Some(reason.as_str().to_owned()),
        _ => None,
    });
    let reasons: Vec<String> = blocks.collect();
    if reasons.len() < 2 {
        return;
    }
    let joined = reasons.join("\n");
    if let Some(first) = given.iter_mut().find(|by| matches!(by.what.verdict, Verdict::Block(_))) {
        first.what.verdict = Verdict::block(joined);
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::outcome::FromHook;
    use lineside_core::{Answer, Verdict};

    use super::join_reasons;

    #[test]
    fn ge_21_the_reason_of_the_first_block_is_that_of_all() {
        let joined = |verdicts: &[Verdict]| {
            let by =
                |(hook, verdict): (u32, &Verdict)| FromHook { hook, what: Answer::from(verdict.clone()) };
            let mut given: Vec<FromHook<Answer>> = (0..).zip(verdicts).map(by).collect();
            join_reasons(&mut given);
            given.into_iter().map(|by| by.what.verdict).collect::<Vec<_>>()
        };
        let block = |reason: &'static str| Verdict::block(reason);
        assert_eq!(joined(&[block("a")]), [block("a")]);
        assert_eq!(
            joined(&[Verdict::allow(), block("a"), block("b")]),
            [Verdict::allow(), block("a\nb"), block("b")]
        );
        let three = [block("a"), block("b"), block("c")];
        assert_eq!(joined(&three), [block("a\nb\nc"), block("b"), block("c")]);
    }
}
