//! Each rule of the chain by itself.

use std::sync::Arc;
use std::time::Duration;

use super::Chain;
use crate::answer::Answer;
use crate::ensemble::{Ensemble, Sees};
use crate::event::AnyEvent;
use crate::failure::{Failure, FailureKind};
use crate::hook::{AfterBlock, Hook, Part};
use crate::outcome::{FromHook, Outcome, Round, Run, SkipReason};
use crate::verdict::Verdict;

const TOOK: Duration = Duration::from_millis(3);

fn gate() -> Hook {
    Hook::native("gate", Part::Gate)
}

fn of(dialect: &'static str, part: Part) -> Hook {
    Hook { dialect, ..Hook::native("foreign", part) }
}

fn within(dialect: &'static str) -> Hook {
    Hook { after_block: AfterBlock::RunWithinDialect, ..of(dialect, Part::Gate) }
}

fn chain(hooks: impl IntoIterator<Item = Hook>) -> Chain {
    Chain::new(hooks.into_iter().map(Arc::new).collect())
}

fn says(chain: &mut Chain, hook: u32, verdict: Verdict) {
    chain.record(hook, Round::First, TOOK, Outcome::Answered(verdict));
}

fn says_again(chain: &mut Chain, hook: u32, verdict: Verdict) {
    chain.record(hook, Round::Rejudge, TOOK, Outcome::Answered(verdict));
}

fn fails(chain: &mut Chain, hook: u32, verdict: Verdict) {
    let failure = Box::new(Failure::new(FailureKind::Exit, "exit status 1"));
    chain.record(hook, Round::First, TOOK, Outcome::Failed { failure, verdict });
}

fn skips(chain: &mut Chain, hook: u32, why: SkipReason) {
    chain.record(hook, Round::First, Duration::ZERO, Outcome::Skipped(why));
}

fn last(chain: &Chain) -> &Run {
    chain.runs().last().unwrap()
}

#[test]
fn after_a_block_only_those_of_its_format_run_that_ask_for_it() {
    let hooks = || [gate(), of("a", Part::Gate), within("a"), within("b"), of("a", Part::Gate)];
    let mut of_a = chain(hooks());
    assert!((0..5).all(|hook| of_a.refuses(hook).is_none()) && !of_a.has_ended());
    says(&mut of_a, 1, Verdict::block("no"));
    assert!(of_a.has_ended());
    let refused = |chain: &Chain| (2..5).map(|hook| chain.refuses(hook).is_some()).collect::<Vec<_>>();
    assert_eq!(refused(&of_a), [false, true, true]);
    assert_eq!(of_a.refuses(3), Some(SkipReason::Blocked));
    assert_eq!(of_a.refuses(9), None, "there is no such hook");
    let mut native = chain(hooks());
    says(&mut native, 0, Verdict::stop("no"));
    assert_eq!(refused(&native), [true, true, true]);
}

#[test]
fn of_several_blocks_the_first_in_plan_order_ends_the_chain() {
    for order in [[0, 1], [1, 0]] {
        let mut chain = chain([of("a", Part::Gate), of("b", Part::Gate), within("a"), within("b")]);
        for hook in order {
            says(&mut chain, hook, Verdict::block("no"));
        }
        assert_eq!([chain.refuses(2), chain.refuses(3)], [None, Some(SkipReason::Blocked)], "{order:?}");
    }
    for order in [[0, 1], [1, 0]] {
        let mut chain = chain([of("a", Part::Gate), of("b", Part::Gate), within("a"), within("b")]);
        for hook in order {
            says(&mut chain, hook, Verdict::allow());
        }
        for hook in order {
            chain.decree(hook, Verdict::block("no"));
        }
        assert_eq!([chain.refuses(2), chain.refuses(3)], [None, Some(SkipReason::Blocked)], "{order:?}");
    }
}

#[test]
fn only_a_block_or_a_stop_ends_the_chain() {
    for verdict in [Verdict::Continue, Verdict::allow(), Verdict::ask("?")] {
        let mut chain = chain([gate(), gate()]);
        says(&mut chain, 0, verdict.clone());
        assert!(!chain.has_ended(), "{verdict:?}");
        chain.decree(0, verdict.clone());
        assert!(!chain.has_ended(), "{verdict:?}");
    }
    let mut failed = chain([gate()]);
    fails(&mut failed, 0, Verdict::block("failed"));
    assert!(failed.has_ended());
}

#[test]
fn versions_are_counted_and_the_last_author_is_known() {
    let mut chain = chain([gate(), of("a", Part::Amender), of("b", Part::Amender)]);
    assert_eq!((chain.version(), chain.last_author().map(|hook| hook.dialect)), (0, None));
    chain.amended(1);
    assert_eq!((chain.version(), chain.last_author().map(|hook| hook.dialect)), (1, Some("a")));
    chain.amended(2);
    assert_eq!((chain.version(), chain.last_author().map(|hook| hook.dialect)), (2, Some("b")));
}

