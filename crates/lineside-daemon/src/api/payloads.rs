//! What the description of the API says of payloads: the schemas of the catalogue, and which of them an event has.

use std::collections::BTreeMap;

use lineside::json::from_str;
use lineside::points::SCHEMAS;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

/// The payload of an event, in the description: that of a point of the catalogue, or any object at a point of a vendor.
pub(crate) struct Payload;

impl PartialSchema for Payload {
    fn schema() -> RefOr<Schema> {
        let points = all().into_iter().filter(|(_, schema)| is_of_a_point(schema));
        let refs = points.map(|(name, _)| Ref::from_schema_name(name));
        let any = ObjectBuilder::new()
            .description(Some("That of a point of a vendor, `x.<vendor>.<point>`: any object."));
        let payload = AnyOfBuilder::new().description(Some(
            "The fields of the point: those of the schema whose `x-point` names the point.",
        ));
        refs.fold(payload, AnyOfBuilder::item).item(any).into()
    }
}

impl ToSchema for Payload {}

/// The schemas of payloads and of what stands in them.
pub(super) fn all() -> BTreeMap<String, RefOr<Schema>> {
    from_str(SCHEMAS).unwrap_or_default()
}

fn is_of_a_point(schema: &RefOr<Schema>) -> bool {
    let RefOr::T(Schema::Object(object)) = schema else { return false };
    object.extensions.as_ref().is_some_and(|extensions| extensions.contains_key("x-point"))
}
