//! The foot of the page: what the session came to, from the account.

use lineside::core::Strength;

use super::account::Account;
use crate::page::fitting::{column, cut, wrapped};
use crate::page::{Page, milliseconds};
use crate::style::Tone;

/// Where to go from here.
const WHERE: &str = "In the repository: examples/hooks and examples/sessions/demo.jsonl";

/// Where the values of the summary begin.
const LABEL: usize = 14;

impl Page {
    /// The foot of the page.
    pub(super) fn summary(&self, account: &Account) -> Vec<String> {
        let mut lines = vec![String::new(), self.style.paint(Tone::Dim, &"─".repeat(self.width))];
        let verdicts: Vec<_> = account
            .verdicts
            .iter()
            .map(|(strength, count)| {
                let tone = match strength {
                    Strength::Continue | Strength::Allow => Tone::Good,
                    Strength::Ask => Tone::Asked,
                    Strength::Block | Strength::Stop => Tone::Bad,
                };
                self.style.paint(tone, &format!("{count} {strength}"))
            })
            .collect();
        lines.push(
            self.style.paint(Tone::Bold, &column("decisions", LABEL))
                + &format!("{}: {}", account.events(), verdicts.join(", ")),
        );
        for (label, text) in told(account) {
            let mut rest = wrapped(&text, self.width - LABEL, 2).into_iter();
            let first = rest.next().unwrap_or_default();
            lines.push(self.style.paint(Tone::Bold, &column(label, LABEL)) + &first);
            lines.extend(rest.map(|line| format!("{:LABEL$}{line}", "")));
        }
        lines.push(String::new());
        lines.push(self.style.paint(Tone::Dim, &cut(WHERE, self.width)));
        lines
    }
}

/// Each line of the summary but the first.
fn told(account: &Account) -> Vec<(&'static str, String)> {
    let slowest = account.slowest.as_ref();
    let slowest = slowest.map(|(name, took)| format!("{name}, {}", milliseconds(*took))).unwrap_or_default();
    let Account { authored: (authored, objections), background: (finished, cut_short), .. } = account;
    vec![
        (
            "said by",
            format!("{authored} of {objections} refusals and questions name the hook that made them"),
        ),
        ("hooks", format!("{} runs, {} of them processes", account.runs, account.processes)),
        ("slowest", slowest),
        ("amendments", format!("{}, each recorded before and after", account.amendments)),
        ("failures", format!("{} of a hook, recorded and taken as it declares", account.failures)),
        (
            "context",
            format!(
                "{} messages delivered, each with its hook; {} left behind",
                account.messages, account.undelivered
            ),
        ),
        (
            "background",
            format!(
                "{finished} finished, {cut_short} cut short; {} lines in the log of edits",
                account.edits
            ),
        ),
        ("observer", format!("tally heard {} events and lost {}", account.heard, account.lost)),
        ("coverage", coverage(account)),
    ]
}

/// Whether all sessions are under the same hooks.
fn coverage(account: &Account) -> String {
    let digest = |digest: &str| digest.chars().take(12).collect::<String>();
    let Some((_, first)) = account.coverage.first() else { return "no session".to_owned() };
    if account.coverage.iter().all(|(_, other)| other == first) {
        let agents: Vec<_> = account.coverage.iter().map(|(agent, _)| agent.as_str()).collect();
        return format!("{} are under the same hooks: {}…", agents.join(", "), digest(first));
    }
    let each = account.coverage.iter().map(|(agent, own)| format!("{agent} {}…", digest(own)));
    format!("differs: {}", each.collect::<Vec<_>>().join(", "))
}
