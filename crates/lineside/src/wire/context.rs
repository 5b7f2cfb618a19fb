//! A message for an agent's context as JSON.

use lineside_core::ContextMessage;
use lineside_core::json::{Map, Value};

/// A message: `id`, `hook`, `dialect`, `point`, `event`, `session`, `role`, `key?`, `text`, `cut?`.
///
/// ```
/// use lineside::prelude::*;
/// use lineside::wire;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Bus::new().session("s1").open().await?;
/// session
///     .intercept::<BeforePrompt>("date")
///     .gate(async |_, _cx| Judgement::from(Verdict::Continue).append("Today is Monday."))?;
/// drop(session.publish(BeforePrompt::new("plan the week")).await?);
/// let delivery = session.collect().ready();
/// let json = wire::message(&delivery.messages()[0]);
/// assert_eq!((&json["hook"], &json["text"]), (&json!("date"), &json!("Today is Monday.")));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn message(message: &ContextMessage) -> Map {
    match lineside_core::json::to_value(message) {
        Ok(Value::Object(fields)) => fields,
        // Its fields are strings and numbers, which JSON has.
        _ => Map::new(),
    }
}
