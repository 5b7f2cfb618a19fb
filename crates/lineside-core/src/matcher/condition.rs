//! Conditions that the core does not know: other crates bring them, and a matcher asks them last.

use std::fmt::Debug;
use std::sync::Arc;

use crate::event::AnyEvent;
use crate::hook::Selected;
use crate::json::Map;
use crate::point::PointInfo;

/// A condition beside the filters of a matcher, such as one over what a command does.
pub trait Condition: Debug + Send + Sync {
    /// Whether an event fits, or may fit.
    fn select(&self, event: &AnyEvent) -> Selected;

    /// What of an event that fits made it do so, for people to read.
    fn fit(&self, event: &AnyEvent) -> Option<String> {
        let _ = event;
        None
    }

    /// The condition for people to read.
    fn describe(&self) -> String;

    /// The same in a few words, for a page that says which condition did not fit.
    fn brief(&self) -> String {
        self.describe()
    }

    /// The condition as the keys of `match` in a file.
    fn written(&self) -> Map;

    /// Whether events of the point have something that it looks at.
    fn has_candidates(&self, point: &PointInfo) -> bool;

    /// Why it is invalid, where it was not put together correctly.
    fn fault(&self) -> Option<String> {
        None
    }
}

/// A condition of a draft; those that are written alike are equal.
#[derive(Debug, Clone)]
pub(super) struct Kept(pub(super) Arc<dyn Condition>);

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.written() == other.0.written()
    }
}

impl Eq for Kept {}
