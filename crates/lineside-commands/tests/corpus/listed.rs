//! Commands beside a program that each of them is to list, or `?` where it is to be unclear what it runs.

use lineside_commands::{Analysis, Shell, Surroundings, Unknown, analyse};

pub(crate) fn analysed(command: &str) -> Analysis {
    analyse(command, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

/// Whether a program is listed with these words; with `?` whether it is unclear what is run.
pub(crate) fn has(analysis: &Analysis, expected: &str) -> bool {
    if expected == "?" {
        return analysis.is_unclear(Unknown::Program);
    }
    analysis.programs.iter().any(|program| {
        let words = std::iter::once(&program.name).chain(&program.args).map(ToString::to_string);
        words.collect::<Vec<_>>().join(" ") == expected
    })
}

pub(crate) fn check(table: &[(&str, &str)]) {
    let lacks = |(command, expected): &&(&str, &str)| !has(&analysed(command), expected);
    let missed: Vec<String> = table
        .iter()
        .filter(lacks)
        .map(|(command, expected)| {
            let analysis = analysed(command);
            let names: Vec<_> = analysis.programs.iter().map(|p| (p.name.to_string(), &p.args)).collect();
            format!("{command}\n    has no `{expected}`: {names:?} {:?}", analysis.unclear)
        })
        .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
