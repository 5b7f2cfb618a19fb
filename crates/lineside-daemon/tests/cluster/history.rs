//! What was done over a cluster that is cut again and again, and whether that could have been: decisions (none lost, each by one
//! generation of a hook, which was in force) and context (accepted once).
//!
//! The order of cuts comes from a seed. `LINESIDE_CYCLES` says how many cycles there are; a night has thousands.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lineside::client::{Registration, Session};
use lineside::json::{Map, Value};
use lineside::prelude::*;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use crate::machine::{Machine, comes_to};
use crate::mailboxes::{REMINDS, accepted, collected};
use crate::nats::{LONG, Nats};
use crate::proxy::Proxy;

/// How many cycles there are, unless it is said otherwise.
const CYCLES: usize = 200;
/// How many commands are asked for at once.
const AT_ONCE: usize = 6;

/// Numbers that are the same in each run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Which generation of the hook was asked for which command, in order.
type Asked = Arc<Mutex<Vec<(usize, String)>>>;

/// What came of a command.
struct Decided {
    command: String,
    /// The generation that was in force when it was asked for, and the last one that was registered when it was decided.
    from: usize,
    to: usize,
    /// The generation of the hook whose refusal stands, and that of the answer; none where it could not be asked.
    author: usize,
    answered: Option<usize>,
}

/// The hook of a generation: it refuses everything, and says which it is.
async fn hook(session: &Session, generation: usize, asked: &Asked) -> Registration {
    let asked = Arc::clone(asked);
    let gate = session
        .intercept::<BeforeTool>(format!("guard-{generation}"))
        .timeout(millis(2_000))
        .matching(tool("Shell"));
    let gate = gate.gate(move |call, _cx| {
        let command = call.command().unwrap_or_default().to_string();
        asked.lock().unwrap().push((generation, command.clone()));
        std::future::ready(Verdict::block(format!("generation {generation} refuses {command}")))
    });
    gate.await.unwrap()
}

/// Asks for a command, while generations are registered.
async fn decided(child: &Session, command: String, registered: &AtomicUsize) -> Decided {
    let from = registered.load(Ordering::SeqCst) / 2;
    let call = BeforeTool::new("Shell", json!({"command": command}));
    let decision = child.publish(call).await.unwrap();
    let to = registered.load(Ordering::SeqCst).div_ceil(2);
    assert!(decision.is_refused(), "`{command}` was let through");
    let reason = decision.reason().map(|reason| reason.as_str().to_owned()).unwrap();
    let number = |text: &str| text.parse().ok();
    let author = decision.author().and_then(|author| author.strip_prefix("guard-")).and_then(number);
    let author =
        author.unwrap_or_else(|| panic!("`{command}` was refused by no hook of the parent: {reason}"));
    let by = reason.strip_prefix("generation ").and_then(|rest| rest.split_once(" refuses "));
    let answered = by.map(|(generation, of)| {
        assert_eq!(of, command, "an answer is that to another question");
        number(generation).unwrap()
    });
    Decided { command, from, to, author, answered }
}

/// Every command was decided once, by one generation, which was in force and was asked for that alone. Gives how many a hook has
/// answered.
fn check(commands: usize, all: &[Decided], asked: &[(usize, String)]) -> usize {
    let once: HashSet<_> = all.iter().map(|decided| &decided.command).collect();
    assert_eq!((all.len(), once.len()), (commands, commands), "a decision is lost, or there are two");
    let mut of_commands: HashMap<&str, Vec<usize>> = HashMap::new();
    for (generation, command) in asked {
        of_commands.entry(command).or_default().push(*generation);
    }
    for Decided { command, from, to, author, answered } in all {
        let asked = of_commands.remove(&**command).unwrap_or_default();
        let once: HashSet<_> = asked.iter().collect();
        assert_eq!(once.len(), asked.len(), "`{command}`: one generation was asked twice: {asked:?}");
        let in_force = *from..=*to;
        let others: Vec<_> = asked.iter().filter(|generation| !in_force.contains(generation)).collect();
        assert!(others.is_empty(), "`{command}`: {others:?} were asked, and {in_force:?} were in force");
        let Some(answered) = answered else { continue };
        assert_eq!(author, answered, "`{command}` was decided by two generations");
        assert!(asked.contains(answered), "`{command}`: {answered} was not asked: {asked:?}");
    }
    all.iter().filter(|decided| decided.answered.is_some()).count()
}

/// What became of messages for the context.
#[derive(Default)]
struct Messages {
    accepted: HashSet<String>,
    /// Whether these were accepted was not answered.
    in_doubt: HashSet<String>,
}

impl Messages {
    /// Collects over a machine, and accepts over it or another one.
    async fn pass(&mut self, collects: &Machine, accepts: &Machine) {
        let Ok(delivery) = collected(&collects.client()).await else { return };
        self.handed_over(&delivery);
        self.accept(accepts, &delivery).await;
    }

