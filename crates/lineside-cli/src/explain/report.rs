//! What a command does, as people read it: the command with its places, its programs, what is not known, and which
//! policies match.

use lineside::commands::filter::Match;
use lineside::commands::{
    Access, Analysis, Argument, CommandProgram, Flag, Place, Places, Surroundings, Touch, Trait, explain,
};
use lineside::core::Strength;
use lineside::core::hook::Mode;
use lineside::dialects::native::{self, Policy, matching_policies};
use lineside::listing::Explained;

use super::command::Scene;
use crate::page::fitting::cut;
use crate::painter::in_passing;
use crate::picture::{self, Label, broken};
use crate::style::{Style, Tone, count};

/// Where what is said of a program begins.
const INDENT: usize = 4;
/// How wide its words at the left are.
const WORD: usize = 11;
/// Columns of a page of any width.
const WIDE: usize = 110;

struct Report<'r> {
    command: &'r str,
    analysis: Analysis,
    places: Places,
    /// The policies that match, those that are in use first.
    matches: Vec<(&'static Policy, Match)>,
    /// How many of them are in use.
    used: usize,
    /// The names of the other hooks that would be asked.
    hooks: Vec<String>,
    columns: Option<usize>,
    style: Style,
}

/// The lines of the report. The hooks are those that the event of the command was compared with.
pub(super) fn lines(
    command: &str,
    scene: &Scene,
    hooks: &[Explained],
    columns: Option<usize>,
    style: Style,
) -> Vec<String> {
    let state: Surroundings<'_> = scene.surroundings();
    let (analysis, places) = explain(command, scene.shell, &state);
    let is_used = |policy: &Policy| {
        hooks.iter().any(|hook| hook.listed.hook == policy.name && hook.listed.mode == Mode::Enforced)
    };
    let (mut matches, idle): (Vec<_>, Vec<_>) =
        matching_policies(&analysis, &state).into_iter().partition(|(policy, _)| is_used(policy));
    let used = matches.len();
    matches.extend(idle);
    let is_policy = |name: &str| native::policies().iter().any(|policy| policy.name == name);
    let runs = |hook: &&Explained| hook.is_heard() && hook.is_sound() && !is_policy(&hook.listed.hook);
    let named = |hook: &Explained| match hook.says.filter(|said| *said > Strength::Allow) {
        Some(said) => format!("{} (would {said})", hook.listed.hook),
        None => hook.listed.hook.clone(),
    };
    let hooks = hooks.iter().filter(runs).map(named).collect();
    let report = Report { command, analysis, places, matches, used, hooks, columns, style };
    let mut lines = vec![report.title(), String::new()];
    lines.extend(picture::lines(command, &report.labels(), columns, style));
    lines.extend(report.programs());
    lines.extend(report.unclear());
    lines.extend(report.policies());
    lines
}

