//! Jobs of this machine that any machine of the cluster may run: those that wait for a turn here are named to the others, in the
//! background. What is named and what becomes of it is on record here alone.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lineside::automation::engine::{Automations, SpareJob};
use lineside_nats::{Link, NewName};
use tokio::time::{Instant, interval_at, sleep};

use super::Here;
use super::joined::Joined;
use super::keys::named;

/// How many are named at once: the server answers for all of them together.
const AT_ONCE: usize = 512;
/// Those are gathered that come within so short a time of one another, for so long: each naming takes of the time of what comes.
const APART: Duration = Duration::from_millis(25);
const GATHERED: Duration = Duration::from_millis(250);
/// How often all that wait are named again: a name that is not taken goes after an hour.
const AGAIN: Duration = Duration::from_secs(30 * 60);
/// The pause after that could not be done.
const PAUSE: Duration = Duration::from_millis(500);
/// How long a message is unless the server has said it, and what of it is left for what stands around an event.
const MESSAGE: usize = 1 << 20;
const AROUND: usize = 4 << 10;

/// The next ones that are to be named. Unless it is behind, it waits until no more of them come, or the first has waited for long
/// enough, and until they are on record: no machine begins one before, and the disk is what the next ones wait for. Cancel safe.
async fn next(automations: &Automations, is_behind: bool) -> Vec<SpareJob> {
    let mut waiting = automations.spare_count().await;
    let began = Instant::now();
    while !is_behind && began.elapsed() < GATHERED {
        sleep(APART).await;
        let before = std::mem::replace(&mut waiting, automations.spare_count().await);
        if waiting <= before {
            break;
        }
    }
    if !is_behind {
        // What cannot be kept is not lent either.
        automations.kept().await.ok();
    }
    automations.spare_jobs(AT_ONCE).await
}

impl Joined {
    /// Names jobs that wait, until the machine leaves. After each connection all of them are named: what the server has had
    /// already it drops.
    pub(super) async fn name_jobs(&self, daemon: &dyn Here) {
        let automations = daemon.automations();
        let mut health = self.cluster().health();
        let mut again = interval_at(Instant::now() + AGAIN, AGAIN);
        let (mut named_in, mut round, mut is_behind) = (0, 0_u64, false);
        loop {
            let link = health.borrow_and_update().link.clone();
            if let Link::Together { times, .. } = link
                && times != named_in
            {
                named_in = times;
                automations.share_jobs(true);
            }
            let is_together = link.is_together();
            tokio::select! {
                () = daemon.ending().cancelled() => return,
                () = self.draining.begun() => return automations.share_jobs(false),
                Ok(()) = health.changed() => {}
                _ = again.tick() => {
                    round += 1;
                    automations.share_jobs(true);
                }
                spare = next(automations, is_behind), if is_together => {
                    is_behind = spare.len() == AT_ONCE;
                    if let Err(why) = self.name(&spare, round).await {
                        tracing::debug!(why, "jobs are not named to other machines, and run here");
                        sleep(PAUSE).await;
                        automations.share_jobs(true);
                    }
                }
            }
        }
    }

    /// How long an event may be that is sent to another machine, as text.
    pub(super) fn longest_event(&self) -> usize {
        let server = self.cluster().health().borrow().server.as_ref().map(|server| server.longest);
        server.unwrap_or(MESSAGE).saturating_sub(AROUND)
    }

    async fn name(&self, spare: &[SpareJob], round: u64) -> Result<(), String> {
        let longest = self.longest_event();
        // One that takes more than twice its weight where it is written is not lent.
        let fits = |spare: &&SpareJob| spare.bytes <= longest / 2;
        let name = |spare: &SpareJob| NewName {
            job: spare.job,
            round: format!("{}.{round}.{}", spare.attempts, spare.hook),
            hook: spare.hook.to_string(),
            key: spare.key.as_deref().map(named),
        };
        let names: Vec<_> = spare.iter().filter(fits).map(name).collect();
        let count = names.len() as u64;
        self.cluster().name_jobs(names).await?;
        self.jobs.published.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lineside::automation::Declaration;
    use lineside::automation::control::{Control, Place};
    use lineside::core::payload::Point as _;
    use lineside::core::{Hook, Part};
    use lineside::points::OnIdle;
    use lineside::{Bus, Session};

    use super::*;

    /// A job that finds no turn.
    async fn come(session: &Session, jobs: usize) {
        for _ in 0..jobs {
            drop(session.publish(OnIdle::new()).await.unwrap());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn jobs_that_come_one_upon_another_are_named_together_and_the_first_waits_for_a_bounded_time() {
        let bus = Bus::new();
        let automations = Automations::of(&bus).unwrap();
        let control = Control { place: Place::Anywhere, ..Control::default() };
        let declaration = Declaration {
            id: "lineside:/p/hooks.yaml/on_idle/a".into(),
            hook: Hook::native("a", Part::PostDecision),
            point: OnIdle::INFO,
            rules: Arc::new(control.check(OnIdle::INFO, &[]).unwrap()),
            cancelled_by: Vec::new(),
            everywhere: Some("content.a".into()),
            run: Arc::new(|_, _, _, turn| {
                Box::pin(async move {
                    turn.begins().await;
                    std::future::pending().await
                })
            }),
        };
        bus.install("file", automations.declare(declaration)).unwrap();
        automations.share_jobs(true);
        let session = bus.session("s1").open().await.unwrap();
        // All turns are taken, and so many more wait.
        come(&session, 200).await;
        assert!(next(&automations, true).await.len() > 100);
        let few = async {
            for _ in 0..4 {
                come(&session, 1).await;
                sleep(APART / 2).await;
            }
        };
        let (named, ()) = tokio::join!(next(&automations, false), few);
        assert_eq!(named.len(), 4, "they are gathered");
        let began = Instant::now();
        let many = async {
            for _ in 0..100 {
                come(&session, 1).await;
                sleep(APART / 2).await;
            }
        };
        let first = async {
            let named = next(&automations, false).await;
            (named.len(), began.elapsed())
        };
        let ((named, took), ()) = tokio::join!(first, many);
        assert!((10..30).contains(&named) && took <= GATHERED + APART, "{named} after {took:?}");
    }
}
