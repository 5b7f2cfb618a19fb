//! Signals as server-sent events. A reader resumes where it was, and learns what it has lost.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use lineside::core::{PointInfo, SessionId};
use lineside::json::{Map, Value};
use lineside::{Session, Signal, log, points};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::shapes::{SignalForm, SignalsQuery};
use crate::aside::Load;
use crate::body::Query;
use crate::caller::{self, Caller};
use crate::daemon::Daemon;
use crate::feed::{Entry, What, asked, lost_fields};
use crate::problem::Problem;
use crate::shares::Tree;

/// How many entries a reader takes out of the feed at once.
const AT_ONCE: usize = 64;

/// How many sessions of a family are known after their end, for what is said of them still.
const MOST_ENDED: usize = 256;

/// From how many bytes of entries on a query is compared with them aside: it is looked for in all that they say.
const FEW: usize = 16 << 10;

/// How often a quiet connection shows that it lives.
pub(super) const QUIET: Duration = Duration::from_secs(15);

/// What is handed to a connection at once, in bytes.
const PIECE: usize = 64 << 10;

/// What happens, as it happens (`text/event-stream`).
///
/// Each event has an `id`, which is the epoch of this daemon and a number, a name such as `decided`, and a JSON object as data, with `signal_seq`, a gap-free number
/// within its session, and `time`. The stream begins with an `id` alone, the one after which it begins. A reader that comes back sends `Last-Event-ID`. What is not there any more is counted in an event
/// `lost`, whose data has the number of signals under `lost`.
#[cfg_attr(feature = "describe", utoipa::path(
    get, path = "/v1/signals", tag = "events", params(SignalsQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = 400, body = Problem))
))]
pub(super) async fn stream(
    State(daemon): State<Arc<Daemon>>,
    caller: Caller,
    Query(query): Query<SignalsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let point = match &query.point {
        Some(name) => Some(points::find(name).map_err(|error| Problem::bad_request(error.to_string()))?),
        None => None,
    };
    let is_confined = caller.granted().is_some();
    let tree = caller.tree(&daemon);
    let family = match &query.session {
        Some(session) if query.below || is_confined => {
            let (held, top) = (Arc::clone(&daemon), caller.session(&daemon, session)?);
            let made = async move { Family::of(&held, &top, query.below, is_confined) };
            Some(daemon.looks.run(Load::large(tree), made).await)
        }
        None if is_confined => return Err(caller::too_far()),
        _ => None,
    };
    let fitting = query.query.as_deref().map(|text| asked(text, daemon.bus().wall_clock()));
    let fitting = fitting.transpose().map_err(Problem::bad_request)?.map(Arc::new);
    let feed = daemon.feed();
    let (watch, epoch) = (feed.watch(), &feed.epoch);
    let after = match headers.get("last-event-id") {
        Some(id) => Some(position(id.as_bytes(), epoch, "Last-Event-ID")?),
        None => query.after.map(|id| position(id.as_bytes(), epoch, "after")).transpose()?,
    };
    let last = *watch.borrow();
    let after = match after {
        None => last,
        // An id that was not given yet is one of an earlier daemon: all that this one keeps comes after it.
        Some(id) if id > last => 0,
        Some(id) => id,
    };
    let (waiting, looking, form, session) = (VecDeque::new(), None, query.form, query.session);
    let reader =
        Reader { after, session, family, point, fitting, form, waiting, looking, watch, tree, daemon };
    let begins = Bytes::from(format!("id: {}\n\n", reader.id(after)));
    let pieces = unfold((reader, begins), async |(mut reader, mut rest)| {
        if rest.is_empty() {
            rest = match timeout(QUIET, reader.next()).await {
                Ok(text) => text?,
                Err(_) => Bytes::from_static(b":\n\n"),
            };
        }
        let piece = rest.split_to(rest.len().min(PIECE));
        Some((Ok::<_, Infallible>(piece), (reader, rest)))
    });
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    Ok((head, Body::from_stream(pieces)).into_response())
}

