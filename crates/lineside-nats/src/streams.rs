//! Streams that the first who needs them makes: with three copies where there are as many servers, so that each of them may
//! be away.
//!
//! Only what the server says by a code counts here. An answer that does not come says nothing: for seconds after one of three
//! servers has gone the others have no leader, and a stream that is made anew then could get fewer copies than it had.

use std::error::Error;
use std::fmt::Display;

use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, GetStreamError, GetStreamErrorKind,
};
use async_nats::jetstream::{self, ErrorCode};

/// How many copies a stream has: as many of these as there are servers for.
const COPIES: [usize; 2] = [3, 1];
/// What a server says that is alone, and what one says of a cluster that has too few servers.
const TOO_FEW: [ErrorCode; 2] = [ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED, ErrorCode::CLUSTER_NO_PEERS];

/// Makes a stream with as many copies as there are servers for.
pub(crate) async fn with_copies<S, E: Error + 'static, F: Future<Output = Result<S, E>>>(
    name: &str,
    make: impl Fn(usize) -> F,
) -> Result<S, String> {
    let failed = |why: &dyn Display| format!("failed to make {name}: {why}");
    let [most, least] = COPIES;
    match make(most).await {
        Err(error) if code(&error).is_some_and(|code| TOO_FEW.contains(&code)) => {
            tracing::info!(name, "it has one copy, because there are too few servers for three");
            make(least).await.map_err(|error| failed(&error))
        }
        made => made.map_err(|error| failed(&error)),
    }
}

/// Whether the server says that there is no such stream.
pub(crate) fn is_not_there(error: &(dyn Error + 'static)) -> bool {
    code(error) == Some(ErrorCode::STREAM_NOT_FOUND)
}

/// The code of the server's answer, in what the client says of it.
fn code(error: &(dyn Error + 'static)) -> Option<ErrorCode> {
    let answer: Option<jetstream::Error> = if let Some(error) = error.downcast_ref::<GetStreamError>() {
        match error.kind() {
            GetStreamErrorKind::JetStream(answer) => Some(answer),
            _ => None,
        }
    } else if let Some(error) = error.downcast_ref::<CreateStreamError>() {
        match error.kind() {
            CreateStreamErrorKind::JetStream(answer) => Some(answer),
            _ => None,
        }
    } else {
        None
    };
    match answer {
        Some(answer) => Some(answer.error_code()),
        None => code(error.source()?),
    }
}
