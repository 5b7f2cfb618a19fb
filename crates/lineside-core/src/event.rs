//! One occurrence of a point: an envelope and a payload, shared and immutable.
//!
//! An amendment makes a new event beside the old one; an event never changes for its holder.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::json::{Fields, Map, ObjectText, Value};
use sha2::{Digest as _, Sha256};

use crate::envelope::{Agent, Envelope, SessionId};
use crate::payload::{Payload, Point};
use crate::point::PointInfo;

/// An event whose point is known only at run time. Cloning it costs one reference count.
#[derive(Clone)]
pub struct AnyEvent(Arc<Inner<dyn Carry>>);

struct Inner<C: ?Sized> {
    envelope: Envelope,
    /// The event as it was published, where this is a later version of it.
    original: Option<AnyEvent>,
    version: u32,
    json: OnceLock<Box<Map>>,
    text: OnceLock<Box<str>>,
    read: OnceLock<Box<dyn Reading>>,
    carried: C,
}

/// What has been read from an event, kept with it so that all hooks read it once; an amended event is read anew.
pub trait Reading: Any + Send + Sync {
    /// About how many bytes it takes.
    fn weight(&self) -> usize;
}

/// How an event carries its payload: within itself, or shared with others.
trait Carry: Send + Sync {
    fn payload(&self) -> &dyn Payload;

    /// Ends the event: moves the payload into the place, an `Option` of its type, or returns what others share.
    fn take(&mut self, place: &mut dyn Any) -> Option<Arc<dyn Payload>>;
}

/// A payload within its event; absent only once it is taken.
struct Within<P>(Option<P>);

impl<P: Payload> Carry for Within<P> {
    #[inline]
    fn payload(&self) -> &dyn Payload {
        match &self.0 {
            Some(payload) => payload,
            None => unreachable!("a payload is taken at the end of its event"),
        }
    }

    fn take(&mut self, place: &mut dyn Any) -> Option<Arc<dyn Payload>> {
        if let Some(place) = place.downcast_mut() {
            *place = self.0.take();
        }
        None
    }
}

impl Carry for Arc<dyn Payload> {
    #[inline]
    fn payload(&self) -> &dyn Payload {
        &**self
    }

    fn take(&mut self, _: &mut dyn Any) -> Option<Arc<dyn Payload>> {
        Some(Arc::clone(self))
    }
}

impl Carry for AnyEvent {
    fn payload(&self) -> &dyn Payload {
        Self::payload(self)
    }

    fn take(&mut self, place: &mut dyn Any) -> Option<Arc<dyn Payload>> {
        Arc::get_mut(&mut self.0)?.carried.take(place)
    }
}

impl<C: Carry> Inner<C> {
    #[inline]
    fn new(envelope: Envelope, carried: C) -> Self {
        let (json, text, read) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { envelope, original: None, version: 0, json, text, read, carried }
    }
}

impl AnyEvent {
    /// An event as it was published, with a payload that others share.
    #[must_use]
    pub fn new(envelope: Envelope, payload: Arc<dyn Payload>) -> Self {
        Self(Arc::new(Inner::new(envelope, payload)))
    }

    /// An event as it was published, in one allocation with its payload.
    #[inline]
    #[must_use]
    pub fn of(envelope: Envelope, payload: impl Payload) -> Self {
        Self(Arc::new(Inner::new(envelope, Within(Some(payload)))))
    }

    /// The same event with another payload; its version is one greater and its original stays that of the first.
    #[must_use]
    pub fn amended(&self, payload: Arc<dyn Payload>) -> Self {
        let original = self.0.original.as_ref().unwrap_or(self).clone();
        Self(Arc::new(Inner {
            original: Some(original),
            version: self.0.version + 1,
            ..Inner::new(self.0.envelope.clone(), payload)
        }))
    }

    /// An event of another envelope, as if it had been published with the payload of this one.
    #[must_use]
    pub fn with_envelope(&self, envelope: Envelope) -> Self {
        Self(Arc::new(Inner::new(envelope, self.clone())))
    }

    /// The same event as if it had been published with another payload.
    #[must_use]
    pub fn with_payload(&self, payload: Arc<dyn Payload>) -> Self {
        Self::new(self.0.envelope.clone(), payload)
    }

