//! Long work that never waits, as reading a large document: on threads of its own, so that the workers of the runtime go on
//! with small requests.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::{Notify, Semaphore};

use crate::boxed::apart;
use crate::shares::{Shares, Tree};

/// From how many bytes on a body is worked at aside: reading this much takes about a millisecond.
pub(crate) const LARGE: usize = 256 << 10;

/// From how many characters on with which a shell expands something the body of a call is worked at aside: what its patterns
/// match is looked for on the disk, and its variables are worked out.
const EXPANSIONS: usize = 64;

/// From how many words and signs of a shell on the body of a call is worked at aside: a command of as many parts takes about
/// a millisecond, however short these are.
const PARTS: usize = 256;

/// As how many parts a sign counts that may begin a program: each program is compared with every guard.
const PROGRAM: usize = 4;

/// How many are worked at at the same time.
const AT_ONCE: usize = 2;

/// The length of a body as far as the work with it goes: one whose commands expand much, or have many parts, is as one that
/// is large.
pub(crate) fn weight(body: &[u8]) -> usize {
    let (mut expansions, mut parts) = (0, 0);
    for byte in body {
        match byte {
            b'*' | b'?' | b'$' => expansions += 1,
            // The backslash is that of a line feed, a tab or a quote in JSON.
            b';' | b'&' | b'|' | b'(' | b'`' => parts += PROGRAM,
            b' ' | b')' | b'[' | b'{' | b'}' | b'<' | b'>' | b'\'' | b'\\' => parts += 1,
            _ => {}
        }
    }
    if expansions < EXPANSIONS && parts < PARTS { body.len() } else { body.len().max(LARGE) }
}

/// How much work there is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    is_large: bool,
    /// The tree of processes that has caused it, where it is large.
    tree: Option<Tree>,
}

impl Load {
    /// Of what may be long, and is the daemon's own affair.
    pub(crate) const OWN: Self = Self { is_large: true, tree: None };

    /// For a body of this length, which a process of this tree has sent.
    pub(crate) fn of(length: usize, tree: impl FnOnce() -> Option<Tree>) -> Self {
        let is_large = length >= LARGE;
        Self { is_large, tree: if is_large { tree() } else { None } }
    }

    /// Of what may be long, for a process of this tree.
    pub(crate) fn large(tree: Option<Tree>) -> Self {
        Self { is_large: true, tree }
    }
}

/// The threads for large bodies. Clones have the same places.
///
/// No tree of processes has more of them than leaves one for others.
#[derive(Clone)]
pub(crate) struct Aside {
    places: Arc<Semaphore>,
    shares: Arc<Shares>,
}

impl Default for Aside {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), shares: Arc::new(Shares::of(AT_ONCE)) }
    }
}

/// Has work polled again.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

impl Aside {
    /// One place, for what may be long and is a stranger's: it holds up nothing else.
    pub(crate) fn of_strangers() -> Self {
        Self { places: Arc::new(Semaphore::new(1)), shares: Arc::new(Shares::of(1)) }
    }

    /// Does work: where it is large, each poll is one on another thread. A place is taken while
    /// it is polled, and not while it waits for something. Dropping it ends the work after a poll that is under way.
    ///
    /// # Panics
    /// Where the work panics.
    pub(crate) fn run<F>(&self, load: Load, work: F) -> impl Future<Output = F::Output> + Send + use<F>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let Self { places, shares } = self.clone();
        let Load { is_large, tree } = load;
        // What it consists of is moved once, and not from each future around it to the next: they are on one stack.
        let mut pending = Box::pin(work);
        async move {
            if !is_large {
                return pending.await;
            }
            let woken = Arc::<Woken>::default();
            loop {
                // Its own first: what it has too much of does not stand in line before others. None is ever closed.
                let share = match tree {
                    Some(tree) => shares.wait(tree, 1).await,
                    None => None,
                };
                let place = Arc::clone(&places).acquire_owned().await;
                let (mut work, waker) = (pending, Waker::from(Arc::clone(&woken)));
                let polled = apart(move || {
                    // They are taken until the poll is over, also where nothing waits for that any more.
                    let _taken = (place, share);
                    match work.as_mut().poll(&mut Context::from_waker(&waker)) {
                        // What is left of it is dropped here.
                        Poll::Ready(done) => Ok(done),
                        Poll::Pending => Err(work),
                    }
                });
                pending = match polled.await {
                    Ok(Ok(done)) => return done,
                    Ok(Err(pending)) => pending,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => resume_unwind(panic),
                        // The runtime is over: nothing is polled again.
                        Err(_) => std::future::pending().await,
                    },
                };
                woken.0.notified().await;
            }
        }
    }
}

