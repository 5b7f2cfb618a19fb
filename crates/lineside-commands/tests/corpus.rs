//! Reads the collections of commands and compares what is listed with what each command starts and touches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus {
    #[allow(dead_code)]
    pub(crate) mod case;
    pub(crate) mod share;
}

use std::collections::BTreeMap;

use corpus::case::{Case, corpora};
use corpus::share::Share;
use lineside_commands::CommandProgram;

fn listed(programs: &[CommandProgram]) -> String {
    let line = |p: &CommandProgram| {
        let words: Vec<String> =
            std::iter::once(&p.name).chain(&p.args).map(|word| format!("{word:?}")).collect();
        words.join(" ")
    };
    programs.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[test]
fn the_programs_of_the_corpora_are_listed_within_their_bounds() {
    let mut beyond = Vec::new();
    for (corpus, cases) in corpora() {
        assert!(cases.len() > 150, "{corpus}");
        let mut inexact = Share::default();
        let mut paths: BTreeMap<&str, Share> = BTreeMap::new();
        for case in cases {
            let Case { id, command, .. } = &case;
            let (analysis, _) = case.analyse();
            inexact.count(!case.fits_programs(&analysis), || {
                format!("{id}: {command}\n    is {}", listed(&analysis.programs))
            });
            for (name, fits) in case.fits_paths(&analysis) {
                let say = || format!("{id}: {command} {:?}", analysis.touches);
                paths.entry(name).or_default().count(!fits, say);
            }
        }
        beyond.extend(inexact.beyond(&format!("{corpus}: programs not exact"), 2.0));
        for (name, share) in paths {
            beyond.extend(share.beyond(&format!("{corpus}: {name}"), 10.0));
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}
