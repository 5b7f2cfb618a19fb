//! What keys and the mouse do.

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use lineside::json::{Map, Value};
use lineside::log::Query;

use super::ask::Ask;
use super::keys::{self, Do, Kind};
use super::state::{Prompt, Top};
use super::view::View;
use crate::log::now;
use crate::style::Tone;

/// How many rows the wheel scrolls.
const WHEEL: isize = 3;

impl Top {
    /// A key was pressed.
    pub(crate) fn press(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => self.is_over = true,
                KeyCode::Char('d') => self.does(Do::Page(1)),
                KeyCode::Char('u') if self.prompt == Prompt::None => self.does(Do::Page(-1)),
                KeyCode::Char('u') => self.typed(String::clear),
                _ => {}
            }
            return;
        }
        match (&mut self.prompt, key.code) {
            (Prompt::None, code) => {
                if let Some(does) = keys::meaning(code, self.view().kind) {
                    self.does(does);
                }
            }
            (Prompt::Sure(ask, _), KeyCode::Char('y')) => {
                let ask = ask.clone();
                self.prompt = Prompt::None;
                self.wanted.push(ask);
            }
            (Prompt::Sure(..), _) | (_, KeyCode::Esc) => self.prompt = Prompt::None,
            (_, KeyCode::Enter) => self.entered(),
            (_, KeyCode::Char(char)) => self.typed(|text| text.push(char)),
            (_, KeyCode::Backspace) => self.typed(|text| {
                text.pop();
            }),
            _ => {}
        }
    }

    fn typed(&mut self, change: impl FnOnce(&mut String)) {
        if let Prompt::Filter(text) | Prompt::Command(text) = &mut self.prompt {
            change(text);
        }
    }

    /// What was typed is meant.
    fn entered(&mut self) {
        match std::mem::take(&mut self.prompt) {
            Prompt::Filter(text) => self.filters(text.trim()),
            Prompt::Command(text) => match keys::command(text.trim()) {
                Some(does) => self.does(does),
                None => {
                    let text = crate::painter::one_line(&text);
                    let there = "there are sessions, approvals, jobs, hooks, help, quit";
                    self.message = Some((Tone::Bad, format!("`{text}` is no command; {there}")));
                }
            },
            Prompt::Sure(..) | Prompt::None => {}
        }
    }

    fn filters(&mut self, text: &str) {
        if let Err(error) = Query::parse(text, now()) {
            self.message = Some((Tone::Bad, error.to_string()));
            self.prompt = Prompt::Filter(text.to_owned());
            return;
        }
        text.clone_into(&mut self.filter);
        self.only = None;
        if !text.is_empty() {
            self.want(Ask::Only(text.to_owned()));
        }
        self.asks_for_view();
    }

    fn asks_for_view(&mut self) {
        if let Some(ask) = self.question_of_view() {
            self.want(ask);
        }
    }

    fn does(&mut self, does: Do) {
        let (at, page) = (self.view().at, self.size.1.max(2) - 1);
        match does {
            Do::Move(by) => self.view_mut().choose(at.saturating_add_signed(by)),
            Do::Page(by) => {
                self.view_mut().choose(at.saturating_add_signed(by.saturating_mul(page as isize)));
            }
            Do::First => self.view_mut().choose(0),
            Do::Last => self.view_mut().choose(usize::MAX),
            Do::Open => self.open(),
            Do::Back => self.back(),
            Do::Quit => self.is_over = true,
            Do::Filter => self.prompt = Prompt::Filter(self.filter.clone()),
            Do::Command => self.prompt = Prompt::Command(String::new()),
            Do::Go(kind) => self.goes(kind),
            Do::Sort => self.sort = self.sort.next(self.table()),
            Do::Reverse => self.sort = self.sort.reversed(),
            Do::Tree => {
                self.view_mut().is_tree ^= true;
                self.asks_for_view();
            }
            Do::Allow => self.answers("allow", "once"),
            Do::AllowSession => self.answers("allow", "session"),
            Do::Deny => self.answers("deny", "once"),
            Do::Retry => self.changes_job(Ask::Retry),
            Do::Drop => self.changes_job(Ask::Drop),
        }
    }

    fn goes(&mut self, kind: Kind) {
        if self.view().kind == kind {
            return;
        }
        if kind != Kind::Help {
            self.views.truncate(1);
        }
        if kind != Kind::Sessions {
            self.enter(View::new(kind, ""));
        }
    }

    fn enter(&mut self, view: View) {
        match view.kind {
            Kind::Timeline => self.decisions.clear(),
            Kind::Decision => self.why = None,
            _ => {}
        }
        self.views.push(view);
        self.fill();
        self.asks_for_view();
    }

    fn open(&mut self) {
        let about = self.view().chosen.clone();
        if about.is_empty() {
            return;
        }
        let opened = match self.view().kind {
            Kind::Sessions => Some((Kind::Timeline, about)),
            Kind::Approvals | Kind::Timeline if self.waiting.iter().any(|asked| asked["id"] == *about) => {
                Some((Kind::Question, about))
            }
            Kind::Timeline => Some((Kind::Decision, about)),
            Kind::Approvals => Some((Kind::Question, about)),
            Kind::Jobs => {
                let event = self.job(&about).and_then(|job| job.get("events")?.as_array()?.last()?.as_str());
                event.map(|event| (Kind::Decision, event.to_owned()))
            }
            _ => None,
        };
        if let Some((kind, about)) = opened {
            self.enter(View::new(kind, about));
        }
    }

    pub(super) fn back(&mut self) {
        if self.views.len() > 1 {
            self.views.pop();
            // What it shows was another's meanwhile.
            self.asks_for_view();
        } else if !self.filter.is_empty() {
            self.filters("");
        }
    }

    fn answers(&mut self, answer: &'static str, scope: &'static str) {
        if self.view().rows.is_empty() {
            return;
        }
        // A person agrees to what they have seen.
        if answer == "allow" && self.view().seen < self.view().rows.len() {
            self.does(Do::Page(1));
            self.message =
                Some((Tone::Asked, "it goes on below; it is allowed once its end was seen".to_owned()));
            return;
        }
        let id = self.view().about.clone();
        self.wanted.push(Ask::Answer { id, answer, scope });
    }

    fn job(&self, number: &str) -> Option<&Map> {
        let number = number.parse().ok()?;
        self.jobs.iter().find(|job| job.get("job").and_then(Value::as_u64) == Some(number))
    }

    fn changes_job(&mut self, change: fn(u64) -> Ask) {
        let chosen = self.view().chosen.clone();
        let Some(number) = self.job(&chosen).and_then(|job| job.get("job")?.as_u64()) else { return };
        let ask = change(number);
        let what = if matches!(ask, Ask::Drop(_)) { "drop" } else { "retry" };
        self.prompt = Prompt::Sure(ask, format!("{what} job {number}? y for yes"));
    }

    /// The mouse was moved, or a button of it pressed.
    pub(crate) fn point(&mut self, mouse: MouseEvent) {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.does(Do::Move(WHEEL)),
            MouseEventKind::ScrollUp => self.does(Do::Move(-WHEEL)),
            MouseEventKind::Down(MouseButton::Left) => {
                let row = self.lines.get(usize::from(mouse.row)).copied().flatten();
                match row {
                    Some(row) if row == self.view().at && !self.view().is_text() => self.open(),
                    Some(row) if !self.view().is_text() => self.view_mut().choose(row),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
