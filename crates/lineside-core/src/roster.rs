//! The hooks of one place at one point: in their order, and by the tools that they name.
//!
//! A roster is changed by changing a copy of it. Copies share what is the same in them, so that neither a copy nor one
//! hook more costs in proportion to the hooks that are there.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rpds::{HashTrieMapSync, RedBlackTreeMapSync};
use smallvec::SmallVec;

use crate::event::AnyEvent;
use crate::hook::{Hook, Order};
use crate::matcher::each_tool;
use crate::plan::{Plan, stricter};
use crate::point::PointInfo;

/// The hooks of one place at one point.
#[derive(Debug, Clone)]
pub struct Roster<H> {
    /// Those that may run for any tool.
    any: Option<Line<H>>,
    /// Those that name their tools, below each of them.
    by_tool: Option<HashTrieMapSync<Arc<str>, Line<H>>>,
    named: Named,
}

/// The hooks of a roster that name their tools, in their order and without what runs them: a receipt keeps these, and
/// must not keep what runs a hook that was taken away.
pub type Named = Option<RedBlackTreeMapSync<Order, Arc<Hook>>>;

/// What the plan of an event is put together of; seldom more than two.
pub type Parts<'a, H> = SmallVec<[&'a Plan<H>; 4]>;

impl<H> Default for Roster<H> {
    fn default() -> Self {
        Self { any: None, by_tool: None, named: None }
    }
}

impl<H: Clone> Roster<H> {
    /// Adds a hook that stands at this point.
    pub fn insert(&mut self, point: &PointInfo, hook: &Arc<Hook>, handler: &H) {
        let Some(tools) = tools_of(point, hook) else {
            self.any = Some(Line::with(self.any.as_ref(), hook, handler));
            return;
        };
        let named = self.named.get_or_insert_with(RedBlackTreeMapSync::new_sync);
        named.insert_mut(hook.order(), Arc::clone(hook));
        let by_tool = self.by_tool.get_or_insert_with(HashTrieMapSync::new_sync);
        for tool in distinct(tools) {
            let line = Line::with(by_tool.get(&**tool), hook, handler);
            by_tool.insert_mut(tool.as_str().into(), line);
        }
    }

    /// Removes a hook that was inserted at this point.
    pub fn remove(&mut self, point: &PointInfo, hook: &Hook) {
        let Some(tools) = tools_of(point, hook) else {
            self.any = self.any.as_ref().and_then(|line| line.without(hook));
            return;
        };
        let (Some(by_tool), Some(named)) = (&mut self.by_tool, &mut self.named) else { return };
        named.remove_mut(&hook.order());
        for tool in distinct(tools) {
            let Some(line) = by_tool.get(&**tool) else { continue };
            match line.without(hook) {
                Some(rest) => by_tool.insert_mut(tool.as_str().into(), rest),
                None => {
                    by_tool.remove_mut(&**tool);
                }
            }
        }
        if by_tool.is_empty() {
            (self.by_tool, self.named) = (None, None);
        }
    }

    /// Whether there is no hook.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_none() && self.by_tool.is_none()
    }

    /// The hooks that name their tools, which all other tools leave out; `None` when there are none.
    #[inline]
    #[must_use]
    pub fn named(&self) -> &Named {
        &self.named
    }

    /// Adds to `parts` the hooks that the event's tools do not leave out: the same before and after any amendment.
    #[inline]
    pub fn parts<'a>(&'a self, event: &AnyEvent, parts: &mut Parts<'a, H>) {
        if let Some(any) = &self.any {
            parts.push(any.plan());
        }
        if let Some(by_tool) = &self.by_tool {
            each_tool(event, &mut |tool| parts.extend(by_tool.get(tool).map(Line::plan)));
        }
    }

    /// Adds all hooks to `hooks`, in their order, each with what runs it; one that is there already is as strict as both.
    pub fn all<'a>(&'a self, hooks: &mut BTreeMap<Order, (Arc<Hook>, &'a H)>) {
        let by_tool = self.by_tool.iter().flat_map(HashTrieMapSync::values);
        let entries = self.any.iter().chain(by_tool).flat_map(|line| line.plan().entries());
        for (hook, handler) in entries {
            let (there, _) = hooks.entry(hook.order()).or_insert_with(|| (Arc::clone(hook), handler));
            if let Some(both) = stricter(there, hook) {
                *there = both;
            }
        }
    }
}

