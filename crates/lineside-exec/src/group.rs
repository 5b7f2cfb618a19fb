//! A process group: signals to all of it, and whether it has members beside its leader.
//!
//! Everything here takes for granted that the group's number belongs to it, which [`crate::tree`] sees to by
//! signalling only while the leader's status is not taken.
//! Processes that left the group are out of its reach, and [`crate::escaped`]' business.

use rustix::process::{Pid, Signal};

use crate::procfs::{self, Entry};

/// The weakest priority there is.
const NICEST: i32 = 19;

/// A process group, by the number of its leader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(Pid);

/// The members of a group beside its exited leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupMembers {
    /// None.
    None,
    /// Only processes that have exited and whose parent has not noticed it.
    Dead,
    /// At least one that runs.
    Alive,
}

impl Group {
    /// The group that this process leads.
    pub(crate) fn of(leader: Pid) -> Self {
        Self(leader)
    }

    /// Signals every member.
    pub(crate) fn signal(self, signal: Signal) {
        // It fails when the group is empty, which is the aim of such signals.
        let _empty = rustix::process::kill_process_group(self.0, signal);
    }

    /// Whether a process is a member, for all that is known.
    pub(crate) fn has(self, pid: i32) -> bool {
        Entry::of(pid).is_some_and(|entry| entry.group == self.0.as_raw_nonzero().get())
    }

    /// The members beside the leader, which has exited and whose status is not taken.
    ///
    /// The zombie is itself a member, so asking whether the group exists says nothing yet.
    /// Reading all of `/proc` says it, at the price of milliseconds.
    /// In most cases two cheap calls do: the zombie is given the weakest priority, and the kernel is asked for the
    /// strongest priority of the group.
    /// Is that any other than the weakest, there is another member, and only then `/proc` is read.
    ///
    /// A member that has made itself as nice as can be is not seen in this way: see [`Group::exists`].
    pub(crate) fn members(self) -> GroupMembers {
        let lowered = rustix::process::setpriority_process(Some(self.0), NICEST);
        if lowered.is_ok() && matches!(rustix::process::getpriority_pgrp(Some(self.0)), Ok(NICEST)) {
            return GroupMembers::None;
        }
        if self.has_living_member() { GroupMembers::Alive } else { GroupMembers::Dead }
    }

    /// Whether the group has any member, once its leader's status is taken.
    ///
    /// This is for reporting only.
    /// Does the group have members, the kernel keeps its number for it and the answer is exact.
    /// Has it none, the number is free, and a new group of that number would be mistaken for it: no signal may follow
    /// from the answer.
    pub(crate) fn exists(self) -> bool {
        rustix::process::test_kill_process_group(self.0).is_ok()
    }

    /// Reads `/proc`; without it, a member is assumed.
    fn has_living_member(self) -> bool {
        let is_member = |pid| self.has(pid) && Entry::of(pid).is_some_and(|entry| !entry.dead);
        procfs::all_pids().is_none_or(|mut all_pids| all_pids.any(is_member))
    }
}
