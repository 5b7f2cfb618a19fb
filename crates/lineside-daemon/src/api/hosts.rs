//! Agent programs with a hook command: a call as its host has made it, to the words that the host understands.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use lineside::Session;
use lineside::bus::OpenSessionError;
use lineside::hosts::{
    CallOrigin, Confinement, Host, HostAnswer, HostCall, HostReply, Ownership, ReadCall, SERVED,
    ServeHostError, WhichAsks,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agents::Shown;
use crate::approvals::call::OfCall;
use crate::body::{Document, Path, values};
use crate::caller::{Caller, Connection};
use crate::connections;
use crate::daemon::{Daemon, too_deep, too_many};
use crate::elsewhere;
use crate::lineage::Process;
use crate::problem::Problem;
use crate::whole::{as_far_as_happened, if_happened, unless_left};

/// The header with the event that the entry of the host states.
const EVENT: &str = "lineside-event";
/// The header with the time that is left.
const WITHIN: &str = "lineside-within-ms";
/// The header with what a call is known by when it comes again.
const CALL: &str = "lineside-call";
/// How long hooks may take for a call; what is left of its time beyond that is for questions that wait for a person.
const HOOKS: Duration = Duration::from_secs(59);
/// The header with the version of this protocol, of a request as of an answer.
const PROTOCOL: HeaderName = HeaderName::from_static("lineside-protocol");
/// The version.
const VERSION: u16 = 1;
/// What is said to a program that speaks an earlier version, or none.
const OLDER: &str = "lineside: the program of this entry is older than the running daemon, so this was denied; \
    run lineside install, and start the agent again";
/// What is said to one that speaks a later version.
const NEWER: &str = "lineside: the running daemon is older than the program of this entry, so this was denied; \
    end it with: lineside stop";
/// The header with the exit status.
const EXIT: HeaderName = HeaderName::from_static("lineside-exit");
/// The header with the length of standard output.
const STDOUT: HeaderName = HeaderName::from_static("lineside-stdout-bytes");

/// Answer a call of a host's hook command.
///
/// The body is the document of the host as it came on standard input. The answer says what the process prints and how it
/// exits: its body is standard output, followed by standard error; `Lineside-Stdout-Bytes` is where the one ends, and
/// `Lineside-Exit` the exit status, 0 or 2. A request of another version of this protocol, or of none, is answered as one
/// that nothing could decide: its gates are closed. Whose child a new session of the host is follows from the grant and from
/// the processes above the caller; a call whose session has no place there is refused in the words of the host. A connection
/// that breaks before the answer leaves an event undecided that has not happened yet; one that tells of what has happened is
/// decided all the same.
#[cfg_attr(feature = "describe", utoipa::path(
    post, path = "/v1/hosts/{host}", tag = "hosts",
    params(
        ("host" = String, Path, description = "in whose words the answer is: `claude`, `codex`, `copilot`, `cursor`, `gemini`, `kimi`, `opencode` or `qwen`"),
        ("lineside-protocol" = u16, Header, description = "the version of this protocol, 1"),
        ("lineside-event" = Option<String>, Header, description = "the name of the event, as the host's entry states it; percent-encoded"),
        ("lineside-within-ms" = Option<u64>, Header, description = "the time that is left for the decision, in milliseconds"),
        ("lineside-call" = Option<String>, Header, description = "what the call is known by when it comes again, after its daemon has gone away while it waited for a person; letters, digits and `-`, at most 64"),
    ),
    request_body(content = Object, description = "the host's document"),
    responses(
        (status = 200, content_type = "text/plain", body = String, description = "what the process prints",
            headers(
                ("lineside-protocol" = u16, description = "the version of this protocol, 1"),
                ("lineside-exit" = u8, description = "the exit status"),
                ("lineside-stdout-bytes" = u64, description = "how many bytes of the body are standard output"),
            )),
        (status = 400, body = Problem, description = "a header is not the documented one, or a name in the document is too long"),
        (status = 404, body = Problem, description = "there is no such host"),
        (status = 413, body = Problem, description = "too large for a gate to see; `verdict` is `block`"),
    )
))]
pub(super) async fn serve(
    State(daemon): State<Arc<Daemon>>,
    caller: Result<Caller, Problem>,
    connection: Option<Extension<Connection>>,
    Path(host): Path<String>,
    headers: HeaderMap,
    document: Document,
) -> Result<Response, Problem> {
    let Some(host) = Host::named(&host) else { return Err(no_host(&host)) };
    let event = text(&headers, EVENT)?.map(|event| decoded(event, EVENT)).transpose()?;
    let began = Instant::now();
    // Not its place at the door: what goes on without the caller takes none.
    let from = connection.map(|Extension(connection)| (connection.peer, connection.name)).unzip();
    if document.is_small(&daemon) {
        let call = HostCall { host, event, stdin: document.0 };
        return serve_call(&daemon, caller, from, (&headers, began), call, None).await.map(said);
    }
    let (held, of) = (Arc::clone(&daemon), from.0.flatten());
    let load = document.load(&daemon, || daemon.agents.tree(of));
    // What it is, is not known before there is room for its values.
    let answer = as_far_as_happened(&daemon, load, |left| async move {
        let Document(stdin, _read, peer) = document;
        let _values = values(&held, &stdin, peer).await?;
        let call = HostCall { host, event, stdin };
        serve_call(&held, caller, from, (&headers, began), call, Some(&left)).await
    });
    answer.await.map(said)
}

