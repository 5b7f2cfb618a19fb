//! What is known and what is on the screen. Pure: what has to be asked is handed out, and the time is given. What a person
//! does with it is `input`.

use std::collections::{HashMap, HashSet};
use std::mem::{Discriminant, discriminant};

use lineside::fleet::Model;
use lineside::json::{Map, Value};
use lineside::log::{Decision, Stats, Why};

use super::ask::{Ask, Told};
use super::keys::Kind;
use super::pages;
use super::sessions::{Sort, rows};
use super::view::View;
use crate::style::{Style, Tone};

/// How often the daemon is asked how it stands, and what a view shows, in milliseconds.
const OFTEN: i64 = 2_000;
/// How often the sessions are asked for at most, and at least.
const SESSIONS: (i64, i64) = (1_000, 30_000);
/// What the view of hooks counts unless something is asked.
const LATELY: &str = "since:1h";

/// What is being typed in the last line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Prompt {
    #[default]
    None,
    Filter(String),
    Command(String),
    /// Whether this is meant.
    Sure(Ask, String),
}

/// Whether the daemon is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Up,
    Down,
}

/// All of it.
pub(crate) struct Top {
    pub(super) fleet: Model,
    pub(super) style: Style,
    pub(super) views: Vec<View>,
    pub(super) prompt: Prompt,
    pub(super) filter: String,
    pub(super) only: Option<HashSet<String>>,
    pub(super) message: Option<(Tone, String)>,
    pub(super) link: Link,
    pub(super) status: Map,
    pub(super) waiting: Vec<Value>,
    pub(super) jobs: Vec<Map>,
    pub(super) stats: Option<Box<Stats>>,
    pub(super) decisions: Vec<Decision>,
    pub(super) why: Option<Box<Why>>,
    pub(super) sort: Sort,
    pub(super) now: i64,
    /// The width and the lines that rows have, and which rows stand on which lines.
    pub(super) size: (usize, usize),
    pub(super) lines: Vec<Option<usize>>,
    pub(super) is_over: bool,
    /// Whether sessions have come or gone since they were asked for.
    is_stale: bool,
    asking: HashSet<Discriminant<Ask>>,
    asked: HashMap<Discriminant<Ask>, (i64, u64)>,
    pub(super) wanted: Vec<Ask>,
}

impl Top {
    pub(crate) fn new(style: Style, filter: String, now: i64) -> Self {
        Self {
            fleet: Model::default(),
            style,
            views: vec![View::new(Kind::Sessions, "")],
            prompt: Prompt::None,
            filter,
            only: None,
            message: None,
            link: Link::Up,
            status: Map::new(),
            waiting: Vec::new(),
            jobs: Vec::new(),
            stats: None,
            decisions: Vec::new(),
            why: None,
            sort: Sort::default(),
            now,
            size: (80, 24),
            lines: Vec::new(),
            is_over: false,
            is_stale: true,
            asking: HashSet::new(),
            asked: HashMap::new(),
            wanted: Vec::new(),
        }
    }

    /// The view on the screen.
    pub(super) fn view(&self) -> &View {
        // The first one stays.
        &self.views[self.views.len() - 1]
    }

    pub(super) fn view_mut(&mut self) -> &mut View {
        let last = self.views.len() - 1;
        &mut self.views[last]
    }

    /// Takes a line of the stream in.
    pub(crate) fn hear(&mut self, line: &Map, now: i64) {
        self.is_stale |= self.fleet.hear_line(line, now);
        let kind = line.get("kind").and_then(Value::as_str).unwrap_or_default();
        if kind.starts_with("approval_") {
            self.want(Ask::Approvals);
        }
    }

    /// The daemon has ended, or another one is there.
    pub(crate) fn links(&mut self, link: Link) {
        self.link = link;
        self.is_stale = true;
        self.asked.clear();
    }

    /// What is to be asked at this time: nothing of a kind twice at once.
    pub(crate) fn due(&mut self, now: i64) -> Vec<Ask> {
        let mut due = std::mem::take(&mut self.wanted);
        // What of a kind is under way is asked again when its answer has come.
        self.wanted =
            due.extract_if(.., |ask| !ask.is_change() && self.asking.contains(&discriminant(ask))).collect();
        if self.link == Link::Up {
            due.extend(self.overdue(now));
        }
        due.retain(|ask| ask.is_change() || self.asking.insert(discriminant(ask)));
        for ask in &due {
            self.asked.insert(discriminant(ask), (now, self.fleet.heard()));
            self.is_stale &= *ask != Ask::Sessions;
        }
        due
    }

