//! Commands of the corpus, changed and put together: nothing panics or overflows, and each place is one of the text.
#![no_main]

use std::sync::LazyLock;

use fastrand::Rng;
use libfuzzer_sys::fuzz_target;
use lineside_commands::{Shell, Surroundings, explain};
use serde_json::Value;

#[path = "../../tests/corpus/mutants.rs"]
mod mutants;

static COMMANDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let corpus: Value = serde_json::from_str(include_str!("../../../../tests/commands/commands.json")).unwrap();
    let cases = corpus["cases"].as_array().unwrap();
    cases.iter().map(|case| case["command"].as_str().unwrap().to_owned()).collect()
});

fuzz_target!(|data: (u64, u8)| {
    let (seed, joined) = data;
    let mut random = Rng::with_seed(seed);
    let signs = ["; ", " | ", " && ", "\n", " \"$(", ")\" ", "'", " "];
    let mut text = String::new();
    for _ in 0..=joined % 4 {
        let command = &COMMANDS[random.usize(..COMMANDS.len())];
        text.push_str(&mutants::mutant(command, &mut random));
        text.push_str(signs[random.usize(..signs.len())]);
    }
    let state = Surroundings::new("/proj", "/home/dev");
    for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
        let (analysis, places) = explain(&text, shell, &state);
        assert_eq!(analysis.programs.len(), places.programs.len());
        assert_eq!(analysis.touches.len(), places.touches.len());
        for place in places.programs.iter().flatten().chain(&places.touches).chain(&places.unclear) {
            assert!(text.get(place.range()).is_some(), "{text:?}: {place:?}");
        }
    }
});
