//! Which jobs are meant: those that a filter lets through, or the one that is named.

use super::job::{Job, State};

/// Which jobs are wanted.
pub(super) struct Filter<'a> {
    /// Any when there are none.
    pub(super) states: &'a [State],
    pub(super) automation: Option<&'a str>,
    pub(super) session: Option<&'a str>,
}

impl Filter<'_> {
    /// Whether it lets everything through.
    pub(super) fn is_open(&self) -> bool {
        self.states.is_empty() && self.automation.is_none() && self.session.is_none()
    }

    pub(super) fn lets_through(&self, job: &Job) -> bool {
        let in_state = self.states.is_empty() || self.states.contains(&job.state);
        let of_automation =
            self.automation.is_none_or(|name| name == job.name() || name == &*job.shown.automation);
        let of_session = self.session.is_none_or(|session| session == job.shown.session.as_str());
        in_state && of_automation && of_session
    }
}

/// What a name stands for.
pub(super) enum Named<'a> {
    One(&'a Job),
    /// Nothing, and what to say about that.
    None(String),
    /// More than one job, and what to say about that.
    Several(String),
}

/// With less of an id, one hits what one does not mean.
const LEAST: usize = 4;

/// The job of this number, or the only one with an event whose id begins or ends like this.
pub(super) fn named<'a>(jobs: &'a [Job], name: &str) -> Named<'a> {
    let number = name.parse::<u64>().ok();
    if let Some(job) = jobs.iter().find(|job| Some(job.shown.job.0) == number) {
        return Named::One(job);
    }
    let wanted = name.to_ascii_lowercase();
    if wanted.len() < LEAST {
        return Named::None(format!("there is no job `{name}`"));
    }
    let is_meant = |job: &&Job| {
        let mut ids = job.shown.events.iter().map(ToString::to_string);
        ids.any(|id| id.starts_with(&wanted) || id.ends_with(&wanted))
    };
    let meant: Vec<&Job> = jobs.iter().filter(is_meant).collect();
    match meant[..] {
        [] => {
            Named::None(format!("there is no job `{name}`, and none with an event of which this is the id"))
        }
        [job] => Named::One(job),
        [..] => {
            let numbers: Vec<String> = meant.iter().take(MOST).map(|job| job.shown.job.to_string()).collect();
            let more = if meant.len() > MOST { ", …" } else { "" };
            let all = meant.len();
            Named::Several(format!("`{name}` could be {all} jobs: {}{more}", numbers.join(", ")))
        }
    }
}

/// So many are named of those that could be meant.
const MOST: usize = 8;