/// The only tools that a hook can run for at a point, where it names them and no amendment can change those of an event
/// nor their class.
fn tools_of<'a>(point: &PointInfo, hook: &'a Hook) -> Option<&'a [String]> {
    let amendable = |field| point.field(field).is_some_and(|field| field.amendable);
    if ["tool_name", "tool_class", "tool_calls"].into_iter().any(amendable) {
        return None;
    }
    hook.select.as_ref()?.tools()
}

fn distinct(tools: &[String]) -> impl Iterator<Item = &String> {
    (0..)
        .zip(tools)
        .filter(|(index, tool)| !tools.iter().take(*index).any(|other| other == *tool))
        .map(|(_, tool)| tool)
}

/// Hooks in their order; never none.
#[derive(Debug)]
enum Line<H> {
    /// So few that they are compiled at once.
    Few(Arc<Plan<H>>),
    Many(Arc<Many<H>>),
}

/// So many that they are compiled when an event comes.
#[derive(Debug)]
struct Many<H> {
    ordered: RedBlackTreeMapSync<Order, (Arc<Hook>, H)>,
    plan: OnceLock<Plan<H>>,
}

/// How many hooks of a line are compiled again for each that is added.
const FEW: usize = 16;

impl<H> Clone for Line<H> {
    fn clone(&self) -> Self {
        match self {
            Self::Few(plan) => Self::Few(Arc::clone(plan)),
            Self::Many(many) => Self::Many(Arc::clone(many)),
        }
    }
}

impl<H: Clone> Line<H> {
    /// The same line with one hook more.
    fn with(line: Option<&Self>, hook: &Arc<Hook>, handler: &H) -> Self {
        let entry = (Arc::clone(hook), handler.clone());
        match line {
            None => Self::Few(Arc::new(Plan::compile(vec![entry]))),
            Some(Self::Few(plan)) => Self::of(owned(plan).chain([entry])),
            Some(Self::Many(many)) => Self::many(many.ordered.insert(hook.order(), entry)),
        }
    }

    /// The same line without that hook; `None` when nothing is left of it.
    fn without(&self, hook: &Hook) -> Option<Self> {
        match self {
            Self::Few(plan) => {
                let rest: Vec<_> = owned(plan).filter(|(other, _)| other.order() != hook.order()).collect();
                (!rest.is_empty()).then(|| Self::Few(Arc::new(Plan::compile(rest))))
            }
            Self::Many(many) => {
                let rest = many.ordered.remove(&hook.order());
                if rest.size() > FEW / 2 {
                    return Some(Self::many(rest));
                }
                (!rest.is_empty()).then(|| Self::of(rest.values().cloned()))
            }
        }
    }

    fn of(entries: impl Iterator<Item = (Arc<Hook>, H)>) -> Self {
        let entries: Vec<_> = entries.collect();
        if entries.len() <= FEW {
            return Self::Few(Arc::new(Plan::compile(entries)));
        }
        Self::many(entries.into_iter().map(|entry| (entry.0.order(), entry)).collect())
    }

    fn many(ordered: RedBlackTreeMapSync<Order, (Arc<Hook>, H)>) -> Self {
        Self::Many(Arc::new(Many { ordered, plan: OnceLock::new() }))
    }

    #[inline]
    fn plan(&self) -> &Plan<H> {
        match self {
            Self::Few(plan) => plan,
            Self::Many(many) => {
                many.plan.get_or_init(|| Plan::compile(many.ordered.values().cloned().collect()))
            }
        }
    }
}