/// The number of an id: the one behind its epoch. It is 0 for an id of another daemon, which stands before all of this
/// one's.
fn position(id: &[u8], epoch: &str, name: &str) -> Result<u64, Problem> {
    let id = std::str::from_utf8(id).map(str::trim).unwrap_or_default();
    let (of, number) = id.split_once('-').unwrap_or((epoch, id));
    match number.parse() {
        Ok(number) if of == epoch => Ok(number),
        Ok(_) => Ok(0),
        Err(_) => Err(Problem::bad_request(format!("`{name}` must be the id of an event of this stream"))),
    }
}

/// One reader of the feed.
struct Reader {
    daemon: Arc<Daemon>,
    watch: watch::Receiver<u64>,
    after: u64,
    session: Option<String>,
    /// That session and those below it, when these are wanted.
    family: Option<Family>,
    /// Only what was decided about events of this point.
    point: Option<&'static PointInfo>,
    /// Only what this asks for.
    fitting: Option<Arc<log::Query>>,
    form: SignalForm,
    /// Each with whether it is what is asked for.
    waiting: VecDeque<(Entry, bool)>,
    /// Those that come after these, while they are compared with that.
    looking: Option<Looking>,
    /// The tree of processes that the reader is in.
    tree: Option<Tree>,
}

/// Entries that are compared with a query.
type Looking = Pin<Box<dyn Future<Output = VecDeque<(Entry, bool)>> + Send>>;

impl Reader {
    /// The text of the next event; `None` when the daemon ends. Cancel safe.
    ///
    /// Others have their turn after each portion: of very many entries none may be wanted.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            while let Some((entry, fits)) = self.waiting.pop_front() {
                self.after = entry.id;
                if let Some(family) = &mut self.family {
                    family.hear(&entry);
                }
                if fits && self.wants(&entry) {
                    return Some(self.text(&entry));
                }
            }
            if let Some(looking) = &mut self.looking {
                self.waiting = looking.as_mut().await;
                self.looking = None;
                continue;
            }
            self.watch.mark_unchanged();
            let (lost, entries) = self.daemon.feed().after(self.after, AT_ONCE);
            let is_empty = entries.is_empty();
            self.take(entries);
            if lost > 0 {
                self.after += lost;
                if let Some(family) = &mut self.family {
                    family.lose(|session| self.daemon.bus().find(session.as_str()).is_some());
                }
                return Some(self.event(self.after, "lost", lost_fields(lost)).into());
            }
            if !is_empty {
                yield_now().await;
                continue;
            }
            tokio::select! {
                changed = self.watch.changed() => changed.ok()?,
                () = self.daemon.ending.cancelled() => return None,
            }
        }
    }

    /// Takes entries that come next, and compares them with what is asked for, which takes time where they say much.
    fn take(&mut self, entries: Vec<Entry>) {
        let Some(query) = &self.fitting else {
            return self.waiting.extend(entries.into_iter().map(|entry| (entry, true)));
        };
        let bytes: usize = entries.iter().map(Entry::size).sum();
        let (query, point) = (Arc::clone(query), self.point);
        let compared = move |entry: Entry| {
            let fits = is_at(point, &entry) && query.fits(&entry.record());
            (entry, fits)
        };
        let looks = async move { entries.into_iter().map(compared).collect() };
        let load = if bytes < FEW { Load::of(bytes, || None) } else { Load::large(self.tree) };
        self.looking = Some(Box::pin(self.daemon.looks.run(load, looks)));
    }

    /// The text of an entry. Others read the same one, where it is long; when there is no room for it, it is lost.
    fn text(&self, entry: &Entry) -> Bytes {
        let id = entry.id;
        let made = || {
            let (kind, fields) = entry.to_json(self.form);
            self.event(id, kind, fields)
        };
        match entry.large() {
            None => made().into(),
            Some(bytes) => {
                let text = self.daemon.texts.of((id, self.form), bytes, made);
                text.unwrap_or_else(|| self.event(id, "lost", lost_fields(1)).into())
            }
        }
    }

    fn event(&self, id: u64, kind: &str, fields: Map) -> Vec<u8> {
        let data = Value::Object(fields).to_string();
        format!("id: {}\nevent: {kind}\ndata: {data}\n\n", self.id(id)).into_bytes()
    }

    /// The id of an entry, as readers have it.
    fn id(&self, entry: u64) -> String {
        format!("{}-{entry}", self.daemon.feed().epoch)
    }

    /// Whether it is of the sessions and the point that are wanted.
    fn wants(&self, entry: &Entry) -> bool {
        if !is_at(self.point, entry) {
            return false;
        }
        match (entry.session(), &self.family, &self.session) {
            (Some(session), Some(family), _) => family.has(session, entry.id),
            (Some(session), None, Some(wanted)) => session.as_str() == wanted,
            // What is about the whole bus concerns every reader that may see all of it.
            (None, Some(Family { is_confined: true, .. }), _) => matches!(entry.what, What::Lost(_)),
            _ => true,
        }
    }
}

