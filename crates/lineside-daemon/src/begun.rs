//! What programs that have attached have begun to write and have not ended: the memory that it takes, weighed with that of
//! all others.

use std::fmt;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use lineside::Attachment;
use lineside::exec::LineRoom;

use crate::boxed::spawn;
use crate::caller::Connection;
use crate::connections::freed;
use crate::daemon::Daemon;
use crate::room::{Room, SMALL, Taken};
use crate::shares::Tree;

/// The lines of one program, and its place at the door, which it has for as long as it is there.
pub(crate) struct Begun<P> {
    room: Arc<Room>,
    tree: Option<Tree>,
    /// What the line takes that was begun; what is small has no part in it.
    taken: Vec<Taken>,
    bytes: usize,
    _place: P,
}

impl<P> Begun<P> {
    pub(crate) fn of(room: &Arc<Room>, tree: Option<Tree>, place: P) -> Self {
        Self { room: Arc::clone(room), tree, taken: Vec::new(), bytes: SMALL, _place: place }
    }
}

/// Gives a program the place that it has asked for, once its connection is free.
pub(crate) fn attach(daemon: &Arc<Daemon>, upgrade: OnUpgrade, from: Connection, place: Attachment) {
    let held = Arc::clone(daemon);
    spawn(&daemon.tracker, async move {
        let Connection { stream, place: at_door, peer, .. } = from;
        let Some((stream, begun)) = freed(upgrade, stream, held.ending.clone()).await else { return };
        let lines = Begun::of(&held.room, held.agents.tree(peer), at_door);
        if place.connect(stream, begun, Box::new(lines)).is_err() {
            tracing::warn!("a program has attached twice with one token; the second connection is closed");
        }
    });
}

impl<P> fmt::Debug for Begun<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<P: Send + Sync> LineRoom for Begun<P> {
    fn hold(&mut self, bytes: usize) -> bool {
        let bytes = bytes.max(SMALL);
        if bytes < self.bytes {
            self.taken.clear();
            self.bytes = SMALL;
        }
        let more = bytes - self.bytes;
        if more == 0 {
            return true;
        }
        let Some(taken) = self.room.begun_now(more, self.tree) else {
            self.taken.clear();
            self.bytes = SMALL;
            return false;
        };
        self.taken.push(taken);
        self.bytes = bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::Process;

    #[test]
    fn what_programs_of_one_tree_have_begun_to_write_leaves_room_for_others_and_small_lines_need_none() {
        let room = Arc::new(Room::new(32 << 20));
        let [one, other] = [std::process::id(), std::os::unix::process::parent_id()]
            .map(|pid| Some(Tree::Agent(Process::of(pid).unwrap())));
        let lines = |tree| Begun::of(&room, tree, ());
        let mut first = lines(one);
        assert!(first.hold(SMALL) && first.hold(1 << 20) && first.hold(2 << 20));
        let mut second = lines(one);
        assert!(second.hold(SMALL) && !second.hold(1 << 20), "its tree has 2 MiB of 16");
        let mut third = lines(other);
        assert!(third.hold(1 << 20) && third.hold(2 << 20));
        assert!(first.hold(0) && second.hold(1 << 20), "what is whole takes nothing");
        drop((second, third));
        assert!(first.hold(2 << 20) && !first.hold(3 << 20), "what is dropped takes nothing");
        assert!(first.hold(2 << 20));
        let mut rest: Vec<_> = (0..20).map(|_| lines(Some(Tree::Rest))).collect();
        assert_eq!(rest.iter_mut().filter_map(|line| line.hold(1 << 20).then_some(())).count(), 8);
    }
}
