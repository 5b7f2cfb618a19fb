//! The lines in which a bench says what it measured.
//!
//! `RATIO name value target` and `FIGURE name value unit target`. A target is `<=1.4`, `>=100`, a bare number, which
//! is the most there may be, or `-` for none.

use crate::paint::Ink;

/// One thing measured.
#[derive(Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) unit: String,
    pub(crate) target: String,
}

/// How a figure stands to its target.
#[derive(Debug, PartialEq)]
enum Judgement {
    Met,
    Missed,
    NoTarget,
}

impl Figure {
    /// Nothing when the line is not one of ours.
    pub(super) fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, value, unit, target) = match words[..] {
            ["RATIO", name, value, target] => (name, value, "x", target),
            ["FIGURE", name, value, unit, target] => (name, value, unit, target),
            _ => return None,
        };
        let [name, value, unit, target] = [name, value, unit, target].map(str::to_owned);
        Some(Self { name, value, unit: unit.replace('_', " "), target })
    }

    fn judgement(&self) -> Judgement {
        let (least, bound) = match self.target.strip_prefix(">=") {
            Some(bound) => (true, bound),
            None => (false, self.target.strip_prefix("<=").unwrap_or(&self.target)),
        };
        let (Ok(value), Ok(bound)) = (self.value.parse::<f64>(), bound.parse::<f64>()) else {
            return Judgement::NoTarget;
        };
        let met = if least { value >= bound } else { value <= bound };
        if met { Judgement::Met } else { Judgement::Missed }
    }
}

/// Says all of them: a table, and then those that fall short.
pub(crate) fn print(figures: &[Figure]) {
    let widest =
        |cell: fn(&Figure) -> &str| figures.iter().map(|figure| cell(figure).len()).max().unwrap_or_default();
    let (name, value) = (widest(|figure| &figure.name), widest(|figure| &figure.value));
    let (unit, target) = (widest(|figure| &figure.unit), widest(|figure| &figure.target));
    println!();
    for figure in figures {
        let mark = match figure.judgement() {
            Judgement::Met => Ink::Green.on("pass"),
            Judgement::Missed => Ink::Red.on("over"),
            Judgement::NoTarget => Ink::Faint.on("-"),
        };
        println!(
            "{:name$}  {:>value$} {:unit$}  {:>target$}  {mark}",
            figure.name, figure.value, figure.unit, figure.target
        );
    }
    println!("\n{}", shortfalls(figures));
}

/// The last lines of a report: the figures that fall short of their targets, and how many meet theirs.
fn shortfalls(figures: &[Figure]) -> String {
    let judged = |judgement: Judgement| figures.iter().filter(move |figure| figure.judgement() == judgement);
    let (met, missed) = (judged(Judgement::Met).count(), judged(Judgement::Missed).count());
    let mut text = format!("targets: {met} met, {missed} missed");
    for figure in judged(Judgement::Missed) {
        let Figure { name, value, unit, target } = figure;
        text += &format!("\n  {name}: {value} {unit}, target {target}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_name_what_falls_short() {
        let figures =
            |lines: &[&str]| lines.iter().map(|line| Figure::read(line).unwrap()).collect::<Vec<_>>();
        let met = ["RATIO a/b 1.39 <=1.4", "FIGURE ask 570 ns -"];
        assert_eq!(shortfalls(&figures(&met)), "targets: 1 met, 0 missed");
        let mixed = ["RATIO a/b 1.39 <=1.4", "FIGURE c 3 ms_in_all <=2", "FIGURE d 1 per_second >=2"];
        assert_eq!(
            shortfalls(&figures(&mixed)),
            "targets: 1 met, 2 missed\n  c: 3 ms in all, target <=2\n  d: 1 per second, target >=2"
        );
    }

    fn judge(line: &str) -> Judgement {
        Figure::read(line).unwrap().judgement()
    }

    #[test]
    fn a_target_is_a_bound_of_either_side() {
        assert_eq!(judge("RATIO a/b 1.39 <=1.4"), Judgement::Met);
        assert_eq!(judge("RATIO a/b 1.41 1.4"), Judgement::Missed);
        assert_eq!(judge("FIGURE events 99 per_second >=100"), Judgement::Missed);
        assert_eq!(judge("FIGURE events 100 per_second >=100"), Judgement::Met);
        assert_eq!(judge("FIGURE ask 570 ns -"), Judgement::NoTarget);
    }

    #[test]
    fn other_lines_are_not_figures() {
        assert_eq!(Figure::read("time: [1 ns 2 ns 3 ns]"), None);
        assert_eq!(Figure::read("RATIO of two things that somebody talks about"), None);
    }

    #[test]
    fn a_unit_is_written_with_spaces() {
        assert_eq!(Figure::read("FIGURE a 1 ns_above_a_call -").unwrap().unit, "ns above a call");
    }
}