/// A call to its answer; one of what has not happened ends when its host has left. While hooks are off, whatever is wrong with
/// its session, it passes.
async fn serve_call(
    daemon: &Arc<Daemon>,
    caller: Result<Caller, Problem>,
    (peer, connection): (Option<Option<Process>>, Option<Arc<str>>),
    times: (&HeaderMap, Instant),
    call: HostCall,
    left: Option<&CancellationToken>,
) -> Result<HostAnswer, Problem> {
    let from = (peer.flatten(), connection);
    if !daemon.switch.is_off() {
        return serve_in(daemon, &caller, from, times, call, (left, None)).await;
    }
    daemon.say_switched();
    let (answer, ended) = daemon.hosts.pass(call.clone());
    let reached = |ended: Session| caller.as_ref().ok()?.session(daemon, ended.id().as_str()).ok();
    let ended = ended.filter(|session| !daemon.attachments.are_on(session));
    if let Some(session) = ended.and_then(reached) {
        connections::close(daemon, session).await;
    }
    // Whose process it is, and where its session stands, is known afterwards all the same.
    serve_in(daemon, &caller, from, times, call, (left, Some(&answer))).await.ok();
    Ok(answer)
}

/// A call to its answer, which may be that of one that passes, in the session of its program.
async fn serve_in(
    daemon: &Arc<Daemon>,
    caller: &Result<Caller, Problem>,
    (peer, connection): (Option<Process>, Option<Arc<str>>),
    (headers, began): (&HeaderMap, Instant),
    call: HostCall,
    (left, passing): (Option<&CancellationToken>, Option<&HostAnswer>),
) -> Result<HostAnswer, Problem> {
    let host = call.host;
    let call = ReadCall::from(call);
    let Some(root) = call.root().map(Cow::into_owned) else { return Ok(call.undecided("")) };
    if let Some(why) = other_version(headers) {
        return Ok(call.undecided(why));
    }
    let grant = match caller {
        Err(_) => Shown::Over,
        Ok(caller) => caller.granted().map_or(Shown::None, Shown::Of),
    };
    let found = match daemon.bus().find(&root).map(elsewhere::is_here).transpose() {
        Ok(found) => found,
        Err(problem) => return Ok(call.undecided(&problem.detail)),
    };
    let of_host = |session: &Session| daemon.agents.proves(session, peer);
    let open = daemon.hosts.opened(&root).or_else(|| found.filter(of_host));
    let standing = match daemon.agents.standing(peer, &grant, &root, open.as_ref()) {
        Ok(standing) => standing,
        Err(why) => return Ok(call.undecided(&why)),
    };
    let other = daemon.bus().find(&root).filter(|session| {
        open.is_none() && daemon.agents.owner(session, peer, &standing) == Ownership::OfOther
    });
    if let Some(other) = other {
        return Ok(call.undecided(&of_other(&other)));
    }
    if let Some(over) = open.filter(|_| standing.is_over) {
        connections::close(daemon, over).await;
    }
    let mut origin = CallOrigin::default();
    let found = standing.attribution(daemon.bus());
    origin.attribution = Some(daemon.cluster.attribution(standing.above.as_ref(), found));
    origin.parent = standing.above.clone();
    origin.confined = if matches!(grant, Shown::Of(_)) { Confinement::ToParent } else { Confinement::No };
    let within = within(headers)?;
    origin.within = within.map(|within| within.min(HOOKS));
    origin.work = peer.and_then(Process::works_in);
    origin.connection = connection;
    let tree = || daemon.agents.tree_as_agent(peer, standing.process);
    if daemon.bus().find(&root).is_none() {
        origin.projects = daemon.agents.projects_before(&root, standing.process);
        origin.quota = tree().map(|tree| daemon.sessions.of_tree(tree));
    }
    origin.holds = daemon.agents.holds_before(&root, standing.process);
    origin.owns = Some({
        let (held, standing) = (Arc::clone(daemon), standing.clone());
        Arc::new(move |session: &Session| held.agents.owner(session, peer, &standing))
    });
    let waits = daemon.approvals.settings().filter(|_| passing.is_none()).map(|settings| {
        let until = within.and_then(|within| began.checked_add(within));
        let named = text(headers, CALL).ok().flatten();
        let which = if settings.of.all_of(host) { WhichAsks::All } else { WhichAsks::Unattended };
        (OfCall::new(daemon, (&root, standing.process, tree()), named, until), which)
    });
    if let Some((waits, which)) = &waits {
        origin.asks = Some((Arc::<OfCall>::clone(waits), *which));
    }
    let left_waiting = waits.as_ref().map(|(waits, _)| waits.left().clone());
    let (held, passing) = (Arc::clone(daemon), passing.cloned());
    let is_fact = call.is_fact();
    let answer = async move {
        let answer = match passing {
            Some(silent) => {
                let opened = held.hosts.open_passing(call, &origin).await;
                opened.map(|()| silent).map_err(|error| not_served(&error))
            }
            None => answer(&held, call, origin, began).await,
        };
        let is_noted = waits.as_ref().is_some_and(|(waits, _)| waits.has_noted());
        let found = held.bus().find(&root);
        if !is_noted {
            held.agents.note(&root, found.as_ref(), standing.process);
        }
        held.agents.note_holds(&root, standing.process, || held.hosts.holds(&root));
        if let Some(session) = found {
            held.agents.note_projects(&root, standing.process, held.projects.roots(&session));
        }
        if held.is_closed(&root) {
            held.agents.note_ended(&root, standing.process);
        }
        answer
    };
    let answer = async move {
        match left_waiting {
            // It asks the next daemon again, which finds its question.
            Some(waiting) => {
                waiting.run_until_cancelled(answer).await.unwrap_or_else(|| Err(Problem::ending()))
            }
            None => answer.await,
        }
    };
    match left {
        Some(left) => if_happened(left, is_fact, answer).await,
        None => unless_left(daemon, is_fact, answer).await,
    }
}