#[test]
fn who_was_skipped_has_not_judged() {
    let mut chain = chain([gate(), gate(), gate()]);
    says(&mut chain, 1, Verdict::allow());
    skips(&mut chain, 2, SkipReason::Blocked);
    assert_eq!([0, 1, 2].map(|hook| chain.has_judged(hook)), [false, true, false]);
    fails(&mut chain, 0, Verdict::Continue);
    assert!(chain.has_judged(0));
}

#[test]
fn what_changed_nothing_is_kept_short() {
    let mut short = chain([gate(), gate()]);
    says(&mut short, 0, Verdict::Continue);
    skips(&mut short, 1, SkipReason::Filter);
    assert_eq!(short.decide(), (Verdict::Continue, None));
    let (hooks, runs) = short.into_parts();
    assert!(runs.is_short() && hooks.len() == 2);
    let outcomes: Vec<_> = runs.iter().map(|run| run.outcome.clone()).collect();
    assert_eq!(outcomes, [Outcome::Answered(Verdict::Continue), Outcome::Skipped(SkipReason::Filter)]);
}

#[test]
fn what_is_recorded_has_the_version_that_it_is_about() {
    let mut chain = chain([gate(), gate(), gate()]);
    says_again(&mut chain, 0, Verdict::Continue);
    assert_eq!((last(&chain).round, last(&chain).version, last(&chain).took), (Round::Rejudge, 0, TOOK));
    chain.amended(1);
    says(&mut chain, 1, Verdict::Continue);
    assert_eq!((last(&chain).round, last(&chain).version), (Round::First, 1));
    skips(&mut chain, 2, SkipReason::Filter);
    assert_eq!(last(&chain).version, 1);
    says_again(&mut chain, 0, Verdict::Continue);
    assert_eq!((last(&chain).round, last(&chain).version), (Round::Rejudge, 1));
}