    /// The point.
    #[inline]
    #[must_use]
    pub fn point(&self) -> &'static PointInfo {
        self.payload().info()
    }

    /// The envelope.
    #[inline]
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.0.envelope
    }

    /// The payload as the hooks so far have left it.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &dyn Payload {
        self.0.carried.payload()
    }

    /// Returns the payload of type `P`; `None` when the event's point is another one.
    ///
    /// The payload is moved out where this is the only reference to the event and to its payload, and copied otherwise.
    #[must_use]
    pub fn into_payload<P: Point>(mut self) -> Option<P> {
        let mut taken: Option<P> = None;
        let is_of_point = (self.payload() as &dyn Any).is::<P>();
        if let Some(inner) = Arc::get_mut(&mut self.0).filter(|_| is_of_point) {
            let shared = inner.carried.take(&mut taken);
            if let Some(shared) = shared {
                drop(self);
                let shared: Arc<dyn Any + Send + Sync> = shared;
                return shared.downcast().ok().map(Arc::unwrap_or_clone);
            }
            if taken.is_some() {
                return taken;
            }
        }
        (self.payload() as &dyn Any).downcast_ref().cloned()
    }

    /// The payload as it was published.
    #[must_use]
    pub fn original(&self) -> &dyn Payload {
        self.0.original.as_ref().unwrap_or(self).payload()
    }

    /// How many amendments the payload has taken.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u32 {
        self.0.version
    }

    /// The payload as JSON; made at most once for each version, at the first request.
    #[must_use]
    pub fn payload_json(&self) -> &Map {
        self.0.json.get_or_init(|| Box::new(self.payload().to_json()))
    }

    /// The payload as compact JSON text; made at most once for each version, like [`payload_json`](Self::payload_json).
    #[must_use]
    pub fn payload_text(&self) -> &str {
        self.0.text.get_or_init(|| self.payload().to_text().into())
    }

    /// What was read from this version of the event, made by `read` at the first request; `None` where a reading of another
    /// type is kept already.
    pub fn reading<T: Reading>(&self, read: impl FnOnce(&Self) -> T) -> Option<&T> {
        let reading: &dyn Any = &**self.0.read.get_or_init(|| Box::new(read(self)));
        reading.downcast_ref()
    }

    /// About how many bytes it keeps alive: its payload, the payload as it was published if that is another one, and what
    /// its publisher has said of it beside that. The texts that are made of it are not in it.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.payload_weight() + self.0.envelope.weight()
    }

    fn payload_weight(&self) -> usize {
        self.payload().weight() + self.0.original.as_ref().map_or(0, Self::payload_weight)
    }

    /// About how many bytes it takes as JSON, as text and as what was read from it, as far as these have been made.
    pub(crate) fn made_weight(&self) -> usize {
        let json = if self.0.json.get().is_some() { self.payload().weight() } else { 0 };
        let text = self.0.text.get().map_or(0, |text| text.len());
        let read = self.0.read.get().map_or(0, |reading| reading.weight());
        json + text + read + self.0.original.as_ref().map_or(0, Self::made_weight)
    }

    /// Envelope and payload as one JSON object.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let mut map = Map::new();
        self.put(&mut map);
        map
    }

    /// The compact JSON text of [`to_json`](Self::to_json).
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = ObjectText::new();
        self.put(&mut text);
        text.end()
    }

    fn put(&self, fields: &mut impl Fields) {
        let Inner { envelope, .. } = &*self.0;
        envelope.put(self.point().name, fields);
        fields.put_either("payload", || Value::Object(self.payload_json().clone()), || self.payload_text());
        envelope.put_extra(fields);
    }

    /// The SHA-256 of the payload's compact JSON, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> String {
        hexadecimal(&Sha256::digest(self.payload_text()))
    }

    /// Whether both are references to one event, in one version.
    #[inline]
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }

    /// The typed event, if its point is `P`.
    #[must_use]
    pub fn typed<P: Point>(&self) -> Option<Event<P>> {
        self.clone().into_typed().ok()
    }

    /// The typed event.
    ///
    /// # Errors
    /// Its point is not `P`; the event comes back.
    #[inline]
    pub fn into_typed<P: Point>(self) -> Result<Event<P>, Self> {
        let payload: &dyn Any = self.payload();
        if payload.is::<P>() {
            Ok(Event { any: Some(self), back: None, point: PhantomData })
        } else {
            Err(self)
        }
    }
}

impl fmt::Debug for AnyEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("envelope", &self.0.envelope)
            .field("payload", &self.payload())
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}

/// The SHA-256 of a payload's compact JSON, in hexadecimal: what a decision is about.
///
/// ```
/// use lineside_core::event::digest_of;
/// use lineside_core::json::{Map, json};
///
/// let payload = Map::from([("command".to_owned(), json!("ls"))]);
/// assert_eq!(digest_of(&payload), digest_of(&payload.clone()));
/// assert_eq!(digest_of(&payload).len(), 64);
/// ```
#[must_use]
pub fn digest_of(payload: &Map) -> String {
    let text = crate::json::to_vec(payload).unwrap_or_default();
    hexadecimal(&Sha256::digest(&text))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(*byte));
    }
    text
}

/// An event of the point `P`; its payload's fields are read through it.
pub struct Event<P> {
    /// Absent only while this is dropped.
    any: Option<AnyEvent>,
    /// What takes the reference when this is dropped.
    back: Option<fn(AnyEvent)>,
    point: PhantomData<fn() -> P>,
}

impl<P> Event<P> {
    /// The event without its type.
    #[inline]
    #[must_use]
    pub fn any(&self) -> &AnyEvent {
        match &self.any {
            Some(any) => any,
            None => unreachable!("a typed event lets go of its reference when it is dropped"),
        }
    }

    /// Has the reference given to `back` when this is dropped, or a clone of it: a dispatcher that lends references to
    /// one event again and again need not count each of them. `back` must not panic.
    #[inline]
    #[must_use]
    pub fn given_back_to(mut self, back: fn(AnyEvent)) -> Self {
        self.back = Some(back);
        self
    }
}

impl<P: Point> Event<P> {
    /// The envelope.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        self.any().envelope()
    }

    /// The id of the session whose event it is.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.envelope().source.session
    }

    /// The agent whose event it is.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.envelope().source.agent
    }

    /// The payload as it was published, before any hook changed it.
    #[must_use]
    pub fn original(&self) -> &P {
        downcast(self.any().original())
    }
}

impl<P: Point> Deref for Event<P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        downcast(self.any().payload())
    }
}

impl<P> Clone for Event<P> {
    fn clone(&self) -> Self {
        Self { any: self.any.clone(), back: self.back, point: PhantomData }
    }
}

impl<P> Drop for Event<P> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(back), Some(any)) = (self.back, self.any.take()) {
            back(any);
        }
    }
}

impl<P> fmt::Debug for Event<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any().fmt(f)
    }
}

#[inline]
fn downcast<P: Point>(payload: &dyn Payload) -> &P {
    let any: &dyn Any = payload;
    match any.downcast_ref() {
        Some(typed) => typed,
        None => unreachable!("a typed event is only made of a payload of its type"),
    }
}

#[cfg(test)]
mod tests;
