//! `approvals` of `config.yaml`: which questions of hooks wait in the daemon, for how long, and who is notified.

use std::time::Duration;

use lineside_core::exchange::Addresses;
use lineside_core::nearest::suggestion;

use super::Reading;
use crate::hosts::{Host, SERVED};
use crate::yaml::{Content, Node};

/// For how long a question may wait at most.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What is set for questions that wait in the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// For how long one waits, as far as the agent program waits; 10 minutes.
    pub wait: Duration,
    /// What it comes to when no answer came.
    pub default: Unanswered,
    /// Whose questions wait.
    pub of: WhoseAsks,
    /// A command that is started for each question; nothing where it is empty.
    pub command: Vec<String>,
    /// A URL to which each question is posted, and the addresses that it may have.
    pub post: Option<(String, Addresses)>,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(600),
            default: Unanswered::Block,
            of: WhoseAsks::Unattended,
            command: Vec::new(),
            post: None,
        }
    }
}

/// What a question comes to that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// A refusal that names the command that answers.
    Block,
    /// The agent program's own question, or what it makes of one that it cannot put.
    Ask,
}

/// Whose questions wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhoseAsks {
    /// Those that their agent program cannot put to a person.
    Unattended,
    /// All of these agent programs, and those that another one cannot put.
    Of(Vec<Host>),
    /// All.
    All,
}

impl WhoseAsks {
    /// Whether all questions of this agent program wait, also those that it could put.
    #[must_use]
    pub fn all_of(&self, host: Host) -> bool {
        match self {
            Self::Unattended => false,
            Self::Of(hosts) => hosts.contains(&host),
            Self::All => true,
        }
    }
}

impl Reading<'_> {
    pub(super) fn approvals(&mut self, value: &Node) {
        if matches!(value.written(), Some("off" | "false")) {
            self.sets("approvals", value);
            return;
        }
        if !matches!(value.content, Content::Mapping(_)) {
            return self.wrong("approvals", value, "off, or a mapping such as {wait: 10min}");
        }
        let is_off = self.settings.approvals.is_none();
        if is_off && self.settings.set.iter().any(|set| set.key == "approvals") {
            // Off above, as a whole: one finding says so.
            self.sets("approvals", value);
            return;
        }
        for (key, value) in self.mapping("approvals", value, &["wait", "default", "for", "notify"]) {
            match &*key {
                "wait" => self.wait(value),
                "default" => {
                    let Some(default) = unanswered(value) else {
                        self.wrong("approvals.default", value, "block or ask");
                        continue;
                    };
                    self.set_approval("approvals.default", value, |settings| settings.default = default);
                }
                "for" => self.whose(value),
                _ => self.notify(value),
            }
        }
        // One that says nothing more has it as it is without a key.
        if !self.settings.set.iter().any(|set| set.key.starts_with("approvals")) {
            self.sets("approvals", value);
        }
        self.settings.approvals.get_or_insert_default();
    }

    /// Sets a value of a key, unless it is set above.
    fn set_approval(&mut self, key: &str, value: &Node, set: impl FnOnce(&mut ApprovalSettings)) {
        if self.sets(key, value) {
            set(self.settings.approvals.get_or_insert_default());
        }
    }

    fn wait(&mut self, value: &Node) {
        let span = super::measured(value, &[("min", 60), ("m", 60), ("s", 1), ("h", 3_600)]);
        match span.map(Duration::from_secs).filter(|wait| *wait <= LONGEST) {
            Some(wait) => self.set_approval("approvals.wait", value, |settings| settings.wait = wait),
            None => self.wrong("approvals.wait", value, "a span such as 10min or 90s, at most 24h"),
        }
    }

    fn whose(&mut self, value: &Node) {
        let named = |node: &Node| Host::named(node.text()?);
        let of = match (&value.content, value.text()) {
            (_, Some("unattended")) => WhoseAsks::Unattended,
            (_, Some("all")) => WhoseAsks::All,
            (Content::List(hosts), _) if hosts.iter().all(|host| named(host).is_some()) => {
                WhoseAsks::Of(hosts.iter().filter_map(named).collect())
            }
            _ => {
                let names: Vec<_> = SERVED.iter().map(|host| host.name()).collect();
                let mut expected = format!("unattended, all, or a list of {}", names.join(", "));
                let items = if let Content::List(items) = &value.content { &items[..] } else { &[] };
                let near = |item: &Node| Some(suggestion(item.text()?, names.iter().copied())?.to_owned());
                if let Some(near) = items.iter().filter(|item| named(item).is_none()).find_map(near) {
                    expected.push_str(&format!("; did you mean `{near}`?"));
                }
                return self.wrong("approvals.for", value, &expected);
            }
        };
        self.set_approval("approvals.for", value, |settings| settings.of = of);
    }

    fn notify(&mut self, value: &Node) {
        for (key, value) in self.mapping("approvals.notify", value, &["command", "post"]) {
            let key = format!("approvals.notify.{key}");
            if key.ends_with(".command") {
                let words = match &value.content {
                    Content::List(words) => {
                        words.iter().map(|word| word.written().map(str::to_owned)).collect()
                    }
                    _ => None,
                };
                match words.filter(|words: &Vec<String>| !words.is_empty()) {
                    Some(words) => self.set_approval(&key, value, |settings| settings.command = words),
                    None => self.wrong(&key, value, "a list of a program and its arguments"),
                }
                continue;
            }
            let is_url = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
            match value.text().filter(is_url) {
                // A file of the machine or of the user may name any address.
                Some(url) => {
                    let post = Some((url.to_owned(), Addresses::AsWritten));
                    self.set_approval(&key, value, |settings| settings.post = post);
                }
                None => self.wrong(&key, value, "a URL that begins with http:// or https://"),
            }
        }
    }
}

fn unanswered(value: &Node) -> Option<Unanswered> {
    match value.written()? {
        "block" => Some(Unanswered::Block),
        "ask" => Some(Unanswered::Ask),
        _ => None,
    }
}
