//! Hooks of sessions above one whose place is claimed and not proved: they can refuse, or have the user asked, and nothing
//! else.

use lineside_core::hook::Hook;
use lineside_core::point::PointRole;
use lineside_core::{Amendment, Answer, Failure, Part, Response, Strength, Verdict};

use crate::dispatch::dispatcher::{Dispatcher, changes};

impl Dispatcher<'_> {
    /// Whether a hook is beyond the border of the session.
    #[inline]
    pub(crate) fn is_beyond(&self, hook: &Hook) -> bool {
        hook.is_beyond(self.session.source().border)
    }

    /// Whether a hook from beyond the border has nothing to refuse here: it is started and not heard, or what it refuses
    /// keeps the agent working, with its words.
    #[inline]
    pub(crate) fn is_unheard(&self, hook: &Hook) -> bool {
        let is_stop = || matches!(self.event.point().role, PointRole::Stop | PointRole::SubagentStop);
        self.is_beyond(hook) && (matches!(hook.part, Part::Detached | Part::PostDecision) || is_stop())
    }

    /// What counts of what came of a hook from beyond the border. An amendment that would change the event refuses it: the
    /// event must not go on without it, nor with it.
    pub(crate) fn confined(
        &self,
        hook: &Hook,
        result: Result<Response, Failure>,
    ) -> Result<Response, Failure> {
        let of_answer = |answer: Answer| {
            let Answer { verdict, mut amendment, remarks, earlier, .. } = answer;
            let mut verdict = of_verdict(verdict);
            if hook.part == Part::Amender && changes(&amendment, &self.event) {
                amendment = Amendment::default();
                if !verdict.strength().is_final() {
                    verdict = Verdict::block(format!(
                        "lineside: hook \"{}\" changes this, and nothing but LINESIDE_GRANT says that this program is below \
                         its session, so this was denied; start the program from one of that session, as `lineside run` does",
                        hook.name
                    ));
                }
            }
            Answer { verdict, amendment, remarks, earlier, ..Answer::default() }
        };
        match result {
            Ok(Response::Verdict(verdict)) => Ok(Response::Verdict(of_verdict(verdict))),
            Ok(Response::Answer(answer)) => Ok(Response::Answer(Box::new(of_answer(*answer)))),
            Err(mut failure) => {
                failure.taken_as = failure.taken_as.take().map(|answer| Box::new(of_answer(*answer)));
                Err(failure)
            }
        }
    }
}

fn of_verdict(verdict: Verdict) -> Verdict {
    if verdict.strength() == Strength::Allow { Verdict::Continue } else { verdict }
}