async fn answer(
    daemon: &Arc<Daemon>,
    call: ReadCall,
    mut origin: CallOrigin,
    began: Instant,
) -> Result<HostAnswer, Problem> {
    let own = call.root().and_then(|root| daemon.bus().find(&root));
    for session in origin.parent.iter().chain(&own) {
        daemon.preparing.stand(daemon.bus(), session).await;
    }
    origin.within = origin.within.map(|within| within.saturating_sub(began.elapsed()));
    let HostReply { answer, receipts, mut afterwards } =
        daemon.hosts.answer_from(call, &origin).await.map_err(|error| not_served(&error))?;
    // That an agent has ended is the word of any program below it, and opened anew its session would be without them.
    afterwards.keep_open_if(|session| daemon.attachments.are_on(session));
    for receipt in &receipts {
        daemon.note(receipt);
    }
    if let Some(session) = afterwards.session().filter(|_| afterwards.ends()) {
        daemon.note_closed(session);
    }
    connections::afterwards(daemon, afterwards);
    Ok(answer)
}

/// Why a call is refused whose session is that of another program.
fn of_other(session: &Session) -> String {
    let error = ServeHostError::OfOther(session.id().to_string());
    format!("lineside: this was denied: {error}")
}

/// Why a request is of another version of the protocol; nothing where it is of this one.
fn other_version(headers: &HeaderMap) -> Option<&'static str> {
    let mut given = headers.get_all(PROTOCOL).iter();
    let version = given.next().and_then(|version| version.to_str().ok()?.parse::<u16>().ok());
    match (version, given.next()) {
        (Some(VERSION), None) => None,
        (Some(version), None) if version > VERSION => Some(NEWER),
        _ => Some(OLDER),
    }
}