    /// What is asked again and again: what nothing has happened to since is as it was, but for times.
    fn overdue(&self, now: i64) -> Vec<Ask> {
        let filter = Some(&self.filter).filter(|filter| !filter.is_empty());
        let all = [
            Some(Ask::Sessions),
            Some(Ask::Status),
            Some(Ask::Approvals),
            self.question_of_view(),
            filter.cloned().map(Ask::Only),
        ];
        let is_overdue = |ask: &Ask| {
            let Some((at, heard)) = self.asked.get(&discriminant(ask)) else { return true };
            let every = match ask {
                Ask::Sessions if self.is_stale => SESSIONS.0,
                Ask::Sessions | Ask::Approvals if self.question_of_view().as_ref() != Some(ask) => SESSIONS.1,
                _ if *heard == self.fleet.heard() => OFTEN * 4,
                _ => OFTEN,
            };
            now - at >= every
        };
        all.into_iter().flatten().filter(is_overdue).collect()
    }

    pub(super) fn want(&mut self, ask: Ask) {
        self.wanted.retain(|other| discriminant(other) != discriminant(&ask));
        self.wanted.push(ask);
    }

    /// What has to be asked for the view on the screen.
    pub(super) fn question_of_view(&self) -> Option<Ask> {
        let view = self.view();
        let about = || view.about.clone();
        match view.kind {
            Kind::Sessions | Kind::Help => None,
            Kind::Timeline => Some(Ask::Timeline {
                session: if view.is_tree { self.root(&view.about) } else { about() },
                is_tree: view.is_tree,
                query: self.filter.clone(),
            }),
            Kind::Decision => Some(Ask::Why(about())),
            Kind::Approvals | Kind::Question => Some(Ask::Approvals),
            Kind::Jobs => Some(Ask::Jobs),
            Kind::Hooks => {
                Some(Ask::Hooks(if self.filter.is_empty() { LATELY.to_owned() } else { self.filter.clone() }))
            }
        }
    }

    fn root(&self, session: &str) -> String {
        self.fleet.agent(session).map_or_else(|| session.to_owned(), |agent| agent.root.to_string())
    }

    /// Takes an answer in.
    pub(crate) fn take(&mut self, ask: &Ask, told: Told, now: i64) {
        self.asking.remove(&discriminant(ask));
        if let Some((at, _)) = self.asked.get_mut(&discriminant(ask)) {
            // What takes long is asked for a tenth of the time at most.
            *at = (*at).max(now + (now - *at) * 10 - OFTEN);
        }
        let is_of_view = self.question_of_view().as_ref() == Some(ask);
        match told {
            Told::Sessions(sessions) => self.fleet.describe(sessions.iter(), now),
            Told::Status(status) => self.status = status,
            Told::Approvals(waiting) => {
                self.fleet.questions(waiting.iter().filter_map(Value::as_object));
                self.waiting = waiting;
                self.fill();
            }
            Told::Jobs(jobs) => self.jobs = jobs,
            Told::Only(only) if *ask == Ask::Only(self.filter.clone()) => self.only = Some(only),
            Told::Hooks(stats) if is_of_view => self.stats = Some(stats),
            Told::Timeline(decisions) if is_of_view => self.decisions = decisions,
            Told::Why(why) if is_of_view => self.why = why,
            // It was asked for a view that a person has left.
            Told::Only(_) | Told::Hooks(_) | Told::Timeline(_) | Told::Why(_) => {}
            Told::Done(text) => {
                self.message = Some((Tone::Good, text));
                let kind = self.view().kind;
                if kind == Kind::Question {
                    self.back();
                }
                self.want(if kind == Kind::Jobs { Ask::Jobs } else { Ask::Approvals });
            }
            Told::Failed(text) => self.message = Some((Tone::Bad, text)),
            Told::Gone => {}
        }
        if is_of_view {
            self.view_mut().has_come = true;
            self.fill();
        }
    }

    /// Makes the rows of the view anew.
    pub(super) fn fill(&mut self) {
        let (columns, style) = (self.size.0.saturating_sub(2), self.style);
        let view = self.view();
        let rows = match view.kind {
            Kind::Sessions => rows(&self.fleet, self.only.as_ref(), self.sort, self.now),
            Kind::Timeline => {
                let (field, of) = match view.is_tree {
                    true => ("root", self.root(&view.about)),
                    false => ("session", view.about.clone()),
                };
                let is_here = |question: &&Value| question[field].as_str() == Some(&of);
                pages::timeline(&self.decisions, self.waiting.iter().filter(is_here), columns, style)
            }
            Kind::Decision => self.why.iter().flat_map(|why| pages::decision(why, columns, style)).collect(),
            Kind::Approvals => pages::approvals(&self.waiting, columns, style),
            Kind::Question => pages::asked(&self.waiting, &view.about, columns, style),
            Kind::Jobs => pages::jobs(&self.jobs, columns, style),
            Kind::Hooks => self.stats.iter().flat_map(|stats| pages::hooks(stats, columns, style)).collect(),
            Kind::Help => pages::help(columns, style),
        };
        self.view_mut().fill(rows);
    }
}
