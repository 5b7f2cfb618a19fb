//! Bodies in and out: read strictly and within bounds, written as JSON.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use lineside::core::json::read_strict;
use lineside::json::{Map, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use crate::aside::{LARGE, Load, weight};
use crate::caller::{Caller, Connection};
use crate::daemon::Daemon;
use crate::lineage::Process;
use crate::problem::Problem;
use crate::room::{self, SMALL, Taken, TooMuch};
use crate::shares::Tree;

/// A JSON object that was read strictly: no doubled key, at most 64 levels, UTF-8, nothing after it; and the room that it
/// takes, to be held for as long as it is there.
pub(crate) struct Fields(pub(crate) Map, pub(crate) Taken);

/// A body as it came, the room that it takes, to be held for as long as it is there, and the process that sent it.
pub(crate) struct Document(pub(crate) Vec<u8>, pub(crate) Option<Taken>, pub(crate) Option<Process>);

/// Whether a body is worked at at once.
pub(crate) fn is_small(daemon: &Daemon, body: &[u8]) -> bool {
    room::is_small(body) && weight_for(daemon, body) == body.len()
}

/// The [`weight`] of a body; where hooks of programs search much, that of any is as that of a large one.
fn weight_for(daemon: &Daemon, body: &[u8]) -> usize {
    if daemon.attachments.search_much() { body.len().max(LARGE) } else { weight(body) }
}

impl Document {
    /// Whether it is worked at at once: its values need no room, and it is little work.
    pub(crate) fn is_small(&self, daemon: &Daemon) -> bool {
        is_small(daemon, &self.0)
    }

    /// How much work it is, which a process of this tree has caused.
    pub(crate) fn load(&self, daemon: &Daemon, tree: impl FnOnce() -> Option<Tree>) -> Load {
        Load::of(weight_for(daemon, &self.0), tree)
    }

    /// The JSON object that it is, and the room for its values, which is waited for.
    ///
    /// # Errors
    /// It is none, or there is no room.
    pub(crate) async fn fields(self, daemon: &Daemon) -> Result<(Map, Taken), Problem> {
        let room = values(daemon, &self.0, self.2).await?;
        fields(&self.0).map(|fields| (fields, room))
    }
}

/// A request of a documented form, and the room that it takes. An empty body counts as `{}`.
pub(crate) struct Asked<T>(pub(crate) T, pub(crate) Taken);

/// The parameters of the path, which are UTF-8.
pub(crate) struct Path<T>(pub(crate) T);

/// The parameters of the query, of a documented form.
pub(crate) struct Query<T>(pub(crate) T);

/// An answer.
pub(crate) struct Json<T>(pub(crate) T);

/// An answer that is JSON already, and the room that it takes until the client has read it.
pub(crate) struct JsonText(pub(crate) String, pub(crate) Taken);

impl AsRef<[u8]> for JsonText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl FromRequest<Arc<Daemon>> for Fields {
    type Rejection = Problem;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let document = Document::from_request(request, daemon).await?;
        let held = Arc::clone(daemon);
        let load = document.load(daemon, || daemon.agents.tree(document.2));
        let read = async move { document.fields(&held).await };
        let read = daemon.aside.run(load, read);
        read.await.map(|(fields, room)| Self(fields, room))
    }
}

impl FromRequest<Arc<Daemon>> for Document {
    type Rejection = Problem;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let limits = &daemon.settings.limits;
        let peer = request.extensions().get::<Connection>().and_then(|connection| connection.peer);
        let (bytes, room) = whole(request, (daemon, peer), limits.body, limits.whole).await?;
        Ok(Self(bytes, room, peer))
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Daemon>> for Asked<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Problem> {
        let Fields(fields, room) = Fields::from_request(request, daemon).await?;
        asked(fields).map(|asked| Self(asked, room))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(path)) => Ok(Self(path)),
            Err(rejection) => Err(Problem::bad_request(rejection.body_text())),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Problem::bad_request(rejection.body_text())),
        }
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Written::of(&self.0).into_response()
    }
}

/// An answer that is JSON already.
pub(crate) struct Written(Bytes);

impl Written {
    /// The text of an answer.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub(crate) fn of(answer: &impl Serialize) -> Result<Self, Problem> {
        let text = lineside::json::to_string(answer).map_err(|error| Problem::unwritten(&error))?;
        Ok(Self(text.into()))
    }
}

impl IntoResponse for Written {
    fn into_response(self) -> Response {
        let Self(body) = self;
        let mut response = written(body.clone().into());
        if body.len() > SMALL {
            response.extensions_mut().insert(Long(body));
        }
        response
    }
}

/// A list that may be long, to its text: made and written where it keeps no other request waiting.
///
/// # Errors
/// It cannot be written as JSON.
pub(crate) async fn listed<T: Serialize>(
    daemon: &Arc<Daemon>,
    caller: &Caller,
    list: impl FnOnce(&Daemon) -> T + Send + 'static,
) -> Result<Written, Problem> {
    let held = Arc::clone(daemon);
    let work = async move { Written::of(&list(&held)) };
    daemon.looks.run(Load::large(caller.tree(daemon)), work).await
}

