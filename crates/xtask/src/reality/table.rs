//! What came of each artifact, as the table at the end has it.

use std::process::ExitCode;

use anyhow::Result;

/// One artifact.
pub(super) struct Row {
    /// Its name and release.
    pub(super) name: String,
    /// Its hooks in the original and in lineside, and how many events met one.
    pub(super) counts: Option<[usize; 3]>,
    pub(super) outcome: Outcome,
}

impl Row {
    /// What came of playing it: its counts, and where both differ.
    pub(super) fn of(name: String, played: Result<([usize; 3], Vec<String>)>) -> Self {
        let (counts, outcome) = match played {
            Ok((counts, differences)) if differences.is_empty() => (Some(counts), Outcome::Same),
            Ok((counts, differences)) => (Some(counts), Outcome::Differs(differences)),
            Err(error) => (None, Outcome::Failed(format!("{error:#}"))),
        };
        Self { name, counts, outcome }
    }
}

/// How both programmes compare.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Same,
    /// They differ, and the page of the dialect says why.
    Explained(String),
    /// They differ.
    Differs(Vec<String>),
    /// It could not be fetched or played.
    Failed(String),
}

/// Prints the table, and says whether each artifact was played and is the same or explained.
pub(super) fn report(rows: &[Row]) -> ExitCode {
    println!(
        "\n| artifact | hooks in the original | in lineside | events that met one | outcome |\n|---|---|---|---|---|"
    );
    let mut tally = [0usize; 4];
    for Row { name, counts, outcome } in rows {
        let counts =
            counts.map_or_else(|| ["", "", ""].map(str::to_owned), |counts| counts.map(|n| n.to_string()));
        let (place, text) = match outcome {
            Outcome::Same => (0, "same".to_owned()),
            Outcome::Explained(why) => (1, why.clone()),
            Outcome::Differs(how) => (2, format!("**differs**: {}", how.join("; "))),
            Outcome::Failed(why) => (3, format!("**not played**: {why}")),
        };
        tally[place] += 1;
        println!("| {name} | {} | {text} |", counts.join(" | "));
    }
    let [same, explained, unexplained, failed] = tally;
    println!("\n{same} same, {explained} explained, {unexplained} unexplained, {failed} not played");
    if unexplained + failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
