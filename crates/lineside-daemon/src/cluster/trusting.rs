//! What a load of a project, or a trust of a person, changes over machines.

use std::sync::Arc;

use lineside::Session;
use lineside::core::Notice;
use lineside_nats::EntryName;

use super::Here;
use super::files::project_of;
use super::joined::Joined;
use super::words::ProjectEntry;

impl Joined {
    /// A project was loaded, or a person has trusted one: the other machines know what holds below sessions of this one, and
    /// what stands in here is under what it is to be.
    pub(super) fn projects_changed(self: &Arc<Self>, daemon: &Arc<dyn Here>) {
        let is_other =
            |project: &Option<ProjectEntry>, session: &Session| *project != project_of(&**daemon, session);
        let others: Vec<Session> = {
            let own = self.own();
            let others = own.all().filter(|own| is_other(&own.project, &own.session));
            others.map(|own| own.session.clone()).collect()
        };
        for session in others {
            let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
            daemon.tracker().spawn(async move {
                let late = joined.changed(&*held, &session).await;
                late.into_iter().for_each(|text| held.bus().announce(Notice::warning(text)));
            });
        }
        let standing: Vec<_> = self.stand_ins().iter().map(|(name, _)| name).collect();
        standing.into_iter().for_each(|name| self.look_for_files(daemon, name));
    }

    /// Looks for a project here that has what a stand-in is to be under, and puts it into that.
    pub(super) fn look_for_files(self: &Arc<Self>, daemon: &Arc<dyn Here>, name: EntryName) {
        let wanted = self.stand_ins().get(name).and_then(|one| one.files.wanted().cloned());
        let Some(wanted) = wanted else { return };
        let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
        daemon.tracker().spawn(async move {
            if let Some(digest) = &wanted.digest {
                held.projects().find_trusted(digest).await;
            }
            let mut stand_ins = joined.stand_ins();
            let found = stand_ins.get_mut(name);
            if let Some(one) = found.filter(|one| one.files.wanted() == Some(&wanted))
                && let Err(error) = one.files.put(&*held, (&one.session, &one.machine), Some(&wanted))
            {
                tracing::warn!(%error, "the guards of a project elsewhere are not put in force");
            }
        });
    }
}
