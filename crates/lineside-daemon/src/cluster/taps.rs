//! What happens on all machines, as it happens: each is asked for what comes after what it has given, and takes a while to
//! answer where there is nothing yet. What is not asked for goes over no network, and a reader that is slow asks later.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{FuturesUnordered, unfold};
use lineside::json::{self, Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout_at};

use super::joined::Joined;
use super::logs::LONGEST;
use super::words::{Reply, Word, read, written};
use super::{Here, Tapped};
use crate::api::shapes::SignalForm;
use crate::feed::{asked, lost_fields};

/// How long a machine waits for something to happen before it answers that nothing has, and how much longer its answer may take.
const WAIT: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_secs(1);
/// How often it is looked for machines that are not being asked, and how long the first answers may take.
const LOOK: Duration = Duration::from_secs(1);
const FIRST: Duration = Duration::from_millis(500);
/// How many entries of the feed are looked at between two looks at the time.
const AT_ONCE: usize = 64;

/// What was heard, with the id that a reader has of it.
type Heard = (String, Map);

type Asked = Pin<Box<dyn Future<Output = (String, Answer)> + Send>>;

/// What a machine has answered: up to which position, how many it has lost, and what has happened.
type Answer = Result<(String, u64, Vec<(u64, Map)>), String>;

/// A reader of what happens on all machines. Nothing is asked of them but in [`next`](Self::next).
struct Tap {
    joined: Arc<Joined>,
    daemon: Arc<dyn Here>,
    query: String,
    machines: BTreeMap<String, Known>,
    asked: FuturesUnordered<Asked>,
    heard: VecDeque<Heard>,
    looks: Interval,
    notes: u64,
    _room: OwnedSemaphorePermit,
}

/// How far a machine is heard.
#[derive(Default)]
struct Known {
    /// Up to where; nothing before its first answer.
    after: Option<String>,
    is_asked: bool,
    is_away: bool,
}

impl Joined {
    /// Hears what happens on all machines from here on.
    ///
    /// # Errors
    /// The query is none of a stream, or too many hear already.
    pub(crate) async fn tap(
        self: &Arc<Self>,
        daemon: &Arc<dyn Here>,
        query: String,
    ) -> Result<Tapped, String> {
        asked(&query, daemon.bus().wall_clock())?;
        let room = Arc::clone(&self.answering.own_taps).try_acquire_owned();
        let room =
            room.map_err(|_| "too many programs hear what happens in the cluster from here".to_owned())?;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        let mut tap = Tap {
            joined: Arc::clone(self),
            daemon: Arc::clone(daemon),
            query,
            machines: BTreeMap::new(),
            asked: FuturesUnordered::new(),
            heard: VecDeque::new(),
            looks,
            notes: 0,
            _room: room,
        };
        tap.ask_all();
        let until = Instant::now() + FIRST;
        while tap.machines.values().any(|known| known.after.is_none() && !known.is_away) {
            let Ok(Some((machine, answer))) = timeout_at(until, tap.asked.next()).await else { break };
            tap.take(&machine, answer);
        }
        Ok(unfold(tap, async |mut tap| Some((tap.next().await?, tap))).boxed())
    }

    /// What has happened here after a position, for another machine.
    pub(super) async fn heard_for_another(
        &self,
        daemon: &dyn Here,
        query: &str,
        after: Option<&str>,
    ) -> Vec<u8> {
        let (reply, text) = heard(daemon, (query, after), self.longest_answer()).await;
        written(&reply, &text)
    }
}

/// What has happened on this machine after a position, in at most so many bytes: waits until there is something.
async fn heard(daemon: &dyn Here, (query, after): (&str, Option<&str>), longest: usize) -> (Reply, String) {
    let feed = daemon.feed();
    let mut watch = feed.watch();
    let answer = |after: u64, lost: u64, texts: &[String]| {
        let last = format!("{}-{after}", feed.epoch);
        (Reply::Signals { last, lost, unable: None }, format!("[{}]", texts.join(",")))
    };
    let query = match asked(query, daemon.bus().wall_clock()) {
        Ok(query) => query,
        Err(error) => {
            return (Reply::Signals { last: String::new(), lost: 0, unable: Some(error) }, "[]".to_owned());
        }
    };
    let last = *watch.borrow();
    let Some(after) = after else { return answer(last, 0, &[]) };
    let mut after = match after.rsplit_once('-').filter(|(epoch, _)| *epoch == feed.epoch) {
        Some((_, number)) => number.parse().unwrap_or(last),
        // Of an earlier daemon: all that this one keeps comes after it.
        None => 0,
    };
    let (until, mut length, mut texts) = (Instant::now() + WAIT, 1, Vec::new());
    loop {
        watch.mark_unchanged();
        let (mut lost, entries) = feed.after(after, AT_ONCE);
        after += lost;
        let is_all = entries.is_empty();
        for entry in entries {
            if query.fits(&entry.record()) {
                let (_, fields) = entry.to_json(SignalForm::Log);
                let text = json!([entry.id, fields]).to_string();
                match length + text.len() < longest {
                    true => {
                        length += text.len() + 1;
                        texts.push(text);
                    }
                    false if texts.is_empty() => lost += 1,
                    false => break,
                }
            }
            after = entry.id;
        }
        if lost > 0 || !texts.is_empty() {
            return answer(after, lost, &texts);
        }
        let changes = async {
            match is_all {
                true => watch.changed().await.is_ok(),
                false => true,
            }
        };
        let goes_on = tokio::select! {
            () = daemon.ending().cancelled() => false,
            changed = timeout_at(until, changes) => changed == Ok(true) && Instant::now() < until,
        };
        if !goes_on {
            return answer(after, 0, &[]);
        }
    }
}

