//! How jobs end, and how they begin again.

use std::sync::Arc;

use lineside_automation::machine::Occurrence;
use lineside_automation::machine::job::Why;
use lineside_core::FailureKind;

use super::{Job, Reference, Said, Stands, ms};
use crate::world::Ev;

impl Reference {
    /// A run ends: with a result, or with a failure, or cancelled.
    pub(crate) fn ended(&mut self, id: u64, fails: Option<bool>) -> Vec<Said> {
        let job = self.jobs[&id].clone();
        let Stands::Running { cancelling } = job.stands else { panic!("job {id} does not run") };
        let retry = self.rules[job.automation].retry;
        match (fails, cancelling) {
            (Some(false), _) => self.end(id, Said::Finished(id), Stands::Over),
            (_, Some(why)) => self.end(id, Said::Cancelled(id, why), Stands::Over),
            (_, None) => match retry.pause(job.attempts, FailureKind::Error, 0) {
                Some(pause) => {
                    self.said.push(Said::Retried(id));
                    self.job(id).stands = Stands::Pausing { until: self.now + ms(pause) };
                }
                None => self.end(id, Said::Dead(id), Stands::Dead),
            },
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    pub(crate) fn cancel_key(&mut self, automation: usize, event: &Ev) -> Vec<Said> {
        let rules = Arc::clone(&self.rules[automation]);
        let template = rules.concurrency.as_ref().map_or(&rules.hold_key, |(template, _)| template);
        let wanted = event.key(template.text());
        let meant = |job: &Job| {
            job.automation == automation
                && job.event.key(template.text()) == wanted
                && !matches!(job.stands, Stands::Running { .. } | Stands::Over | Stands::Dead)
        };
        for id in self.ids(meant) {
            self.cancel(id, Why::Event(event.id()));
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    pub(crate) fn drop_job(&mut self, id: u64) -> Vec<Said> {
        match self.jobs.get(&id).map(|job| job.stands.clone()) {
            Some(Stands::Dead) => {
                self.jobs.remove(&id);
            }
            Some(_) => self.cancel(id, Why::Person),
            None => {}
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }

    pub(crate) fn revive(&mut self, id: u64) -> Vec<Said> {
        if let Some(job) = self.jobs.get_mut(&id).filter(|job| job.stands == Stands::Dead) {
            job.attempts = 0;
            self.overdue.retain(|(overdue, _)| *overdue != id);
            job.stands = if job.rate.is_some() { Stands::Rate } else { Stands::Key };
            self.said.push(Said::Revived(id));
        }
        self.due();
        self.start();
        std::mem::take(&mut self.said)
    }
}
