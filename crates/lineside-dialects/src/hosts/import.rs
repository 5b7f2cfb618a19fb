//! Importing: the hooks in a host's own files, as a dialect.
//!
//! A format says where its files are, how a handler is written, what a hook reads and what its answer means; the rest
//! is one engine. The rooms, in the order in which a hook passes them: `source` reads its file, `fields`, `entry` and
//! `references` its handler, `matcher`, `condition` and `select` pick its events, `plan` gives it its place, `document`
//! and `handler` say what is started with what, `heard` what came of it, `group` joins the answers of an event.

mod assignments;
mod closing;
mod condition;
mod document;
mod entry;
mod fields;
mod follow_ups;
mod format;
mod group;
mod handler;
mod heard;
mod javascript;
mod load;
mod matcher;
mod plan;
mod references;
mod select;
mod source;
mod switched;
#[cfg(feature = "toml")]
mod toml_source;

#[cfg(test)]
mod samples;

pub(super) use assignments::{assignments, is_variable};
pub(super) use condition::Condition;
pub(super) use document::{Document, child_id, known, project_root};
pub use entry::is_our_line;
pub(super) use entry::{Entry, Handler, Run, are_ours, is_ours, shell_words};
pub(super) use fields::{Fields, Refused};
pub(super) use format::{At, Format, Profile, Same, Shape, Subject, Switches, Variables};
pub(super) use heard::{
    Heard, Saying, approval, blocking, flag_field, given_reason, object_field, reason_or, text_field,
};
pub(super) use matcher::Matcher;
pub(super) use references::expand;
pub use select::supersede;
pub(super) use source::{Source, Syntax, within};

use std::collections::BTreeSet;

use lineside_core::PointInfo;
use lineside_core::json::Map;

use super::table::{Row, When, point};
use crate::dialect::{Dialect, Loaded, Places, Watched};

/// The hooks in the files of a host, as a dialect.
pub struct Imported(pub(super) &'static dyn Format);

impl Dialect for Imported {
    fn name(&self) -> &'static str {
        self.0.profile().host.name()
    }

    fn names(&self) -> Vec<&'static str> {
        let names: BTreeSet<&'static str> = self.0.rows().map(|row| row.event).collect();
        names.into_iter().collect()
    }

    fn load(&self, places: &Places) -> Loaded {
        load::load(self.0, places)
    }

    fn watched(&self, places: &Places) -> Vec<Watched> {
        let files = self.0.sources(places).into_iter().map(|source| Watched::file(source.file));
        files.chain(self.0.folders(places)).collect()
    }

    fn usual_priority(&self) -> Option<i32> {
        None
    }

    /// Of several points of one name that which the payload is of: by the field that tells them apart, or by what is in
    /// its place in a payload.
    fn point(&self, name: &str, payload: &Map) -> Option<&'static PointInfo> {
        let rows = || self.0.rows().filter(|row| row.event == name);
        let is_meant = |row: &&'static Row| match row.when {
            When::Has(path) => path.rsplit('.').next().is_some_and(|field| payload.contains_key(field)),
            when => when.is_meant(payload),
        };
        rows().find(is_meant).or_else(|| rows().next()).and_then(point)
    }
}