#[cfg(test)]
impl Aside {
    /// Every place: nothing is worked at aside until this is dropped.
    pub(crate) async fn all_places(&self) -> tokio::sync::OwnedSemaphorePermit {
        let all = u32::try_from(self.places.available_permits()).unwrap();
        Arc::clone(&self.places).acquire_many_owned(all).await.unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;

    use super::{AT_ONCE, Aside, LARGE, Load, PARTS, weight};
    use crate::lineage::Process;
    use crate::shares::Tree;

    #[test]
    fn a_command_of_many_parts_is_as_one_that_is_large() {
        let command: String = (0..PARTS / 4).map(|number| format!("(rm a{number}); ")).collect();
        for (command, is_large) in
            [(command.as_str(), true), ("(rm a); (rm b)", false), (&"x".repeat(LARGE - 1), false)]
        {
            assert_eq!(weight(command.as_bytes()) >= LARGE, is_large, "{} bytes", command.len());
        }
    }

    #[tokio::test]
    async fn the_work_of_one_tree_leaves_a_place_for_that_of_others() {
        let aside = Aside::default();
        let [one, other] = [std::process::id(), std::os::unix::process::parent_id()]
            .map(|pid| Some(Tree::Agent(Process::of(pid).unwrap())));
        let (mut gates, mut tasks, mut begun) = (Vec::new(), Vec::new(), 0);
        let (begins, mut begin) = tokio::sync::mpsc::channel(AT_ONCE * 4);
        for _ in 0..AT_ONCE * 4 {
            let ((opens, gate), begins) = (mpsc::sync_channel::<()>(1), begins.clone());
            let work = aside.run(Load::large(one), async move {
                begins.try_send(()).unwrap();
                gate.recv().unwrap();
            });
            tasks.push(tokio::spawn(work));
            gates.push(opens);
        }
        begin.recv().await.unwrap();
        // Done while all work of the other tree stands or waits.
        aside.run(Load::large(other), async {}).await;
        aside.run(Load::large(Some(Tree::Rest)), async {}).await;
        while begin.try_recv().is_ok() {
            begun += 1;
        }
        assert_eq!(begun, 0, "a second one of the tree is worked at");
        gates.iter().for_each(|gate| gate.send(()).unwrap());
        for task in tasks {
            task.await.unwrap();
        }
    }

    #[tokio::test]
    async fn work_for_a_large_body_keeps_nothing_else_waiting_and_only_so_many_are_worked_at() {
        let aside = Aside::default();
        let (mut begun, mut gates, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..AT_ONCE * 10 {
            let ((begins, begin), (opens, gate)) = (oneshot::channel(), mpsc::sync_channel::<()>(1));
            tasks.push(tokio::spawn(aside.run(Load::OWN, async move {
                // What waits has no place.
                tokio::task::yield_now().await;
                begins.send(()).unwrap();
                // Blocks its thread, as long work does; this one has another.
                gate.recv().unwrap();
            })));
            begun.push(begin);
            gates.push(opens);
        }
        let mut under_way = Vec::new();
        while under_way.len() < AT_ONCE {
            let (_, at, rest) = futures_util::future::select_all(begun).await;
            begun = rest;
            under_way.push(gates.remove(at));
        }
        assert_eq!(aside.places.available_permits(), 0);
        for gate in under_way.iter().chain(&gates) {
            gate.send(()).unwrap();
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(aside.places.available_permits(), AT_ONCE);
    }

    #[tokio::test]
    async fn work_that_is_given_up_has_its_place_until_its_poll_is_over() {
        let aside = Aside::default();
        let ((begins, begin), (opens, gate)) = (oneshot::channel(), mpsc::sync_channel::<()>(1));
        let (ends, end) = oneshot::channel::<()>();
        let work = tokio::spawn(aside.run(Load::OWN, async move {
            begins.send(()).unwrap();
            gate.recv().unwrap();
            // Dropped with the work, before its place is free.
            drop(ends);
        }));
        begin.await.unwrap();
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        assert_eq!(aside.places.available_permits(), AT_ONCE - 1);
        opens.send(()).unwrap();
        assert!(end.await.is_err(), "nothing is sent");
        drop(aside.all_places().await);
    }

    #[tokio::test]
    async fn work_that_panics_aside_has_its_caller_panic() {
        let panics = tokio::spawn(Aside::default().run(Load::OWN, async { panic!("as it was asked to") }));
        assert!(panics.await.unwrap_err().is_panic());
    }
}
