//! The screen: what stands on each line of it, as painted lines and as cells.

use crossterm::event::KeyCode;
use lineside::fleet::{Sign, State};
use lineside::json::{Map, Value};
use ratatui::Frame;
use ratatui::style::Modifier;
use ratatui::text::{Line, Text};

use super::keys::{Kind, meaning, usual};
use super::pages::{empty, wrong};
use super::sessions::{Room, heading, line, short, sign};
use super::spans;
use super::state::{Link, Prompt, Top};
use crate::cluster::machines;
use crate::page::fitting::{cut, width, wrapped};
use crate::page::milliseconds;
use crate::painter::one_line;
use crate::stats::sparkline;
use crate::style::{Tone, count};

/// The smallest screen.
const SMALLEST: (usize, usize) = (40, 8);

impl Top {
    /// The lines of a screen of this size.
    pub(crate) fn screen(&mut self, (columns, rows): (usize, usize), now: i64) -> Vec<Line<'static>> {
        let (columns, rows) = (columns.max(SMALLEST.0), rows.max(SMALLEST.1));
        let is_other = self.size.0 != columns;
        let mut lines = vec![self.counts(), self.rates(columns)];
        lines.extend(self.cluster().map(|cluster| machines(cluster, columns, self.style)));
        lines.push(self.path(columns));
        let notice = self.notice(columns);
        let is_table = self.view().kind == Kind::Sessions;
        self.now = now;
        let footer = self.footer(columns);
        let room = rows - lines.len() - usize::from(notice.is_some()) - footer.len() - usize::from(is_table);
        self.size = (columns, room);
        // Sessions stand in another order whenever something happens.
        if is_other || is_table {
            self.fill();
        }
        if is_table {
            lines.push(heading(self.table(), self.sort, self.style));
        }
        let before = lines.len();
        let mut shown: Vec<Line<'static>> = lines.iter().map(|line| spans::line(line)).collect();
        self.lines = vec![None; before];
        self.rows(&mut shown, room);
        shown.truncate(before + room);
        shown.resize(before + room, Line::default());
        self.lines.truncate(before + room);
        shown.extend(notice.iter().chain(&footer).map(|line| spans::line(line)));
        shown
    }

    fn cluster(&self) -> Option<&Map> {
        self.status.get("cluster")?.as_object()
    }

    /// What the table of sessions has room for.
    pub(super) fn table(&self) -> Room<'_> {
        let machine = self.cluster().and_then(|cluster| cluster.get("machine")?.as_str());
        Room { columns: self.size.0, machine }
    }

    /// How many agents there are, and how they stand.
    fn counts(&self) -> String {
        let counts = self.fleet.counts();
        let all: u32 = counts.states.iter().sum();
        let mut line = self.style.paint(Tone::Bold, &count(all as usize, "agent"));
        for state in [State::Running, State::Waiting, State::Blocked, State::Stuck, State::Idle] {
            let number = counts.states.get(state as usize).copied().unwrap_or_default();
            let (mark, tone) = sign(state);
            let text = format!("{mark} {number} {}", state.as_str());
            line.push_str("  ");
            line.push_str(&self.style.paint(if number == 0 { Tone::Dim } else { tone }, &text));
        }
        line
    }

    /// What happens by the second, how long hooks take, and what waits.
    fn rates(&self, columns: usize) -> String {
        let rates = self.fleet.rates(self.now);
        let bars = columns.saturating_sub(80).clamp(12, 60);
        let seen = rates.get(rates.len().saturating_sub(bars + 1)..rates.len().saturating_sub(1));
        let bars = sparkline(seen.unwrap_or_default().iter().map(|(events, _)| u64::from(*events)));
        // The last second is not over.
        let (events, refused) = rates.get(rates.len().saturating_sub(2)).copied().unwrap_or_default();
        let number = |name: &str| self.status.get(name).and_then(Value::as_u64).unwrap_or_default();
        let (live, dead) = (number("live_jobs"), number("dead_jobs"));
        let of_dead = if dead > 0 { format!(", {dead} dead") } else { String::new() };
        let jobs = format!("{} live{of_dead}", count(live as usize, "job"));
        let (times, lost) = (self.fleet.times(), self.fleet.counts().lost);
        let hooks = times.quantile(0.5).zip(times.quantile(0.99));
        let of_hooks = |(p50, p99)| format!("hooks p50 {} p99 {}", milliseconds(p50), milliseconds(p99));
        let parts = [
            Some((Tone::Bold, format!("{}/s", short(events.into())))),
            (refused > 0).then(|| (Tone::Bad, format!("{refused}/s refused"))),
            (!self.waiting.is_empty())
                .then(|| (Tone::Asked, format!("? {}", count(self.waiting.len(), "question")))),
            (live + dead > 0).then_some((if dead > 0 { Tone::Bad } else { Tone::Plain }, jobs)),
            (lost > 0).then(|| (Tone::Warning, format!("{lost} lost"))),
            hooks.map(|times| (Tone::Plain, of_hooks(times))),
        ];
        let (mut used, mut line) = (width(&bars), bars);
        for (at, (tone, text)) in parts.into_iter().flatten().enumerate() {
            let gap = if at == 0 { " " } else { "  " };
            used += width(gap) + width(&text);
            if used <= columns {
                line.push_str(gap);
                line.push_str(&self.style.paint(tone, &text));
            }
        }
        line
    }

    /// The way to the view, and the filter.
    fn path(&self, columns: usize) -> String {
        let of = |view: &super::view::View| match view.kind {
            Kind::Timeline => {
                format!("{}{}", if view.is_tree { "tree of " } else { "" }, one_line(&view.about))
            }
            Kind::Decision => format!("decision …{}", one_line(view.about.get(24..).unwrap_or(&view.about))),
            Kind::Question => format!("question {}", one_line(&view.about)),
            kind => kind.word().to_owned(),
        };
        let path: Vec<String> = self.views.iter().map(of).collect();
        let mut right = match (self.view().kind, self.fleet.agent(&self.view().about)) {
            (Kind::Sessions, _) if self.sort.word() != "tree" => vec![format!("by {}", self.sort.word())],
            (Kind::Timeline, Some(agent)) => {
                let signs = Sign::ALL.into_iter().filter(|sign| agent.has(*sign));
                signs.map(|sign| sign.as_str().to_owned()).collect()
            }
            _ => Vec::new(),
        };
        if self.is_filtered() {
            right.push(format!("/ {}", one_line(&self.filter)));
        }
        let right = cut(&right.join("  "), columns / 2);
        let path = cut(&path.join(" › "), columns.saturating_sub(width(&right) + 2));
        let gap = columns.saturating_sub(width(&path) + width(&right));
        format!(
            "{}{}{}",
            self.style.paint(Tone::Bold, &path),
            " ".repeat(gap),
            self.style.paint(Tone::Message, &right)
        )
    }

    /// What is wrong, if anything: one line.
    fn notice(&self, columns: usize) -> Option<String> {
        let mut all = wrong(&self.status);
        if self.link == Link::Down {
            let text = "the daemon has ended; this goes on when there is one again".to_owned();
            all.insert(0, (Tone::Bad, text));
        }
        let (tone, text) = all.first()?;
        let more = if all.len() > 1 {
            format!(" (and {} more: lineside status)", all.len() - 1)
        } else {
            String::new()
        };
        let text = cut(text, columns.saturating_sub(width(&more) + 2));
        Some(format!(
            "{}{}",
            self.style.paint(*tone, &format!("! {text}")),
            self.style.paint(Tone::Dim, &more)
        ))
    }

    fn rows(&mut self, shown: &mut Vec<Line<'static>>, room: usize) {
        // The first one stays.
        let Some(mut view) = self.views.pop() else { return };
        let mut seen = view.window(room);
        // What stands below takes the place of the last line.
        let more = if view.is_text() { view.rows.len() - seen.end } else { 0 };
        seen.end -= usize::from(more > 0);
        view.seen = view.seen.max(seen.end);
        for (at, row) in view.rows.iter().enumerate().take(seen.end).skip(seen.start) {
            let agent = self.fleet.agent(&row.about).filter(|_| view.kind == Kind::Sessions);
            let of_agent = agent.map(|agent| line(agent, row.depth, self.table(), self.now, self.style));
            for (line_at, line) in row.lines.iter().chain(&of_agent).enumerate() {
                let is_chosen = at == view.at && line_at == 0 && !view.is_text() && !row.about.is_empty();
                shown.push(self.marked(line, is_chosen));
                self.lines.push(Some(at));
            }
        }
        self.views.push(view);
        let style = self.style;
        if more > 0 {
            shown.push(spans::line(
                &style.paint(Tone::Asked, &format!("  ↓ {} below", count(more + 1, "more line"))),
            ));
        }
        let has_come = self.view().kind == Kind::Sessions || self.view().has_come;
        if self.lines.iter().all(Option::is_none) {
            let lines = match has_come {
                true => empty(self.view().kind, self.is_filtered()),
                false => &["…"],
            };
            shown.push(Line::default());
            for (at, text) in lines.iter().enumerate() {
                let tone = if at == 0 { Tone::Bold } else { Tone::Dim };
                let wrapped = wrapped(text, self.size.0.saturating_sub(4), 4);
                shown.extend(
                    wrapped.iter().map(|text| spans::line(&format!("  {}", style.paint(tone, text)))),
                );
            }
        }
    }

    /// The line with the mark of the chosen one in front of it.
    fn marked(&self, line: &str, is_chosen: bool) -> Line<'static> {
        if !is_chosen {
            return spans::line(&format!("  {line}"));
        }
        let mut line = spans::line(&format!("▸ {line}"));
        let blanks = self.size.0.saturating_sub(line.width());
        line.push_span(" ".repeat(blanks));
        for span in &mut line.spans {
            span.style = span.style.remove_modifier(Modifier::DIM).add_modifier(Modifier::REVERSED);
        }
        line
    }

    /// What is being typed, what has come of a change, or the keys.
    fn footer(&self, columns: usize) -> Vec<String> {
        match (&self.prompt, &self.message) {
            (Prompt::Filter(text), _) => {
                let wrong =
                    self.message.as_ref().map(|(tone, text)| self.style.paint(*tone, &format!("  {text}")));
                return vec![format!("/{}█{}", one_line(text), wrong.unwrap_or_default())];
            }
            (Prompt::Command(text), _) => return vec![format!(":{}█", one_line(text))],
            (Prompt::Sure(_, text), _) => return vec![self.style.paint(Tone::Asked, text)],
            (Prompt::None, Some((tone, text))) => {
                let lines = wrapped(text, columns, 3);
                return lines.iter().map(|line| self.style.paint(*tone, line)).collect();
            }
            (Prompt::None, None) => {}
        }
        let mut line = String::new();
        let mut used = 0;
        let keys: Vec<_> = usual(self.view().kind)
            .filter(|(key, _)| *key != "esc" || self.views.len() > 1 || !self.filter.is_empty())
            .collect();
        for (key, what) in keys {
            let wide = width(key) + width(what) + 3;
            if used + wide > columns {
                break;
            }
            used += wide;
            line.push_str(&format!(
                "{} {}  ",
                self.style.paint(Tone::Bold, key),
                self.style.paint(Tone::Dim, what)
            ));
        }
        vec![line.trim_end().to_owned()]
    }

    /// Whether the filter says what the view shows.
    fn is_filtered(&self) -> bool {
        !self.filter.is_empty() && meaning(KeyCode::Char('/'), self.view().kind).is_some()
    }
}

/// Puts lines on a frame.
pub(crate) fn draw(frame: &mut Frame<'_>, lines: Vec<Line<'static>>) {
    frame.render_widget(Text::from(lines), frame.area());
}
