//! What a broken entry or file may have been meant to guard: read leniently, because something is wrong with it.

use std::sync::Arc;

use lineside_core::hook::Mode;
use lineside_core::nearest::suggestion;
use lineside_core::{Matcher, PointInfo};
use lineside_guards::{Account, WhenUnclear};
use lineside_points::CATALOGUE;

use super::automate::AUTOMATE;
use super::entry::{MODE, MODES, points_from};
use super::findings::Findings;
use super::matching::{self, Scene};
use super::values::Values;
use crate::broken::{Broken, Repair};
use crate::names;
use crate::yaml::{Content, Node};

/// What an entry is meant to guard, as far as it can be read.
#[derive(Debug)]
pub(super) struct Guard {
    /// Its points; every gate, if one of them is not known.
    pub(super) points: Vec<&'static PointInfo>,
    /// Whether its failure refuses events, which is so unless it says otherwise.
    pub(super) refuses: bool,
    /// The events that it judges; all, when absent.
    pub(super) matcher: Option<Matcher>,
}

impl Guard {
    /// Of something that cannot be read at all.
    pub(super) fn everywhere() -> Self {
        Self { points: gates().collect(), refuses: true, matcher: None }
    }

    /// Of a policy that is not known: what tools may do.
    pub(super) fn of_tools() -> Self {
        let points = lineside_points::find("before_tool").into_iter().collect();
        Self { points, refuses: true, matcher: None }
    }

    /// Of an entry.
    pub(super) fn of(keys: &[(Node, Node)], account: &Arc<Account>, of_file: Mode) -> Self {
        let value = |key: &str| {
            keys.iter().find(|(name, _)| name.written() == Some(key)).map(|(_, value)| &value.content)
        };
        // These are not waited for.
        let is_async = matches!(value("async"), Some(Content::Boolean(true))) || value(AUTOMATE).is_some();
        // What is in shadow refuses nothing, broken or not.
        let mode =
            MODES.iter().find(|(word, _)| matches!(value(MODE), Some(Content::Text(text)) if text == word));
        let is_shadow = mode.map_or(of_file, |(_, mode)| *mode) == Mode::Shadow;
        let continues = matches!(value("on_failure"), Some(Content::Text(text)) if text == "continue");
        let is_required = matches!(value("required"), Some(Content::Boolean(true)));
        let points = value("on").and_then(points).unwrap_or_else(|| gates().collect());
        // What is wrong with it has been reported.
        let mut findings = Findings::about("".as_ref());
        let mut values = Values { keys, within: "", hook: "", findings: &mut findings, sound: true };
        let scene = Scene { account, unclear: WhenUnclear::Match };
        let matcher = matching::read(&mut values, "match.", &points, scene).matcher.filter(|_| values.sound);
        Self { points, refuses: !is_async && (is_required || !continues) && !is_shadow, matcher }
    }

    /// Its points with their names.
    pub(super) fn named(&self) -> Vec<(&'static PointInfo, String)> {
        self.points.iter().map(|point| (*point, point.name.to_owned())).collect()
    }

    /// Itself, when its hook is broken.
    pub(super) fn broken(&self, name: &str, line: u32, error: Repair) -> Broken {
        Broken {
            name: name.to_owned(),
            line,
            error,
            points: self.named(),
            is_guard: self.refuses,
            select: self.matcher.clone().map(|matcher| Arc::new(matcher) as _),
        }
    }
}

/// Where anything can be refused.
fn gates() -> impl Iterator<Item = &'static PointInfo> {
    CATALOGUE.iter().copied().filter(|point| point.phase.may_intercept())
}

/// The points that are meant; nothing, if one of them leads nowhere.
fn points(on: &Content) -> Option<Vec<&'static PointInfo>> {
    let names: Vec<Option<&str>> = match on {
        Content::Text(name) => vec![Some(name)],
        Content::List(items) if !items.is_empty() => items.iter().map(Node::text).collect(),
        _ => return None,
    };
    let mut points: Vec<&'static PointInfo> = Vec::new();
    for name in names {
        let name = name?;
        for point in points_from(name).or_else(|| Some(vec![meant(name)?]))? {
            if !points.contains(&point) {
                points.push(point);
            }
        }
    }
    Some(points)
}

/// The point that a name stands for or is near to.
fn meant(name: &str) -> Option<&'static PointInfo> {
    lineside_points::find(name).ok().or_else(|| names::likely(name)).or_else(|| {
        let near = suggestion(name, CATALOGUE.iter().map(|point| point.name))?;
        lineside_points::find(near).ok()
    })
}
