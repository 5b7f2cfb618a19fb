//! What has been appended and not been written: frames one after another, ready for the file.
//!
//! An appending caller puts its frames there itself; the writer takes all of them at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use lineside_core::journal::{Durability, Record, Sequence, Unavailable};

use crate::frame::{self, Append, Frame, Role, checksum};
use crate::group::{Acknowledged, Group};
use crate::promise::{Promise, Promised, promise};

/// Between those who append and the writer.
pub(crate) struct Queue {
    salt: u32,
    /// No more is taken in while so many bytes wait.
    bound: usize,
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    next: u64,
    /// Room for a mark, then frames.
    frames: Vec<u8>,
    /// How many appends they are.
    appends: usize,
    group: Arc<Group>,
    /// The most that any of them asked for.
    wanted: Durability,
    /// Who waits until the writer takes what is there.
    room: Vec<Waker>,
    rotations: Vec<Promise>,
    unavailable: Option<Unavailable>,
    closing: bool,
    writer_sleeps: bool,
}

/// What became of an append.
pub(crate) enum Pushed {
    Accepted(Acknowledged),
    Full,
    Refused(Unavailable),
}

/// What the writer has to do next.
pub(crate) enum Work {
    Write(Taken),
    /// Begin a new segment.
    Rotate(Vec<Promise>),
    /// Nothing has come for as long as the writer wanted to wait.
    Nothing,
    /// Nothing will come any more.
    Close,
}

/// All that was there.
pub(crate) struct Taken {
    pub(crate) frames: Vec<u8>,
    pub(crate) appends: usize,
    pub(crate) group: Arc<Group>,
    pub(crate) wanted: Durability,
    pub(crate) last: u64,
}

impl Queue {
    /// An empty queue, whose first record will be `next`.
    pub(crate) fn new(salt: u32, next: u64, bound: usize) -> Self {
        let state = State {
            next,
            frames: vec![0; frame::LENGTH],
            appends: 0,
            group: Group::new(),
            wanted: Durability::Memory,
            room: Vec::new(),
            rotations: Vec::new(),
            unavailable: None,
            closing: false,
            writer_sleeps: false,
        };
        // With less than that there would never be room.
        let bound = bound.max(frame::LENGTH + 1);
        Self { salt, bound, state: Mutex::new(state), work: Condvar::new() }
    }

    /// The sequence of the last record that was taken in.
    pub(crate) fn last(&self) -> Sequence {
        Sequence(self.lock().next - 1)
    }

    /// Takes records in, all of them directly after one another.
    pub(crate) fn push(&self, records: &[Record], wanted: Durability) -> Pushed {
        // Outside the lock, since it is what takes the time.
        let sums = match sums(self.salt, records) {
            Ok(sums) => sums,
            Err(why) => return Pushed::Refused(why),
        };
        self.push_summed(&mut self.lock(), records, &sums, wanted)
    }