#[test]
fn earlier_attempts_belong_to_the_last_run_of_their_hook() {
    let mut chain = chain([gate(), gate()]);
    says(&mut chain, 0, Verdict::allow());
    says(&mut chain, 1, Verdict::allow());
    says_again(&mut chain, 0, Verdict::allow());
    let earlier = vec![Failure::new(FailureKind::Exit, "exit status 1")];
    chain.failed_before(0, earlier.clone());
    assert_eq!(chain.runs().iter().map(|run| run.earlier.len()).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(last(&chain).earlier, earlier);
}

#[test]
fn a_decree_takes_the_place_of_what_was_said() {
    let mut said = chain([gate(), gate(), gate()]);
    says(&mut said, 0, Verdict::allow());
    fails(&mut said, 1, Verdict::Continue);
    skips(&mut said, 2, SkipReason::Blocked);
    said.amended(0);
    said.decree(2, Verdict::block("2"));
    assert!(!said.has_ended(), "who was skipped has no say");
    said.decree(9, Verdict::block("9"));
    assert!(!said.has_ended(), "nor has who is not there");
    said.decree(1, Verdict::block("1"));
    assert!(said.has_ended());
    said.decree(0, Verdict::ask("0"));
    assert_eq!(said.decide(), (Verdict::block("1"), Some(1)));
    assert_eq!(said.runs().iter().map(|run| run.version).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(said.runs()[0].outcome, Outcome::Answered(Verdict::ask("0")));
}

#[test]
fn a_gate_that_judged_an_earlier_payload_judges_once_more() {
    let mut chain = chain([gate(), gate(), gate(), of("a", Part::Amender), gate()]);
    says(&mut chain, 0, Verdict::Continue);
    skips(&mut chain, 1, SkipReason::Filter);
    skips(&mut chain, 2, SkipReason::Untrusted);
    assert_eq!(chain.stale(), [0; 0], "nothing was amended");
    chain.amended(3);
    says(&mut chain, 3, Verdict::Continue);
    says(&mut chain, 4, Verdict::allow());
    assert_eq!(chain.stale(), [0, 1]);
    says_again(&mut chain, 0, Verdict::block("no"));
    assert_eq!(chain.stale(), [0; 0], "it has ended");
}

#[test]
fn those_that_are_stale_come_in_plan_order() {
    let mut chain = chain([gate(), gate(), of("a", Part::Amender)]);
    says(&mut chain, 1, Verdict::allow());
    says(&mut chain, 0, Verdict::allow());
    chain.amended(2);
    assert_eq!(chain.stale(), [0, 1]);
}

#[test]
fn an_amender_judges_once_more_only_if_another_format_amended_after_it() {
    let after = |own: Hook, other: Hook| {
        let mut chain = chain([own, other]);
        chain.amended(0);
        says(&mut chain, 0, Verdict::Continue);
        chain.amended(1);
        says(&mut chain, 1, Verdict::Continue);
        chain.stale()
    };
    assert_eq!(after(of("a", Part::Amender), of("b", Part::Amender)), [0]);
    assert_eq!(after(of("a", Part::Amender), of("a", Part::Amender)), [0; 0]);
    assert_eq!(after(Hook::native("n", Part::Amender), of("a", Part::Amender)), [0; 0]);
    assert_eq!(after(of("a", Part::LoneGate), of("a", Part::Amender)), [0]);
    for part in [Part::Detached, Part::PostDecision, Part::Observer] {
        assert_eq!(after(of("a", part), of("b", Part::Amender)), [0; 0], "{part:?}");
    }
}

struct Once(bool);

impl Ensemble for Once {
    fn sees(&self) -> Sees {
        Sees::First
    }

    fn judges_again(&self) -> bool {
        self.0
    }

    fn finalize(&self, _: &AnyEvent, given: Vec<FromHook<Answer>>) -> Vec<FromHook<Answer>> {
        given
    }
}

#[test]
fn members_of_an_ensemble_judge_once_more_if_it_says_so() {
    for again in [false, true] {
        let member = Hook { ensemble: Some(Arc::new(Once(again))), ..gate() };
        let mut chain = chain([member, of("a", Part::Amender)]);
        says(&mut chain, 0, Verdict::allow());
        chain.amended(1);
        assert_eq!(chain.stale(), if again { vec![0] } else { vec![] });
    }
}

#[test]
fn an_approval_of_an_earlier_payload_counts_for_nothing() {
    let mut approved = chain([gate(), of("a", Part::Amender)]);
    says(&mut approved, 0, Verdict::allow());
    assert_eq!(approved.decide(), (Verdict::allow(), Some(0)));
    approved.amended(1);
    assert_eq!(approved.decide(), (Verdict::Continue, None));
    says_again(&mut approved, 0, Verdict::allow());
    assert_eq!(approved.decide(), (Verdict::allow(), Some(0)));
    let mut asked = chain([gate(), of("a", Part::Amender)]);
    says(&mut asked, 0, Verdict::ask("old"));
    asked.amended(1);
    assert_eq!(asked.decide(), (Verdict::ask("old"), Some(0)), "an objection stays until it is taken back");
    says_again(&mut asked, 0, Verdict::Continue);
    assert_eq!(asked.decide(), (Verdict::Continue, None));
}

#[test]
fn a_later_judgement_takes_the_place_of_the_earlier_of_the_same_hook_alone() {
    let mut chain = chain([gate(), gate(), of("a", Part::Amender)]);
    says(&mut chain, 0, Verdict::ask("zero"));
    says(&mut chain, 1, Verdict::ask("one"));
    chain.amended(2);
    says_again(&mut chain, 0, Verdict::Continue);
    assert_eq!(chain.decide(), (Verdict::ask("one"), Some(1)));
    says_again(&mut chain, 1, Verdict::ask("one again"));
    assert_eq!(chain.decide(), (Verdict::ask("one again"), Some(1)));
}

#[test]
fn the_reason_is_that_of_the_strongest_answer_of_its_author() {
    let mut chain = chain([gate(), gate()]);
    says(&mut chain, 1, Verdict::ask("one"));
    says(&mut chain, 0, Verdict::block("zero"));
    says(&mut chain, 0, Verdict::ask("weaker"));
    assert_eq!(chain.decide(), (Verdict::block("zero"), Some(0)));
    assert_eq!(chain.hooks().len(), 2);
}

#[test]
fn an_answer_counts_in_the_place_of_questions_and_of_nothing_that_is_stronger() {
    let asked = || {
        let mut asked = chain([gate(), gate(), gate()]);
        says(&mut asked, 0, Verdict::allow());
        says(&mut asked, 1, Verdict::ask("may it?"));
        says(&mut asked, 2, Verdict::ask("and I?"));
        asked
    };
    let mut allowed = asked();
    let reasons: Vec<_> = allowed.asks().iter().map(|(_, why)| why.as_str().to_owned()).collect();
    assert_eq!(reasons, ["may it?", "and I?"]);
    allowed.answer(Verdict::allow_because("a person"));
    assert_eq!(allowed.decide(), (Verdict::allow_because("a person"), Some(1)));
    assert!(!allowed.has_ended());
    let mut denied = asked();
    denied.answer(Verdict::block("no"));
    assert_eq!(denied.decide(), (Verdict::block("no"), Some(1)));
    assert_eq!(denied.refuses(2), Some(SkipReason::Blocked), "what comes after it does not run");
    let mut blocked = asked();
    says(&mut blocked, 2, Verdict::block("never"));
    assert!(blocked.asks().is_empty());
    blocked.answer(Verdict::allow());
    assert_eq!(blocked.decide(), (Verdict::block("never"), Some(2)));
    assert!(chain([gate()]).asks().is_empty());
}
