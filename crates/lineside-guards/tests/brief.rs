//! Filters in few words, for pages that say which of them did not fit.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use lineside_core::json::{Value, json};
use lineside_core::matcher::Condition as _;
use lineside_guards::{Account, Acts, WhenUnclear};

fn acts(written: Value) -> Acts {
    let Value::Object(written) = written else { panic!("{written}") };
    Acts::read(&written, WhenUnclear::Match, &Arc::new(Account::at("/home/dev/"))).unwrap().unwrap()
}

#[test]
fn a_filter_of_many_parts_is_told_in_a_few_words() {
    for (written, told) in [
        (json!({"runs": "git", "unclear": "skip"}), "runs=git"),
        (json!({"deletes": {"root": ["/", "~"]}}), "deletes={\"root\":[\"/\",\"~\"]}"),
        (json!({"runs": {"program": ["git", "hub"], "subcommand": "push"}}), "runs"),
        (
            json!({"unclear": "skip", "any": [
                {"does": "destroys_data"},
                {"deletes": {"path": ["/bin/**", "/boot/**", "/etc/**"]}},
                {"deletes": {"path": ["/usr/**", "/var/**", "/opt/**"]}},
                {"runs": [{"program": "dropdb"}, {"program": "dropuser"}]},
                {"runs": "wipe", "writes": "/dev/sda"},
            ]}),
            "any of (does=destroys_data, deletes, runs, runs+writes)",
        ),
    ] {
        assert_eq!(acts(written).brief(), told);
    }
}
