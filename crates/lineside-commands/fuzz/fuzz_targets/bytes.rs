//! Any bytes in any shell: nothing panics or overflows, and an analysis is the same a second time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lineside_commands::{Shell, Surroundings, analyse_bytes, explain};

fuzz_target!(|data: (u8, &[u8])| {
    let (shell, text) = data;
    let shell = [Shell::Bash, Shell::Sh, Shell::Zsh, Shell::Other][usize::from(shell % 4)];
    let state = Surroundings::new("/proj", "/home/dev");
    let analysis = analyse_bytes(text, shell, &state);
    if let Ok(text) = str::from_utf8(text) {
        assert_eq!(analysis, explain(text, shell, &state).0);
    }
});