/// Whether an entry is about an event of a point, if one is wanted. That something was lost concerns every watcher.
fn is_at(point: Option<&'static PointInfo>, entry: &Entry) -> bool {
    point.is_none_or(|point| match &entry.what {
        What::Signal(Signal::Decided(receipt)) => receipt.event.point() == point,
        What::Signal(_) => false,
        What::Lost(_) => true,
    })
}

/// A session and, where they are wanted, those below it, also the last that have come to their end since.
struct Family {
    /// From which entry on an id is that of a session of the family.
    members: HashMap<SessionId, u64>,
    /// Those that have come to their end, with the entries that said so, the latest at the end.
    ended: VecDeque<(SessionId, u64)>,
    /// Whether those below it belong to it.
    grows: bool,
    /// Whether nothing else may be seen: an id may have been that of a session elsewhere before, and may become that.
    is_confined: bool,
}

impl Family {
    fn of(daemon: &Daemon, top: &Session, grows: bool, is_confined: bool) -> Self {
        let open = || daemon.bus().sessions().into_iter().filter_map(|id| daemon.bus().find(id.as_str()));
        let below = grows.then(open).into_iter().flatten().filter(|session| session.is_below(top));
        let mut members: HashMap<_, _> =
            below.chain([top.clone()]).map(|session| (session.id().clone(), 0)).collect();
        if is_confined {
            daemon.feed().last_openings(&mut members);
        }
        Self { members, ended: VecDeque::new(), grows, is_confined }
    }

    fn has(&self, session: &SessionId, entry: u64) -> bool {
        self.members.get(session).is_some_and(|from| entry >= *from)
    }

    /// A session that one of them has opened is one of them; one that another has opened is none any more, and one that
    /// has ended is none for long.
    fn hear(&mut self, entry: &Entry) {
        if let What::Signal(Signal::SessionClosed { session, .. }) = &entry.what
            && self.grows
            && self.has(session, entry.id)
        {
            return self.ends(session.clone(), entry.id);
        }
        let What::Signal(Signal::SessionOpened { session, parent, .. }) = &entry.what else { return };
        if self.members.get(session).is_some_and(|from| entry.id <= *from) {
            return;
        }
        if self.grows && parent.as_ref().is_some_and(|parent| self.has(parent, entry.id)) {
            self.members.insert(session.clone(), entry.id);
        } else if self.is_confined {
            self.members.remove(session);
        }
    }

    fn ends(&mut self, session: SessionId, entry: u64) {
        self.ended.push_back((session, entry));
        if self.ended.len() > MOST_ENDED
            && let Some((session, end)) = self.ended.pop_front()
            // It may have been opened anew since.
            && self.members.get(&session).is_some_and(|from| *from <= end)
        {
            self.members.remove(&session);
        }
    }

    /// Entries were lost, and with them, it may be, the ends of some.
    fn lose(&mut self, is_open: impl Fn(&SessionId) -> bool) {
        let known: HashSet<SessionId> = self.ended.iter().map(|(session, _)| session.clone()).collect();
        let over = self.members.iter().filter(|(session, _)| !known.contains(*session) && !is_open(session));
        let over: Vec<_> = over.map(|(session, from)| (session.clone(), *from)).collect();
        over.into_iter().for_each(|(session, from)| self.ends(session, from));
    }
}

