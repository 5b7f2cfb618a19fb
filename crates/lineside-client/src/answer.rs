//! What a hook says, as lineside's own format has it.

use std::time::Duration;

use lineside_core::json::Value;
use lineside_core::{Answer, Response};

/// The answer of an interceptor.
pub(crate) fn written(said: Response) -> Value {
    Value::Object(Answer::from(said).to_json())
}

/// A time in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
