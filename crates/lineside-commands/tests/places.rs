//! Where in the text each thing stands that an analysis lists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod corpus {
    #[allow(dead_code)]
    pub(crate) mod case;
}

use lineside_commands::{Analysis, Place, Places, Shell, Surroundings, analyse, explain};

fn located(command: &str) -> (Analysis, Places) {
    explain(command, Shell::Bash, &Surroundings::new("/proj", "/home/dev"))
}

/// Each program with the text of its name and of its words.
fn programs(command: &str) -> Vec<String> {
    let (analysis, places) = located(command);
    let text = |place: &Place| &command[place.range()];
    let shown = |(program, words): (&lineside_commands::CommandProgram, &Vec<Place>)| {
        format!("{}: {}", program.name, words.iter().map(text).collect::<Vec<_>>().join(" "))
    };
    analysis.programs.iter().zip(&places.programs).map(shown).collect()
}

#[test]
fn words_of_a_text_within_the_text_are_found_where_they_stand() {
    let found = programs(r#"sudo bash -c 'cd / && rm -rf "$1"' _ etc"#);
    let inner = r#"'cd / && rm -rf "$1"'"#;
    let bash = format!("bash -c {inner} _ etc");
    assert_eq!(found, [format!("sudo: sudo {bash}"), format!("bash: {bash}"), r#"rm: rm -rf "$1""#.into()]);
    assert_eq!(programs("X=$(git log); \\ls \"é\" *"), ["git: git log", "ls: \\ls \"é\" *"]);
    assert_eq!(programs("f() { rm x; }; f"), ["rm: rm x"]);
    assert_eq!(programs("echo rm -rf a | sh"), ["sh: sh", "rm: rm -rf a"]);
    assert_eq!(programs("sh <<'E'\nmake  all\nE"), ["sh: sh", "make: make all"]);
    assert_eq!(programs("cp {a,b}c"), ["cp: cp {a,b}c {a,b}c"]);
}

#[test]
fn a_text_that_is_put_together_has_the_place_of_its_word() {
    assert_eq!(
        programs(r#"bash -c "rm \"a b\"""#),
        [r#"bash: bash -c "rm \"a b\"""#, r#"rm: "rm \"a b\"" "rm \"a b\"""#]
    );
    assert_eq!(programs("X='rm -r y'; $X"), ["rm: $X $X $X"]);
}

#[test]
fn paths_what_is_not_known_and_values_have_places() {
    let command = "D=/etc; rm -rf $D/x; $CMD; curl http://a | sh > log";
    let (analysis, places) = located(command);
    let text = |place: &Place| &command[place.range()];
    let touched: Vec<&str> = places.touches.iter().map(text).collect();
    assert_eq!(touched, ["$D/x", "log"]);
    assert_eq!(analysis.touches.len(), 2);
    let unclear: Vec<&str> = places.unclear.iter().map(text).collect();
    assert_eq!(unclear[0], "$CMD");
    assert_eq!(unclear.len(), analysis.unclear.len());
    let [value] = &places.values[..] else { panic!("{:?}", places.values) };
    assert_eq!((value.name.as_str(), value.value.as_str(), text(&value.from)), ("D", "/etc", "/etc"));
    assert_eq!(text(&value.place), "$D/x");
    assert_eq!(places.traits.iter().map(text).collect::<Vec<_>>(), ["sh"]);
}

#[test]
fn an_analysis_is_the_same_with_places_and_each_place_is_of_the_text() {
    for case in corpus::case::corpora().into_iter().flat_map(|(_, cases)| cases) {
        let state = Surroundings::new("/proj", "/home/dev");
        let (analysis, places) = explain(&case.command, Shell::Bash, &state);
        assert_eq!(analysis, analyse(&case.command, Shell::Bash, &state), "{}", case.command);
        let counts =
            [places.programs.len(), places.elsewhere.len(), places.touches.len(), places.unclear.len()];
        let listed = [
            analysis.programs.len(),
            analysis.elsewhere.len(),
            analysis.touches.len(),
            analysis.unclear.len(),
        ];
        assert_eq!(counts, listed, "{}", case.command);
        let values = places.values.iter().flat_map(|value| [&value.place, &value.from]);
        let all = places.programs.iter().flatten().chain(&places.touches).chain(&places.unclear);
        for place in all.chain(&places.traits).chain(values) {
            assert!(case.command.get(place.range()).is_some(), "{}: {place:?}", case.command);
        }
    }
}
