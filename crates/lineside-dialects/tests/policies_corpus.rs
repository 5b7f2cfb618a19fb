//! Judges the collections of commands by all policies and compares with those that are to match.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../../lineside-commands/tests/corpus/case.rs"]
mod case;
#[path = "../../lineside-commands/tests/corpus/mutants.rs"]
mod mutants;
#[path = "../../lineside-commands/tests/corpus/share.rs"]
mod share;

use case::{Case, corpora};
use lineside_commands::{Shell, Surroundings, analyse};
use lineside_dialects::native::matching_policies;
use share::Share;

/// Policies whose commands lose what cannot be had again.
const DESTRUCTIVE: &[&str] =
    &["no-destructive-shell", "git-safety", "no-force-push", "database-safety", "infrastructure-safety"];

#[derive(Default)]
struct Shares {
    missed: Share,
    missed_destructive: Share,
    alarms: Share,
    other_policies: Share,
}

impl Shares {
    fn judge(&mut self, case: &Case) {
        let Case { id, command, policies, .. } = case;
        let (analysis, state) = case.analyse();
        let matched: Vec<&str> =
            matching_policies(&analysis, &state).iter().map(|(policy, _)| policy.name).collect();
        let absent: Vec<&String> = policies.iter().filter(|name| !matched.contains(&name.as_str())).collect();
        let more: Vec<&&str> = matched.iter().filter(|name| !policies.iter().any(|p| p == **name)).collect();
        let say = || format!("{id}: {command}\n    not {absent:?}, but {more:?}");
        if policies.is_empty() {
            self.alarms.count(!matched.is_empty(), say);
            return;
        }
        self.missed.count(!absent.is_empty(), say);
        self.other_policies.count(!more.is_empty(), say);
        let is_destructive = |name: &&String| DESTRUCTIVE.contains(&name.as_str());
        if policies.iter().any(|name| is_destructive(&name)) {
            self.missed_destructive.count(absent.iter().any(is_destructive), say);
        }
    }
}

#[test]
fn the_corpora_are_judged_within_their_bounds() {
    let mut beyond = Vec::new();
    for (corpus, cases) in corpora() {
        assert!(cases.len() > 150, "{corpus}");
        let mut shares = Shares::default();
        cases.iter().filter(|case| !case.contested).for_each(|case| shares.judge(case));
        for (what, share, bound) in [
            ("destructive missed", &shares.missed_destructive, 1.0),
            ("to be stopped missed", &shares.missed, 2.0),
            ("false alarms", &shares.alarms, 0.5),
            ("more policies than expected", &shares.other_policies, 100.0),
        ] {
            beyond.extend(share.beyond(&format!("{corpus}: {what}"), bound));
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
fn changed_commands_of_the_corpora_are_judged_the_same_twice() {
    let mut random = fastrand::Rng::with_seed(11);
    let state = Surroundings::new("/proj", "/home/dev");
    for case in corpora().into_iter().flat_map(|(_, cases)| cases) {
        let text = mutants::mutant(&case.command, &mut random);
        let judged = || {
            let found = matching_policies(&analyse(&text, Shell::Bash, &state), &state);
            found.into_iter().map(|(policy, found)| (policy.name, found)).collect::<Vec<_>>()
        };
        assert_eq!(judged(), judged(), "{text:?}");
    }
}
