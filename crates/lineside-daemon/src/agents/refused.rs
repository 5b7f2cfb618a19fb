//! What is refused to a process for the place at which it stands, in words for people.

use lineside::Session;

use super::Shown;
use crate::lineage::Process;

/// The session above, by the grant and by the ancestors. Where one of the two is below the other, that one has the hooks
/// of both; where neither is, no session has, and nothing is opened.
pub(super) fn together(grant: &Shown<'_>, nearest: Option<&Session>) -> Result<Option<Session>, String> {
    match (grant, nearest) {
        (Shown::Of(granted), Some(nearest)) if nearest.is_below(granted) => Ok(Some(nearest.clone())),
        (Shown::Of(granted), Some(nearest)) if granted.id() != nearest.id() && !granted.is_below(nearest) => {
            Err(format!(
                "lineside: this was denied: LINESIDE_GRANT is of session `{}`, and the program runs below the agent of \
                 session `{}`, whose hooks that one is not under; start it without LINESIDE_GRANT",
                granted.id(),
                nearest.id()
            ))
        }
        (Shown::Of(granted), _) => Ok(Some((*granted).clone())),
        (Shown::None | Shown::Over, nearest) => Ok(nearest.cloned()),
    }
}

pub(super) const UNKNOWN: &str = "it is not known which process asks, and one below an agent does not take off its guards; a person asks \
    over the socket, and waits for the answer";

pub(super) const OF_A_HOOK: &str = "a hook has started this, which may be the program of an agent, and takes off no guard; a person \
    does it in a terminal";

pub(super) const TOO_DEEP: &str = "lineside: this was denied: more than 250 processes are above this program, so that it is not known \
    below which agent it runs; start it from fewer";

pub(super) const OVER: &str = "lineside: this was denied: LINESIDE_GRANT in the environment of this program is of a session that has \
    ended, and no program above it has one; start the program anew, and a server that it keeps in the background as well \
    (`codex --no-daemon` has none)";

pub(super) fn of_another(root: &str, serving: Option<Process>, is_of_agent: bool) -> String {
    let of = of_process(serving);
    let whence = match is_of_agent {
        true => "below another agent; what an agent runs has sessions of its own",
        false => "elsewhere; end that process, or begin a new session here",
    };
    format!("lineside: this was denied: {of} has session `{root}` open, and this call comes from {whence}")
}

fn of_process(serving: Option<Process>) -> String {
    serving.map_or_else(|| "an unknown process".to_owned(), |process| format!("process {}", process.pid))
}

pub(super) fn elsewhere(root: &str, above: Option<&Session>, serving: Option<Process>) -> String {
    let of = of_process(serving);
    let whence = match above {
        Some(above) => format!("outside of session `{}`, under which this program was started", above.id()),
        None => "below another session, under which this program was not started".to_owned(),
    };
    format!(
        "lineside: this was denied: {of} has session `{root}` open {whence}; end that process, or begin a new session here"
    )
}