fn of_reply((reply, text): (Reply, &str)) -> Answer {
    match reply {
        Reply::Signals { unable: Some(why), .. } => Err(why),
        Reply::Signals { last, lost, .. } => {
            Ok((last, lost, json::from_str(text).map_err(|_| "its answer cannot be read")?))
        }
        _ => Err("it does not know the question".to_owned()),
    }
}

impl Tap {
    /// What is heard next, with its machine; `None` when the daemon ends. Cancel safe.
    async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return Some(heard);
            }
            tokio::select! {
                () = self.daemon.ending().cancelled() => return None,
                Some((machine, answer)) = self.asked.next(), if !self.asked.is_empty() => self.take(&machine, answer),
                _ = self.looks.tick() => self.ask_all(),
            }
        }
    }

    /// Asks each machine that is not being asked.
    fn ask_all(&mut self) {
        let members = self.joined.cluster().members().into_iter().map(|member| member.machine);
        let own = self.joined.ways.machine().to_owned();
        for machine in members.chain([own]).collect::<Vec<_>>() {
            self.ask(&machine);
        }
    }

    fn ask(&mut self, machine: &str) {
        let known = self.machines.entry(machine.to_owned()).or_default();
        if std::mem::replace(&mut known.is_asked, true) {
            return;
        }
        let (query, after) = (self.query.clone(), known.after.clone());
        let (joined, daemon, machine) =
            (Arc::clone(&self.joined), Arc::clone(&self.daemon), machine.to_owned());
        self.asked.push(Box::pin(async move {
            let answer = if machine == joined.ways.machine() {
                let (reply, text) = heard(&*daemon, (&query, after.as_deref()), LONGEST).await;
                of_reply((reply, &text))
            } else {
                let word = written(&Word::Signals { query, after }, "");
                match joined.cluster().ask(&machine, word.into(), WAIT + LATE).await {
                    Ok(answer) => {
                        read::<Reply>(&answer).map_or(Err("its answer cannot be read".to_owned()), of_reply)
                    }
                    Err(error) => Err(error.to_string()),
                }
            };
            (machine, answer)
        }));
    }

    fn take(&mut self, machine: &str, answer: Answer) {
        let Some(known) = self.machines.get_mut(machine) else { return };
        known.is_asked = false;
        let was_away = std::mem::replace(&mut known.is_away, answer.is_err());
        let (last, lost, heard) = match answer {
            Ok(answer) => answer,
            // It is asked again at the next look.
            Err(_) if was_away => return,
            Err(why) => return self.note(machine, "machine_away", &why),
        };
        let epoch = last.rsplit_once('-').map(|(epoch, _)| epoch.to_owned()).unwrap_or_default();
        known.after = Some(last.clone());
        if was_away {
            self.note(machine, "machine_back", "what it has kept meanwhile follows");
        }
        if lost > 0 {
            let mut fields = lost_fields(lost);
            fields.insert("time".to_owned(), json!(self.daemon.bus().wall_clock().to_string()));
            self.push(machine, &last, fields);
        }
        for (number, fields) in heard {
            self.push(machine, &format!("{epoch}-{number}"), fields);
        }
        self.ask(machine);
    }

    /// Something about a machine that this one says.
    fn note(&mut self, machine: &str, kind: &str, detail: &str) {
        let time = self.daemon.bus().wall_clock().to_string();
        self.notes += 1;
        let note = json!({"kind": kind, "time": time, "detail": detail});
        let id = format!("{kind}-{}-{}", self.daemon.feed().epoch, self.notes);
        self.push(machine, &id, note.as_object().cloned().unwrap_or_default());
    }

    fn push(&mut self, machine: &str, id: &str, mut fields: Map) {
        fields.insert("machine".to_owned(), Value::from(machine));
        self.heard.push_back((format!("{machine}-{id}"), fields));
    }
}
