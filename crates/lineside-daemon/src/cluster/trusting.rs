//! What a load of a project, or a trust of a person, changes over machines.

use std::collections::HashMap;
use std::sync::Arc;

use lineside::Session;
use lineside::core::Notice;
use lineside_nats::EntryName;

use super::Here;
use super::files::{Elsewhere, projects_of};
use super::joined::Joined;
use super::own::Own;

impl Joined {
    /// A project was loaded, or a person has trusted one: the other machines know what holds below sessions of this one, and
    /// what stands in here is under what it is to be.
    pub(super) fn projects_changed(self: &Arc<Self>, daemon: &Arc<dyn Here>) {
        let is_other = |own: &Own| {
            let now = projects_of(&**daemon, &own.session);
            own.projects.iter().map(Arc::as_ptr).ne(now.iter().map(Arc::as_ptr))
        };
        let others: Vec<Session> = {
            let own = self.own();
            let others = own.all().filter(|own| is_other(own));
            others.map(|own| own.session.clone()).collect()
        };
        for session in others {
            let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
            daemon.tracker().spawn(async move {
                let late = joined.changed(&*held, &session).await;
                late.into_iter().for_each(|text| held.bus().announce(Notice::warning(text)));
            });
        }
        let mut by_project: HashMap<_, (Arc<Elsewhere>, Vec<EntryName>)> = HashMap::new();
        for (name, one) in self.stand_ins().iter() {
            for wanted in one.files.wanted() {
                let of_it =
                    by_project.entry(Arc::as_ptr(wanted)).or_insert_with(|| (Arc::clone(wanted), Vec::new()));
                of_it.1.push(name);
            }
        }
        by_project.into_values().for_each(|(wanted, names)| self.look_for(daemon, wanted, names));
    }

    /// Looks for a project here that has what a stand-in is to be under, and puts it into that.
    pub(super) fn look_for_files(self: &Arc<Self>, daemon: &Arc<dyn Here>, name: EntryName) {
        let stand_ins = self.stand_ins();
        let wanted: Vec<_> =
            stand_ins.get(name).into_iter().flat_map(|one| one.files.wanted().cloned()).collect();
        drop(stand_ins);
        wanted.into_iter().for_each(|wanted| self.look_for(daemon, wanted, vec![name]));
    }

    fn look_for(self: &Arc<Self>, daemon: &Arc<dyn Here>, wanted: Arc<Elsewhere>, names: Vec<EntryName>) {
        let (joined, held) = (Arc::clone(self), Arc::clone(daemon));
        daemon.tracker().spawn(async move {
            if let Some(digest) = &wanted.entry.digest {
                held.projects().find_trusted(digest).await;
            }
            for name in names {
                let mut stand_ins = joined.stand_ins();
                let found = stand_ins.get_mut(name);
                if let Some(one) = found.filter(|one| one.files.is_under(&wanted))
                    && let Err(error) = one.files.renew(&*held, &one.session)
                {
                    tracing::warn!(%error, "the guards of a project elsewhere are not put in force");
                }
            }
        });
    }
}