impl Report<'_> {
    fn title(&self) -> String {
        // Those that are in use, and where there is none, what others would say.
        let (used, idle) = self.matches.split_at(self.used);
        let told = if used.is_empty() { idle } else { used };
        let with = |verdict| told.iter().filter(|(policy, _)| policy.verdict == verdict).count();
        let programs = count(self.analysis.programs.len(), "program");
        let said = match (with(Strength::Block), with(Strength::Ask)) {
            (0, 0) => self.style.paint(Tone::Good, "no policy matches"),
            (0, asking) => self.style.paint(Tone::Asked, &format!("{} would ask", policies(asking))),
            (blocking, 0) => self.style.paint(Tone::Bad, &format!("{} would block it", policies(blocking))),
            (blocking, asking) => {
                let blocking = format!("{} would block it", policies(blocking));
                let asking = format!("{asking} would ask");
                let (blocking, asking) =
                    (self.style.paint(Tone::Bad, &blocking), self.style.paint(Tone::Asked, &asking));
                format!("{blocking}, {asking}")
            }
        };
        let mut title = format!("{}: {said}", self.style.paint(Tone::Bold, &programs));
        if used.is_empty() && !idle.is_empty() {
            title.push_str(&self.style.paint(Tone::Warning, "; none is in use"));
        }
        if !self.hooks.is_empty() {
            title.push_str(&format!("; asked as well: {}", self.hooks.join(", ")));
        }
        title
    }

    fn labels(&self) -> Vec<Label> {
        let mut labels = Vec::new();
        for (program, places) in self.analysis.programs.iter().zip(&self.places.programs) {
            let (tone, text) = match program.known_name() {
                Some(name) => (Tone::Agent(1), format!("runs {name}{}", by(&program.way))),
                None => (Tone::Asked, format!("runs what is not known{}", by(&program.way))),
            };
            self.label(&mut labels, places.first().copied(), tone, text);
        }
        for (program, places) in self.analysis.elsewhere.iter().zip(&self.places.elsewhere) {
            let text = format!("runs {} elsewhere{}", program.name, by(&program.way));
            self.label(&mut labels, places.first().copied(), Tone::Agent(1), text);
        }
        for value in &self.places.values {
            let is_word = self.text(value.place).len() < value.name.len() + 24;
            let text = format!("${} is {}", value.name, quoted(&value.value));
            if is_word && value.name != "HOME" && value.value != "*" {
                self.label(&mut labels, Some(value.place), Tone::Message, text);
            }
        }
        for (touch, place) in self.analysis.touches.iter().zip(&self.places.touches) {
            self.label(&mut labels, Some(*place), tone(touch.access), touched(touch));
        }
        for (does, place) in self.analysis.traits.iter().zip(&self.places.traits) {
            self.label(&mut labels, Some(*place), Tone::Bad, does.active().to_owned());
        }
        for (unclear, place) in self.analysis.unclear.iter().zip(&self.places.unclear) {
            let text = format!("cannot tell: {}", unclear.reason);
            self.label(&mut labels, Some(*place), Tone::Asked, text);
        }
        labels.sort_by_key(|label| label.place.start);
        labels
    }

    fn label(&self, labels: &mut Vec<Label>, place: Option<Place>, tone: Tone, text: String) {
        let Some(place) = place.map(Place::range) else { return };
        // A text of several lines is held by its first.
        let held = self.command.get(place.clone()).unwrap_or_default();
        let length = held.find('\n').filter(|length| *length > 0).unwrap_or(held.len());
        let place = place.start..place.start + length;
        if length > 0 && !labels.iter().any(|label| label.place == place && label.text == text) {
            labels.push(Label { place, tone, text });
        }
    }

    fn text(&self, place: Place) -> &str {
        self.command.get(place.range()).unwrap_or_default()
    }

    fn heading(&self, text: &str) -> [String; 2] {
        [String::new(), self.style.paint(Tone::Bold, text)]
    }

    /// A line of what is said, with its word at the left; as many lines as it needs.
    fn said(&self, lines: &mut Vec<String>, word: &str, tone: Tone, text: &str) {
        let room = self.columns.unwrap_or(WIDE).saturating_sub(INDENT + WORD).max(WORD);
        for (index, line) in broken(text, room).iter().enumerate() {
            let word = if index == 0 { word } else { "" };
            let word = self.style.paint(Tone::Dim, &format!("{word:WORD$}"));
            lines.push(format!("{}{word}{}", " ".repeat(INDENT), self.style.paint(tone, line)));
        }
    }

    fn programs(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.heading("Programs"));
        for (index, program) in self.analysis.programs.iter().enumerate() {
            let places = self.places.programs.get(index).map_or(&[][..], Vec::as_slice);
            self.program(&mut lines, program, places, Some(index));
        }
        for (index, program) in self.analysis.elsewhere.iter().enumerate() {
            let places = self.places.elsewhere.get(index).map_or(&[][..], Vec::as_slice);
            self.program(&mut lines, program, places, None);
        }
        let of_shell: Vec<&Touch> =
            self.analysis.touches.iter().filter(|touch| touch.program.is_none()).collect();
        if !of_shell.is_empty() {
            lines.push(format!("  {}", self.style.paint(Tone::Dim, "the shell itself")));
            self.touches(&mut lines, of_shell.into_iter());
        }
        if lines.len() == 2 {
            return Vec::new();
        }
        lines
    }

    fn program(
        &self,
        lines: &mut Vec<String>,
        program: &CommandProgram,
        places: &[Place],
        index: Option<usize>,
    ) {
        let elsewhere = if index.is_none() { "elsewhere → " } else { "" };
        let way = format!("{}{elsewhere}", way(program));
        let name = word(&program.name);
        let used = way.chars().count() + name.chars().count() + 3;
        let room = self.columns.unwrap_or(WIDE).saturating_sub(used).max(20);
        let args: Vec<String> = program.args.iter().map(word).collect();
        let words = cut(&args.join(" "), room);
        let (way, name) = (self.style.paint(Tone::Dim, &way), self.style.paint(Tone::Bold, &name));
        lines.push(format!("  {way}{name} {words}").trim_end().to_owned());
        if !program.subcommand.is_empty() {
            self.said(lines, "subcommand", Tone::Plain, &in_passing(&program.subcommand.join(" ")));
        }
        if !program.flags.is_empty() {
            let flags: Vec<String> = program.flags.iter().map(flag).collect();
            self.said(lines, "options", Tone::Plain, &flags.join(", "));
        }
        let operands: Vec<String> = program.operands.iter().map(word).collect();
        if !operands.is_empty() && operands != args {
            self.said(lines, "operands", Tone::Plain, &operands.join(", "));
        }
        let values = self.values(program, places);
        if !values.is_empty() {
            self.said(lines, "values", Tone::Message, &values.join(", "));
        }
        if !program.environment.is_empty() {
            self.said(lines, "variables", Tone::Plain, &in_passing(&program.environment.join(" ")));
        }
        for text in program.texts.iter().filter(|text| **text != "*") {
            if !program.args.iter().any(|arg| arg.pattern() == text) {
                self.said(lines, "text", Tone::Plain, &cut(&in_passing(text), 200));
            }
        }
        if let Some(index) = index {
            let own = self.analysis.touches.iter().filter(|touch| touch.program == Some(index));
            self.touches(lines, own);
        }
    }

    /// The variables that the words of a program use, and where these are set.
    fn values(&self, program: &CommandProgram, places: &[Place]) -> Vec<String> {
        let mut all = Vec::new();
        for known in &self.places.values {
            let is_used = places
                .iter()
                .zip(std::iter::once(&program.name).chain(&program.args))
                .any(|(place, arg)| *place == known.place && arg.pattern().contains(&*known.value));
            let set = match known.from {
                from if from.is_empty() => String::new(),
                from => format!(" (set in {})", self.point(from)),
            };
            let text = format!("${} is {}{set}", known.name, quoted(&known.value));
            if is_used && known.value != "*" && !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }

    /// Where a place begins, for a person.
    fn point(&self, place: Place) -> String {
        let before = self.command.get(..place.range().start).unwrap_or_default();
        if self.command.trim_end().contains('\n') {
            return format!("line {}", before.matches('\n').count() + 1);
        }
        format!("column {}", before.chars().count() + 1)
    }

    fn touches<'t>(&self, lines: &mut Vec<String>, touches: impl Iterator<Item = &'t Touch>) {
        for touch in touches {
            let text = touched(touch);
            let (verb, path) = text.split_once(' ').unwrap_or((&text, ""));
            self.said(lines, verb, tone(touch.access), &in_passing(path));
        }
    }

    fn unclear(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.analysis.unclear.is_empty() {
            return lines;
        }
        lines.extend(self.heading("Cannot tell"));
        for unclear in &self.analysis.unclear {
            self.marked(&mut lines, "?", Tone::Asked, &in_passing(&unclear.reason));
        }
        lines
    }

    fn marked(&self, lines: &mut Vec<String>, mark: &str, tone: Tone, text: &str) {
        let room = self.columns.unwrap_or(WIDE).saturating_sub(INDENT).max(WORD);
        for (index, line) in broken(text, room).iter().enumerate() {
            let mark = if index == 0 { self.style.paint(tone, mark) } else { " ".to_owned() };
            lines.push(format!("  {mark} {line}"));
        }
    }

    fn policies(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.heading("Policies"));
        for (index, (policy, found)) in self.matches.iter().enumerate() {
            let (mark, tone, verb) = match (index < self.used, policy.verdict) {
                (true, Strength::Ask) => ("?", Tone::Asked, "asks"),
                (true, _) => ("✗", Tone::Bad, "blocks"),
                (false, Strength::Ask) => ("–", Tone::Warning, "(not in use) would ask"),
                (false, _) => ("–", Tone::Warning, "(not in use) would block"),
            };
            let name = self.style.paint(tone, policy.name);
            lines.push(format!("  {} {name} {verb}{}", self.style.paint(tone, mark), self.because(found)));
            let room = self.columns.unwrap_or(WIDE).saturating_sub(INDENT).max(WORD);
            for line in broken(&policy.reason, room) {
                lines.push(format!("{}{}", " ".repeat(INDENT), self.style.paint(Tone::Dim, &line)));
            }
        }
        let matched = |name: &str| self.matches.iter().any(|(policy, _)| policy.name == name);
        let others: Vec<&str> =
            native::policies().iter().map(|policy| policy.name).filter(|name| !matched(name)).collect();
        let room = self.columns.unwrap_or(WIDE).saturating_sub(INDENT).max(WORD);
        for (index, line) in broken(&others.join(", "), room).iter().enumerate() {
            let mark = if index == 0 { self.style.paint(Tone::Good, "✓") } else { " ".to_owned() };
            lines.push(format!("  {mark} {}", self.style.paint(Tone::Dim, line)));
        }
        lines
    }

    /// The program within what is said of the command.
    fn program_of(&self, does: Trait) -> Option<usize> {
        let at = self.analysis.traits.iter().position(|one| *one == does)?;
        let range = self.places.traits.get(at)?.range();
        self.places
            .programs
            .iter()
            .position(|places| places.first().is_some_and(|name| range.contains(&name.range().start)))
    }

    /// By which part of the command a policy matches.
    fn because(&self, found: &Match) -> String {
        let program = found.program.or_else(|| self.program_of(found.does?));
        let program = program.and_then(|index| self.analysis.programs.get(index));
        let touch = found.touch.and_then(|index| self.analysis.touches.get(index));
        let who = program.map_or_else(
            || "the command".to_owned(),
            |program| {
                let way: String = program.way.iter().map(|name| format!("{name} → ")).collect();
                format!("{way}{}", word(&program.name))
            },
        );
        let what = match (touch, found.does, &found.unclear) {
            (Some(touch), _, _) => format!(": {who} {}", touched(touch)),
            (None, Some(does), _) => format!(": {who} {}", does.active()),
            (None, None, Some(why)) => format!(": {why}"),
            (None, None, None) if program.is_some() => {
                let words = program.map(|p| p.args.iter().map(word).collect::<Vec<_>>().join(" "));
                format!(": {who} {}", cut(&words.unwrap_or_default(), 50))
            }
            _ => String::new(),
        };
        in_passing(what.trim_end())
    }
}