#[cfg(test)]
mod tests {
    use lineside::Bus;

    use super::*;
    use crate::feed::{Feed, Most};

    #[tokio::test]
    async fn of_sessions_that_have_ended_a_reader_keeps_the_last_alone() {
        let bus = Bus::new();
        let feed = Feed::new(&bus, Most { signals: 8, receipts: 1, bytes: 1 << 20 });
        let top = bus.session("top").open().await.unwrap();
        let members = HashMap::from([(top.id().clone(), 0)]);
        let mut family = Family { members, ended: VecDeque::new(), grows: true, is_confined: false };
        let mut after = 0;
        let mut hear = |family: &mut Family| {
            feed.hear(|_| {});
            let (lost, entries) = feed.after(after, AT_ONCE);
            entries.iter().for_each(|entry| {
                family.hear(entry);
                let session = entry.session().unwrap();
                assert!(family.has(session, entry.id), "{session} has signals still");
            });
            after += lost + entries.len() as u64;
        };
        let again = top.subagent("again").open().await.unwrap();
        again.close().await;
        let _again = top.subagent("again").open().await.unwrap();
        for number in 0..4 * MOST_ENDED {
            top.subagent(number.to_string()).open().await.unwrap().close().await;
            hear(&mut family);
        }
        // The two that are open, and those that were remembered when they ended.
        assert_eq!(family.members.len(), 2 + MOST_ENDED);
        assert!(family.members.keys().any(|session| session.as_str() == "again"));
        for number in 0..MOST_ENDED {
            family.members.insert(format!("lost {number}").into(), 0);
        }
        family.lose(|session| bus.find(session.as_str()).is_some());
        assert_eq!(family.members.len(), 2 + MOST_ENDED);
    }

    fn reader(daemon: &Arc<Daemon>, session: Option<&str>, query: Option<&str>) -> Reader {
        let fitting = query.map(|text| Arc::new(asked(text, daemon.bus().wall_clock()).unwrap()));
        Reader {
            daemon: Arc::clone(daemon),
            watch: daemon.feed().watch(),
            after: 0,
            session: session.map(str::to_owned),
            family: None,
            point: None,
            fitting,
            form: SignalForm::Log,
            waiting: VecDeque::new(),
            looking: None,
            tree: None,
        }
    }

    #[tokio::test]
    async fn a_reader_that_wants_little_of_much_lets_others_have_their_turn() {
        let folder = tempfile::tempdir().unwrap();
        let server = crate::Server::in_folder(&folder.path().canonicalize().unwrap()).await;
        let daemon = Arc::clone(&server.daemon);
        for number in 0..4 * AT_ONCE {
            server.bus().session(number.to_string()).open_now().unwrap();
        }
        let (last, _) = daemon.feed().counts();
        let mut reader = reader(&daemon, Some("none"), None);
        for portions in 0..3 {
            assert!(futures_util::poll!(std::pin::pin!(reader.next())).is_pending());
            assert!(reader.after <= portions * AT_ONCE as u64, "{} of {last} at once", reader.after);
        }
        assert!(reader.after > 0);
        server.end().await;
        while reader.next().await.is_some() {}
    }

    #[tokio::test]
    async fn a_query_is_compared_with_long_signals_beside_the_requests_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let server = crate::Server::in_folder(&folder.path().canonicalize().unwrap()).await;
        let daemon = Arc::clone(&server.daemon);
        let session = server.bus().session("s").open().await.unwrap();
        let from = daemon.feed().counts().0;
        let call = lineside::points::BeforeTool::new("X", lineside::json::json!({"text": "a".repeat(FEW)}));
        let decided = session.publish(call).await.unwrap();
        let places = daemon.looks.all_places().await;
        let mut reader = reader(&daemon, None, Some("aaa"));
        reader.after = from;
        for _ in 0..4 {
            assert!(futures_util::poll!(std::pin::pin!(reader.next())).is_pending(), "compared by a worker");
        }
        drop(places);
        let text = String::from_utf8(reader.next().await.unwrap().to_vec()).unwrap();
        assert!(text.contains(&decided.id().to_string()), "{text}");
        server.end().await;
    }
}
