//! The functions of the core are total: whatever they are given, they answer and do not panic.
#![allow(clippy::unwrap_used, missing_docs)]

use std::time::Duration;

use lineside_core::budget::{Allowance, Budget};
use lineside_core::json::read_strict;
use lineside_core::matcher::{agent, path, text, tool};
use lineside_core::nearest::{edit_distance, suggestion};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn i06_any_bytes_are_json_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        // What we read, `from_slice` reads too, and as the same.
        if let Ok(value) = read_strict(&bytes) {
            prop_assert_eq!(lineside_core::json::from_slice::<lineside_core::json::Value>(&bytes).unwrap(), value);
        }
    }

    #[test]
    fn i02_a_key_that_occurs_twice_is_never_read(key in "[a-z]{1,4}", first in any::<u8>(), second in any::<u8>()) {
        let text = format!("{{\"other\":[],\"{key}\":{first},\"{key}\":{second}}}");
        prop_assert!(read_strict(text.as_bytes()).is_err());
    }

    #[test]
    fn i05_numbers_keep_their_digits(digits in "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,20})?") {
        prop_assert_eq!(read_strict(digits.as_bytes()).unwrap().to_string(), digits);
    }

    #[test]
    fn i07_any_pattern_compiles_or_is_an_error(pattern in ".{0,60}") {
        for draft in [tool(&*pattern), path(&*pattern), agent(&*pattern), text(&*pattern)] {
            draft.compile().ok();
        }
    }

    #[test]
    fn a_hook_never_gets_more_than_either_bound(event in 0u64..5_000, own in 0u64..5_000, elapsed in 0u64..10_000) {
        let [event, own, elapsed] = [event, own, elapsed].map(Duration::from_millis);
        match Budget::of(event).allow(own, elapsed) {
            Allowance::Granted { time, .. } => prop_assert!(time <= own && elapsed + time <= event),
            Allowance::Exhausted => prop_assert!(elapsed >= event),
        }
    }

    #[test]
    fn a_name_is_nearest_to_itself(name in "[a-z_]{1,20}", other in "[a-z_]{1,20}") {
        prop_assert_eq!(edit_distance(&name, &name), 0);
        prop_assert_eq!(edit_distance(&name, &other), edit_distance(&other, &name));
        prop_assert_eq!(suggestion(&name, [&*other, &*name]), Some(&*name));
    }
}