fn way(program: &CommandProgram) -> String {
    program.way.iter().map(|name| format!("{} → ", in_passing(name))).collect()
}

fn policies(number: usize) -> String {
    if number == 1 { "1 policy".to_owned() } else { format!("{number} policies") }
}

fn by(way: &[String]) -> String {
    if way.is_empty() { String::new() } else { format!(", by {}", way.join(" → ")) }
}

fn tone(access: Access) -> Tone {
    match access {
        Access::Read => Tone::Good,
        Access::Write => Tone::Warning,
        Access::Delete => Tone::Bad,
    }
}

/// What is done to a path, and where its links lead.
fn touched(touch: &Touch) -> String {
    let verb = match touch.access {
        Access::Read => "reads",
        Access::Write => "writes",
        Access::Delete => "deletes",
    };
    let target = touch.target.as_ref().map_or_else(String::new, |target| format!(" → {target}"));
    let whole = if touch.whole { " and all below" } else { "" };
    let unclear = if touch.unclear { ", of which not all is known" } else { "" };
    format!("{verb} {}{target}{whole}{unclear}", touch.path)
}

fn word(word: &Argument) -> String {
    match word {
        Argument::Text(text) | Argument::Like(text) => quoted(text),
        other => in_passing(&other.to_string()),
    }
}

/// A text as a word of a shell.
fn quoted(text: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_./:=,+@%~*".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", in_passing(text))
}

fn flag(flag: &Flag) -> String {
    let mut spellings = flag.spellings.iter();
    let first = spellings.next().map(|name| in_passing(name)).unwrap_or_default();
    let others: Vec<String> = spellings.map(|name| in_passing(name)).collect();
    let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    let value = flag.value.as_ref().map_or_else(String::new, |value| format!(" {}", word(value)));
    format!("{first}{others}{value}")
}