/// The body of a long answer.
#[derive(Clone)]
struct Long(Bytes);

/// The body of a long answer, and the room that it takes until it is dropped.
struct Held {
    bytes: Bytes,
    _room: Taken,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Gives a long answer about what was before its room, until the client has read it. It does not wait for that: the answer
/// is there, and takes what is waited for.
pub(crate) fn weighed(daemon: &Daemon, peer: Option<Process>, mut response: Response) -> Response {
    let Some(Long(body)) = response.extensions_mut().remove() else { return response };
    match daemon.room.answer_now(body.len(), daemon.agents.tree(peer)) {
        Some(room) => response.map(|_| Bytes::from_owner(Held { bytes: body, _room: room }).into()),
        None => no_room_for_answer("ask again later").into_response(),
    }
}

/// The problem with a long answer, and what to do.
pub(crate) fn no_room_for_answer(remedy: &str) -> Problem {
    let (word, title) = ("no-room", "There is no room for the answer now");
    let detail = format!("other long answers take all the room; {remedy}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, word, title, detail)
}

fn written(body: Body) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}

impl IntoResponse for JsonText {
    fn into_response(self) -> Response {
        let Self(text, room) = self;
        let body = match room.shrunk(text.len()) {
            Some(room) => Bytes::from_owner(Self(text, room)),
            None => text.into(),
        };
        written(body.into())
    }
}

/// A request of a documented form.
///
/// # Errors
/// The object has another one.
pub(crate) fn asked<T: DeserializeOwned>(fields: Map) -> Result<T, Problem> {
    lineside::json::from_value(&Value::Object(fields))
        .map_err(|error| Problem::bad_request(error.to_string()))
}

/// A JSON object that is read strictly; nothing counts as `{}`.
///
/// # Errors
/// It is none. An event that it was to be must not happen.
pub(crate) fn fields(body: &[u8]) -> Result<Map, Problem> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match read_strict(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Problem::bad_request("the body must be a JSON object").blocks()),
        Err(error) => Err(Problem::bad_request(format!("the body is not JSON: {error}")).blocks()),
    }
}

/// Waits for room for the values of a body.
///
/// # Errors
/// There is none in time, or never enough.
pub(crate) async fn values(daemon: &Daemon, body: &[u8], peer: Option<Process>) -> Result<Taken, Problem> {
    let limits = &daemon.settings.limits;
    let room = daemon.room.values(body, || daemon.agents.tree(peer));
    let room = tokio::time::timeout(limits.whole, room).await;
    room.map_err(|_| busy())?.map_err(|TooMuch { bytes }| comes_to(bytes, limits.memory))
}

/// The whole of a body that is short enough and comes in time, and the room that it takes.
async fn whole(
    request: Request,
    (daemon, peer): (&Daemon, Option<Process>),
    most: usize,
    within: Duration,
) -> Result<(Vec<u8>, Option<Taken>), Problem> {
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let announced = announced.map(|length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced.is_some_and(|length| length > most) {
        return Err(too_large(most));
    }
    let mut pieces = request.into_body().into_data_stream();
    // What is announced need not come.
    let (mut bytes, mut taken) = (Vec::with_capacity(announced.unwrap_or_default().min(SMALL)), None);
    let end = Instant::now() + within;
    loop {
        let piece = match timeout_at(end, pieces.next()).await {
            Ok(None) => return Ok((bytes, taken)),
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => {
                return Err(Problem::bad_request(format!("the body broke off: {error}")).blocks());
            }
            Err(_) => return Err(too_slow(within)),
        };
        if bytes.len() + piece.len() > most {
            return Err(too_large(most));
        }
        if taken.is_none() && bytes.len() + piece.len() > SMALL {
            let room = daemon.room.read(announced.unwrap_or(most), daemon.agents.tree(peer));
            let room = timeout_at(end, room).await;
            taken = Some(room.map_err(|_| busy())?);
        }
        bytes.extend_from_slice(&piece);
    }
}

fn too_slow(within: Duration) -> Problem {
    let detail = format!("the body did not arrive within {} s", within.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "The body is too slow", detail).blocks()
}

pub(crate) fn busy() -> Problem {
    let detail = "other large bodies take all the room; send it again later, or less at once";
    let (word, title) = ("no-room", "There is no room for the body now");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, word, title, detail).blocks()
}

fn comes_to(bytes: usize, most: usize) -> Problem {
    let detail = format!(
        "the values of the body come to about {bytes} bytes, and there is room for {most}, so that no gate can see it"
    );
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail).blocks()
}

pub(crate) fn too_large(most: usize) -> Problem {
    let detail = format!("the body has more than {most} bytes, so that no gate can see it");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail).blocks()
}