fn owned<H: Clone>(plan: &Plan<H>) -> impl Iterator<Item = (Arc<Hook>, H)> {
    plan.entries().map(|(hook, handler)| (Arc::clone(hook), handler.clone()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::hook::Part;
    use crate::json::json;
    use crate::matcher::MatcherDraft;
    use crate::plan::Candidates;
    use crate::point::{Field, Slot};
    use crate::sample::{TOOL, event, point};

    const TOOLS: [&str; 3] = ["Red", "Green", "Blue"];

    /// A hook that names these tools; any tool where there are none.
    fn hook(number: u64, tools: &[&str]) -> Arc<Hook> {
        let hook = Hook { registration: number, ..Hook::native("hook", Part::Gate) };
        let draft = tools.iter().fold(MatcherDraft::default(), |draft, tool| draft.tool(*tool));
        Arc::new(Hook { select: Some(Arc::new(draft.compile().unwrap())), ..hook })
    }

    fn all<H: Clone>(roster: &Roster<H>) -> Vec<H> {
        let mut hooks = BTreeMap::new();
        roster.all(&mut hooks);
        hooks.into_values().map(|(_, handler)| handler.clone()).collect()
    }

    /// What runs for an event of this tool.
    fn candidates(roster: &Roster<u64>, tool: &str) -> Vec<u64> {
        let event = event(&TOOL, json!({"tool_name": tool}));
        let mut parts = Parts::new();
        roster.parts(&event, &mut parts);
        let candidates = Candidates::of(&parts);
        (0..).map_while(|place| candidates.entry(place)).map(|(_, handler)| *handler).collect()
    }

    fn named(roster: &Roster<u64>) -> Vec<u64> {
        roster.named().iter().flat_map(|named| named.values()).map(|hook| hook.registration).collect()
    }

    fn lines(count: u64) -> Option<Line<u64>> {
        (0..count).fold(None, |line, number| Some(Line::with(line.as_ref(), &hook(number, &[]), &number)))
    }

    fn is_many(line: Option<&Line<u64>>) -> bool {
        matches!(line, Some(Line::Many(_)))
    }

    #[test]
    fn a_line_is_compiled_at_once_until_it_is_long_and_again_when_it_is_half_as_long() {
        let few = FEW as u64;
        assert!(!is_many(lines(few).as_ref()) && is_many(lines(few + 1).as_ref()));
        let mut line = lines(few + 1);
        for left in (0..=few).rev() {
            line = line.and_then(|line| line.without(&hook(left, &[])));
            let numbers: Vec<u64> =
                line.iter().flat_map(|line| owned(line.plan())).map(|entry| entry.1).collect();
            assert!(numbers.into_iter().eq(0..left), "{left}");
            assert_eq!(is_many(line.as_ref()), left > few / 2, "{left}");
        }
        assert!(line.is_none());
    }

    #[test]
    fn a_tool_that_is_named_twice_is_one() {
        let mut roster = Roster::default();
        let twice = hook(1, &["Red", "Red", "Blue"]);
        roster.insert(&TOOL, &twice, &1);
        assert_eq!((candidates(&roster, "Red"), candidates(&roster, "Green")), (vec![1], vec![]));
        roster.remove(&TOOL, &twice);
        assert!(roster.is_empty() && roster.named().is_none());
    }

    #[test]
    fn where_the_tool_may_be_amended_no_hook_is_left_out() {
        const fn fields(name: &'static str) -> Field {
            Field { name, required: false, amendable: true }
        }
        static NAME: PointInfo = point("before_name", Slot::Catalogue(0), &[fields("tool_name")]);
        static CLASS: PointInfo = point("before_class", Slot::Catalogue(1), &[fields("tool_class")]);
        static CALLS: PointInfo = point("before_calls", Slot::Catalogue(2), &[fields("tool_calls")]);
        for (point, expected) in [(&TOOL, vec![]), (&NAME, vec![1]), (&CLASS, vec![1]), (&CALLS, vec![1])] {
            let mut roster = Roster::default();
            let red = hook(1, &["Red"]);
            roster.insert(point, &red, &1);
            assert_eq!(candidates(&roster, "Green"), expected, "{}", point.name);
            assert_eq!(named(&roster).is_empty(), !expected.is_empty(), "{}", point.name);
            roster.remove(point, &red);
            assert!(roster.is_empty(), "{}", point.name);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn a_roster_holds_what_was_inserted_and_not_removed(changes in proptest::collection::vec(0_u64..80, 0..160)) {
            // The bits of a number are the tools that its hook names.
            let tools = |number: u64| -> Vec<&str> {
                (0..).zip(TOOLS).filter(|(bit, _)| number >> bit & 1 == 1).map(|(_, tool)| tool).collect()
            };
            let (mut roster, mut there) = (Roster::default(), BTreeSet::new());
            for number in changes {
                let (before, copy) = (all(&roster), roster.clone());
                if there.insert(number) {
                    roster.insert(&TOOL, &hook(number, &tools(number)), &number);
                } else {
                    there.remove(&number);
                    roster.remove(&TOOL, &hook(number, &tools(number)));
                }
                prop_assert_eq!(all(&copy), before);
                prop_assert_eq!(all(&roster), there.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(roster.is_empty(), there.is_empty());
            }
            let these = |filter: &dyn Fn(&[&str]) -> bool| -> Vec<u64> {
                there.iter().copied().filter(|number| filter(&tools(*number))).collect()
            };
            for tool in TOOLS.into_iter().chain(["Grey"]) {
                let expected = these(&|tools| tools.is_empty() || tools.contains(&tool));
                prop_assert_eq!(candidates(&roster, tool), expected, "{}", tool);
            }
            prop_assert_eq!(named(&roster), these(&|tools| !tools.is_empty()));
        }
    }
}
