//! RunsFilter the corpus of commands and compares each analysis with what the command does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus {
    pub(crate) mod case;
}

use std::collections::BTreeMap;

use corpus::case::{Case, corpora};
use lineside_commands::{CommandProgram, policy};

/// Policies whose commands lose what cannot be had again.
const DESTRUCTIVE: &[&str] =
    &["no-destructive-shell", "git-safety", "no-force-push", "database-safety", "infrastructure-safety"];

#[derive(Default)]
struct Share {
    of: usize,
    found: Vec<String>,
}

impl Share {
    fn count(&mut self, hit: bool, say: impl FnOnce() -> String) {
        self.of += 1;
        if hit {
            self.found.push(say());
        }
    }

    fn percent(&self) -> f64 {
        100.0 * self.found.len() as f64 / self.of.max(1) as f64
    }
}

fn listed(programs: &[CommandProgram]) -> String {
    let line = |p: &CommandProgram| {
        let words: Vec<String> =
            std::iter::once(&p.name).chain(&p.args).map(|word| format!("{word:?}")).collect();
        words.join(" ")
    };
    programs.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_corpora_are_told_within_their_bounds() {
    let corpora = corpora();
    assert!(corpora.iter().all(|(_, cases)| cases.len() > 200));
    let outside: Vec<String> = corpora.into_iter().flat_map(|(name, cases)| measure(name, cases)).collect();
    assert!(outside.is_empty(), "{}", outside.join("\n"));
}

/// The shares of a collection that are more than their bounds.
fn measure(corpus: &str, cases: Vec<Case>) -> Vec<String> {
    let mut inexact = Share::default();
    let mut missed = Share::default();
    let mut missed_destructive = Share::default();
    let mut alarms = Share::default();
    let mut other_policies = Share::default();
    let mut paths: BTreeMap<&str, Share> = BTreeMap::new();
    for case in cases {
        let Case { id, command, .. } = &case;
        let (analysis, state) = case.analyse();
        inexact.count(!case.fits_programs(&analysis), || {
            format!("{id}: {command}\n    is {}", listed(&analysis.programs))
        });
        let matched: Vec<&str> =
            policy::matching(&analysis, &state).iter().map(|(policy, _)| policy.name).collect();
        for (name, fits) in case.fits_paths(&analysis) {
            paths.entry(name).or_default().count(!fits, || format!("{id}: {command} {:?}", analysis.touches));
        }
        if case.contested {
            continue;
        }
        let absent: Vec<&String> =
            case.policies.iter().filter(|name| !matched.contains(&name.as_str())).collect();
        let more: Vec<&&str> =
            matched.iter().filter(|name| !case.policies.iter().any(|p| p == **name)).collect();
        let say = || format!("{id}: {command}\n    not {absent:?}, but {more:?}");
        if case.policies.is_empty() {
            alarms.count(!matched.is_empty(), say);
        } else {
            missed.count(!absent.is_empty(), say);
            other_policies.count(!more.is_empty(), say);
            if case.policies.iter().any(|name| DESTRUCTIVE.contains(&name.as_str())) {
                let absent: Vec<&&String> =
                    absent.iter().filter(|name| DESTRUCTIVE.contains(&name.as_str())).collect();
                missed_destructive
                    .count(!absent.is_empty(), || format!("{id}: {command}\n    not {absent:?}"));
            }
        }
    }
    let shares = [
        ("programs not exact", &inexact, 2.0),
        ("destructive missed", &missed_destructive, 1.0),
        ("to be stopped missed", &missed, 2.0),
        ("false alarms", &alarms, 0.5),
        ("more policies than expected", &other_policies, 100.0),
    ];
    for (what, share, _) in shares
        .iter()
        .chain(paths.iter().map(|(name, share)| (*name, share, 100.0)).collect::<Vec<_>>().iter())
    {
        println!("{corpus}: {what}: {} of {} ({:.2} %)", share.found.len(), share.of, share.percent());
        for line in &share.found {
            println!("  {line}");
        }
    }
    let outside = shares.into_iter().filter(|(_, share, bound)| share.percent() > *bound);
    outside
        .map(|(what, share, bound)| {
            format!("{corpus}: {what}: {:.2} % are more than {bound} %", share.percent())
        })
        .collect()
}