    /// The same when there is room; until then it waits.
    pub(crate) fn poll_push(
        &self,
        records: &[Record],
        wanted: Durability,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Acknowledged, Unavailable>> {
        let sums = sums(self.salt, records)?;
        let mut state = self.lock();
        match self.push_summed(&mut state, records, &sums, wanted) {
            Pushed::Accepted(acknowledged) => Poll::Ready(Ok(acknowledged)),
            Pushed::Refused(why) => Poll::Ready(Err(why)),
            Pushed::Full => {
                if !state.room.iter().any(|waker| waker.will_wake(cx.waker())) {
                    state.room.push(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    fn push_summed(&self, state: &mut State, records: &[Record], sums: &[u32], wanted: Durability) -> Pushed {
        if let Some(why) = &state.unavailable {
            return Pushed::Refused(why.clone());
        }
        if state.frames.len() >= self.bound {
            return Pushed::Full;
        }
        for (index, (record, checksum)) in records.iter().zip(sums).enumerate() {
            let append = if index + 1 == records.len() { Append::Ends } else { Append::Continues };
            let length = record.bytes.len();
            let (role, kind, checksum) = (Role::Record, record.kind, *checksum);
            let frame = Frame { role, sequence: state.next, kind, append, length, checksum };
            state.frames.extend_from_slice(&frame.encode(self.salt));
            state.frames.extend_from_slice(&record.bytes);
            state.next += 1;
        }
        state.appends += 1;
        state.wanted = state.wanted.max(wanted);
        self.wake(state);
        let (group, last) = (Arc::clone(&state.group), Sequence(state.next - 1));
        Pushed::Accepted(Acknowledged { group, last, wanted, slot: None })
    }

    /// Asks for a new segment to be begun.
    pub(crate) fn rotate(&self) -> Promised {
        let (asked, promised) = promise();
        let mut state = self.lock();
        match &state.unavailable {
            Some(why) => asked.keep(Err(why.clone())),
            None => {
                state.rotations.push(asked);
                self.wake(&mut state);
            }
        }
        promised
    }

    /// Waits, not longer than this, for something to do. `spare` becomes what the next frames are put into.
    pub(crate) fn take(&self, mut spare: Vec<u8>, patience: Option<Duration>) -> Work {
        let mut state = self.lock();
        loop {
            if state.appends > 0 {
                spare.clear();
                spare.resize(frame::LENGTH, 0);
                let frames = std::mem::replace(&mut state.frames, spare);
                let group = std::mem::replace(&mut state.group, Group::new());
                let (appends, wanted) = (state.appends, state.wanted);
                (state.appends, state.wanted) = (0, Durability::Memory);
                let (room, last) = (std::mem::take(&mut state.room), state.next - 1);
                drop(state);
                room.into_iter().for_each(Waker::wake);
                return Work::Write(Taken { frames, appends, group, wanted, last });
            }
            if !state.rotations.is_empty() {
                return Work::Rotate(std::mem::take(&mut state.rotations));
            }
            if state.closing {
                return Work::Close;
            }
            state.writer_sleeps = true;
            let poisoned = PoisonError::into_inner;
            match patience {
                None => state = self.work.wait(state).unwrap_or_else(poisoned),
                Some(patience) => {
                    let (woken, waited) =
                        self.work.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
                    state = woken;
                    if waited.timed_out() && state.appends == 0 {
                        state.writer_sleeps = false;
                        return Work::Nothing;
                    }
                }
            }
            state.writer_sleeps = false;
        }
    }

    /// Takes nothing in any more; what is there is still written.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.unavailable.get_or_insert_with(|| Unavailable::because("it was closed"));
        self.wake(&mut state);
    }

    /// Closes the queue: all waiters receive the error.
    pub(crate) fn fail(&self, why: &Unavailable) {
        let (group, room, rotations) = {
            let mut state = self.lock();
            state.unavailable = Some(why.clone());
            state.appends = 0;
            state.frames = vec![0; frame::LENGTH];
            let group = std::mem::replace(&mut state.group, Group::new());
            (group, std::mem::take(&mut state.room), std::mem::take(&mut state.rotations))
        };
        group.failed(why);
        room.into_iter().for_each(Waker::wake);
        rotations.into_iter().for_each(|asked| asked.keep(Err(why.clone())));
    }

    fn wake(&self, state: &mut State) {
        // A call to the kernel, so only when it is needed.
        if std::mem::take(&mut state.writer_sleeps) {
            self.work.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sums(salt: u32, records: &[Record]) -> Result<Vec<u32>, Unavailable> {
    if let Some(long) = records.iter().find(|record| record.bytes.len() > frame::LONGEST) {
        let (is, most) = (long.bytes.len(), frame::LONGEST);
        return Err(Unavailable::because(format!("a record has {is} bytes, and the most is {most}")));
    }
    Ok(records.iter().map(|record| checksum(salt, &record.bytes)).collect())
}
