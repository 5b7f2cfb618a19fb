//! Fields of a payload by their names, those included that the catalogue does not have at the point: such a field stands
//! beside the envelope.

use lineside_core::AnyEvent;
use lineside_core::json::Value;

/// The value of a field that is neither absent nor null.
pub(crate) fn payload_field<'a>(event: &'a AnyEvent, name: &str) -> Option<&'a Value> {
    let own = event.payload_json().get(name);
    let value = if event.point().field(name).is_some() { own } else { own.or_else(|| beside(event, name)) };
    value.filter(|value| !value.is_null())
}

/// What the payload was given under a name that the catalogue does not have.
fn beside<'a>(event: &'a AnyEvent, name: &str) -> Option<&'a Value> {
    let extra = event.envelope().extra.as_deref()?;
    extra.get(&format!("payload.{name}")).or_else(|| extra.get(name))
}