    /// The same when they have gone back, and are out again from the machine of the session.
    async fn pass_late(&mut self, own: &Machine, collects: &Machine, accepts: &Machine) {
        let Ok(late) = collected(&collects.client()).await else { return };
        let again = async {
            loop {
                let again = collected(&own.client()).await.unwrap();
                if ids(&late).iter().all(|id| ids(&again).contains(id)) {
                    return again;
                }
                yield_now().await;
            }
        };
        let again = timeout(LONG, again).await.expect("they go back in time");
        self.handed_over(&late);
        self.handed_over(&again);
        self.accept(accepts, &late).await;
        self.accept(own, &again).await;
    }

    fn handed_over(&self, delivery: &Map) {
        let twice: Vec<_> = ids(delivery).into_iter().filter(|id| self.accepted.contains(id)).collect();
        assert!(twice.is_empty(), "{twice:?} were accepted, and are handed over again");
    }

    async fn accept(&mut self, over: &Machine, delivery: &Map) {
        let ids = ids(delivery);
        if ids.is_empty() {
            return;
        }
        match accepted(&over.client(), delivery).await {
            Ok(_) => {
                self.handed_over(delivery);
                self.accepted.extend(ids);
            }
            Err(_) => self.in_doubt.extend(ids),
        }
    }
}

fn ids(delivery: &Map) -> Vec<String> {
    let id = |message: &Value| message["id"].as_str().unwrap().to_owned();
    delivery["messages"].as_array().unwrap().iter().map(id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_cuts_no_decision_is_lost_and_no_message_comes_twice() {
    let cycles = std::env::var("LINESIDE_CYCLES").ok().and_then(|cycles| cycles.parse().ok());
    let cycles: usize = cycles.unwrap_or(CYCLES);
    let mut nats = Nats::new().await;
    let proxies = [Proxy::to(nats.port).await, Proxy::to(nats.port).await];
    let a = Machine::with_deliveries(&proxies[0].url(), "a", millis(20)).await;
    let b = Machine::new(&proxies[1].url(), "b").await;
    let root = a.project("repo", REMINDS);
    a.trust(&root);
    b.trust(&b.project("clone", REMINDS));
    let parent = a.client().session("s1").cwd(root.to_string_lossy()).open().await.unwrap();
    let child = b.below(&parent).session("s2").cwd("/").open().await.unwrap();
    let (asked, mut dice, mut messages) = (Asked::default(), Dice(7), Messages::default());
    let (mut in_force, mut generation) = (hook(&parent, 0, &asked).await, 0);
    // Twice the generation that is in force, and one more while the next one is being registered.
    let (registered, mut all, mut sent) = (Arc::new(AtomicUsize::new(0)), Vec::new(), 0);
    for cycle in 0..cycles {
        let mut commands = JoinSet::new();
        for number in 0..AT_ONCE {
            let (child, registered) = (child.clone(), Arc::clone(&registered));
            let command = format!("rm {cycle}-{number}");
            commands.spawn(async move { decided(&child, command, &registered).await });
        }
        // Some are over when it is cut, and some under way.
        for _ in 0..dice.roll(AT_ONCE as u64) {
            all.push(commands.join_next().await.unwrap().unwrap());
        }
        let cut = usize::try_from(dice.roll(3)).unwrap();
        match proxies.get(cut) {
            Some(proxy) => proxy.cut(),
            None if cycle % 5 == 0 => {
                nats.kill();
                nats.start().await;
            }
            None => {}
        }
        if dice.roll(2) == 0 {
            // The next one is in force before this one leaves.
            generation += 1;
            registered.fetch_add(1, Ordering::SeqCst);
            let next = hook(&parent, generation, &asked).await;
            std::mem::replace(&mut in_force, next).remove().await.unwrap();
            registered.fetch_add(1, Ordering::SeqCst);
        }
        assert!(!parent.publish(BeforeTool::new("Look", json!({}))).await.unwrap().is_refused());
        sent += 1;
        let (collects, accepts) = match dice.roll(4) {
            0 => (&a, &a),
            1 => (&a, &b),
            2 => (&b, &a),
            _ => (&b, &b),
        };
        match dice.roll(4) {
            0 => messages.pass_late(&a, collects, accepts).await,
            _ => messages.pass(collects, accepts).await,
        }
        while let Some(decided) = commands.join_next().await {
            all.push(decided.unwrap());
        }
        proxies.iter().for_each(Proxy::heal);
        if dice.roll(4) > 0 {
            for machine in [&a, &b] {
                machine.until(|status| status["cluster"]["together"] == json!(true)).await;
            }
        }
    }
    let last = format!("generation {generation} refuses rm");
    comes_to(&child, "rm", |reason| reason == Some(&last)).await;
    let answered = check(cycles * AT_ONCE, &all, &asked.lock().unwrap());
    assert!(0 < answered && answered < all.len(), "some are answered, and some are not: {answered}");
    // What was out is back, and nothing is lost.
    for machine in [&a, &b] {
        machine.until(|status| status["cluster"]["together"] == json!(true)).await;
    }
    let all = |messages: &Messages| messages.accepted.union(&messages.in_doubt).count();
    let drained = async {
        while all(&messages) < sent {
            messages.pass(&a, &a).await;
            yield_now().await;
        }
    };
    timeout(LONG, drained).await.expect("every message is handed over in time");
    assert_eq!(all(&messages), sent, "messages that no event has given");
}