/// An answer as a response.
fn said(answer: HostAnswer) -> Response {
    let HostAnswer { stdout, stderr, exit } = answer;
    let length = stdout.len();
    let body = if stderr.is_empty() { stdout } else { stdout + &stderr };
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(PROTOCOL, HeaderValue::from(VERSION));
    headers.insert(EXIT, HeaderValue::from(u16::from(exit)));
    headers.insert(STDOUT, HeaderValue::from(length));
    response
}

/// A header that stands there once at most.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Problem> {
    let mut given = headers.get_all(name).iter();
    let value = given.next().map(|value| value.to_str()).transpose();
    match (value, given.next()) {
        (Ok(value), None) => Ok(value),
        _ => {
            Err(Problem::bad_request(format!("the header `{name}` must be ASCII and stand there once"))
                .blocks())
        }
    }
}

fn within(headers: &HeaderMap) -> Result<Option<Duration>, Problem> {
    let number = |text: &str| {
        let number = text.parse().map(Duration::from_millis);
        number.map_err(|_| {
            Problem::bad_request(format!("the header `{WITHIN}` must be a number of milliseconds")).blocks()
        })
    };
    text(headers, WITHIN)?.map(number).transpose()
}

/// The text behind a percent-encoding. What is not UTF-8 has a replacement character.
fn decoded(text: &str, header: &str) -> Result<String, Problem> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = rest.split_at_checked(2).filter(|(digits, _)| digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|(digits, _)| std::str::from_utf8(digits).ok());
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (Some(byte), Some((_, behind))) = (byte, digits) else {
            let detail = format!("in the header `{header}` two digits must stand behind each `%`");
            return Err(Problem::bad_request(detail).blocks());
        };
        bytes.push(byte);
        rest = behind;
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn no_host(name: &str) -> Problem {
    let names: Vec<_> = SERVED.iter().map(|host| host.name()).collect();
    let name: String = name.chars().take(100).collect();
    Problem::not_found(format!("there is no host {name:?}; there are {}", names.join(", "))).blocks()
}

fn not_served(error: &ServeHostError) -> Problem {
    let detail = error.to_string();
    match error {
        ServeHostError::Session(OpenSessionError::Draining)
        | ServeHostError::Publish(lineside::bus::PublishError::Draining) => Problem::ending(),
        ServeHostError::NotBelow { .. } => {
            let title = "The grant does not reach this far";
            Problem::new(StatusCode::FORBIDDEN, "not-granted", title, detail).blocks()
        }
        ServeHostError::TooLong { .. } => Problem::bad_request(detail).blocks(),
        ServeHostError::Session(error @ OpenSessionError::TooDeep(_)) => too_deep(error),
        ServeHostError::Session(error @ OpenSessionError::TooMany(_)) => too_many(error),
        _ => Problem::conflict("not-published", "The event was not published", detail).blocks(),
    }
}
