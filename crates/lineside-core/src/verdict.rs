//! What an interceptor says, and how several of them are joined: the greater one wins, and of equals the first in
//! plan order gives the reason.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How strong a verdict is. Joining verdicts takes the greater.
///
/// ```
/// use lineside_core::Strength;
///
/// let joined = [Strength::Allow, Strength::Block, Strength::Ask].into_iter().max();
/// assert_eq!(joined, Some(Strength::Block));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strength {
    /// No objection.
    #[default]
    Continue,
    /// Approved: the user need not be asked.
    Allow,
    /// The user must be asked.
    Ask,
    /// It does not happen, or its result is withheld.
    Block,
    /// It does not happen, and the agent's run ends.
    Stop,
}

impl Strength {
    /// Every strength, from the weakest to the strongest.
    pub const ALL: [Self; 5] = [Self::Continue, Self::Allow, Self::Ask, Self::Block, Self::Stop];

    /// The word for it, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Block => "block",
            Self::Stop => "stop",
        }
    }

    /// The strength of this word; `None` when there is none.
    ///
    /// ```
    /// use lineside_core::Strength;
    ///
    /// assert_eq!(Strength::named("ask"), Some(Strength::Ask));
    /// assert_eq!(Strength::named("deny"), None);
    /// ```
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strength| strength.as_str() == word)
    }

    /// Whether it ends the chain.
    ///
    /// ```
    /// use lineside_core::Strength;
    ///
    /// let ending: Vec<_> = Strength::ALL.into_iter().filter(|strength| strength.is_final()).collect();
    /// assert_eq!(ending, [Strength::Block, Strength::Stop]);
    /// ```
    #[inline]
    #[must_use]
    pub fn is_final(self) -> bool {
        self >= Self::Block
    }
}

impl fmt::Display for Strength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Why, for people and models to read.
///
/// ```
/// use lineside_core::Reason;
///
/// let reason = Reason::from(format!("{} is locked", "Cargo.lock"));
/// assert_eq!(reason.as_str(), "Cargo.lock is locked");
/// assert!(Reason::from(" \n").is_blank());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl<T: Into<Cow<'static, str>>> From<T> for Reason {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What one interceptor says about one event.
///
/// ```
/// use lineside_core::Verdict;
///
/// fn of(command: &str) -> Verdict {
///     match command.split_whitespace().next() {
///         Some("sudo") => Verdict::block("nothing runs as root here"),
///         Some("git") => Verdict::ask("the history may change"),
///         Some("ls" | "cat") => Verdict::allow(),
///         _ => Verdict::Continue,
///     }
/// }
/// assert_eq!(of("sudo make install").to_string(), "block: nothing runs as root here");
/// assert_eq!(of("ls -la"), Verdict::allow());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Verdict {
    /// No objection.
    #[default]
    Continue,
    /// Approved, for this reason if one is given.
    Allow(Option<Reason>),
    /// The user must be asked, for this reason.
    Ask(Reason),
    /// Refused, for this reason.
    Block(Reason),
    /// Refused, and the agent's run ends, for this reason.
    Stop(Reason),
}

impl Verdict {
    /// A refusal. A blank reason is replaced by one that names the hook.
    ///
    /// ```
    /// use lineside_core::Verdict;
    /// use lineside_core::verdict::Strength;
    ///
    /// let verdict = Verdict::block("the tests are locked");
    /// assert_eq!(verdict.strength(), Strength::Block);
    /// assert_eq!(verdict.reason().map(|reason| reason.as_str()), Some("the tests are locked"));
    /// assert_eq!(Verdict::Continue.reason(), None);
    /// ```
    pub fn block(reason: impl Into<Reason>) -> Self {
        Self::Block(reason.into())
    }

    /// An approval without a reason.
    #[must_use]
    pub const fn allow() -> Self {
        Self::Allow(None)
    }

    /// An approval that says why. A blank reason counts as none.
    ///
    /// ```
    /// use lineside_core::Verdict;
    ///
    /// let verdict = Verdict::allow_because("it only reads");
    /// assert_eq!(verdict.to_string(), "allow: it only reads");
    /// assert_eq!(Verdict::allow_because(" "), Verdict::allow());
    /// ```
    pub fn allow_because(reason: impl Into<Reason>) -> Self {
        Self::Allow(Some(reason.into()).filter(|reason| !reason.is_blank()))
    }

    /// A question to the user.
    ///
    /// ```
    /// use lineside_core::{Strength, Verdict};
    ///
    /// let verdict = Verdict::ask("this deploys to production");
    /// assert_eq!(verdict.strength(), Strength::Ask);
    /// assert!(!verdict.strength().is_final());
    /// ```
    pub fn ask(reason: impl Into<Reason>) -> Self {
        Self::Ask(reason.into())
    }

    /// The end of the agent's run.
    ///
    /// ```
    /// use lineside_core::{Strength, Verdict};
    ///
    /// let verdict = Verdict::stop("the budget of the day is spent");
    /// assert!(verdict.strength() > Strength::Block && verdict.strength().is_final());
    /// ```
    pub fn stop(reason: impl Into<Reason>) -> Self {
        Self::Stop(reason.into())
    }

    /// The verdict of this strength, for this reason where it has one.
    ///
    /// ```
    /// use lineside_core::{Strength, Verdict};
    ///
    /// // From two columns of a table, say.
    /// assert_eq!(Verdict::of(Strength::Block, "not on Fridays"), Verdict::block("not on Fridays"));
    /// assert_eq!(Verdict::of(Strength::Continue, "not read"), Verdict::Continue);
    /// ```
    pub fn of(strength: Strength, reason: impl Into<Reason>) -> Self {
        match strength {
            Strength::Continue => Self::Continue,
            Strength::Allow => Self::allow_because(reason),
            Strength::Ask => Self::ask(reason),
            Strength::Block => Self::block(reason),
            Strength::Stop => Self::stop(reason),
        }
    }

    /// How strong it is.
    #[inline]
    #[must_use]
    pub fn strength(&self) -> Strength {
        match self {
            Self::Continue => Strength::Continue,
            Self::Allow(_) => Strength::Allow,
            Self::Ask(_) => Strength::Ask,
            Self::Block(_) => Strength::Block,
            Self::Stop(_) => Strength::Stop,
        }
    }

    /// How many bytes its reason takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.reason().map_or(0, |reason| reason.as_str().len())
    }

    /// Why; absent where there is nothing to justify, and where an approval does not say.
    #[inline]
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Continue => None,
            Self::Allow(reason) => reason.as_ref(),
            Self::Ask(reason) | Self::Block(reason) | Self::Stop(reason) => Some(reason),
        }
    }

    /// The verdict with a reason that can be read: a blank one becomes a sentence that names the hook; that of an
    /// approval is left out.
    ///
    /// ```
    /// use lineside_core::Verdict;
    ///
    /// let verdict = Verdict::block("").with_readable_reason("no-push");
    /// assert_eq!(verdict, Verdict::block("blocked by hook \"no-push\""));
    /// ```
    #[inline]
    #[must_use]
    pub fn with_readable_reason(self, hook: &str) -> Self {
        match self {
            Self::Ask(reason) if reason.is_blank() => Self::ask(format!("hook \"{hook}\" asks")),
            Self::Block(reason) if reason.is_blank() => Self::block(format!("blocked by hook \"{hook}\"")),
            Self::Stop(reason) if reason.is_blank() => Self::stop(format!("stopped by hook \"{hook}\"")),
            Self::Allow(Some(reason)) => Self::allow_because(reason),
            other => other,
        }
    }
}

/// The word and the reason, as in `block: a reason`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strength = self.strength();
        match self.reason() {
            Some(reason) => write!(f, "{strength}: {reason}"),
            None => write!(f, "{strength}"),
        }
    }
}

/// The verdict that stands among several: a strength, and the place in plan order of the first that had it.
///
/// `join` is commutative, associative and idempotent, so that neither order, grouping nor repetition of the answers
/// changes the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// The strength.
    pub strength: Strength,
    /// The author's place in plan order; absent for `continue`.
    pub author: Option<u32>,
}

impl Standing {
    /// What one hook says.
    #[must_use]
    pub fn of(strength: Strength, author: u32) -> Self {
        Self { strength, author: (strength > Strength::Continue).then_some(author) }
    }

    /// The greater of the two; of equals, the one whose author comes first.
    ///
    /// ```
    /// use lineside_core::Strength;
    /// use lineside_core::verdict::Standing;
    ///
    /// let answers = [(Strength::Ask, 0), (Strength::Block, 1), (Strength::Block, 2)];
    /// let said = answers.map(|(strength, place)| Standing::of(strength, place));
    /// assert_eq!(said.into_iter().reduce(Standing::join), Some(Standing::of(Strength::Block, 1)));
    /// ```
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match self.strength.cmp(&other.strength) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal if other.author < self.author => other,
            std::cmp::Ordering::Equal => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reason, Standing, Strength, Verdict};

    fn of(strength: Strength) -> Verdict {
        match strength {
            Strength::Continue => Verdict::Continue,
            Strength::Allow => Verdict::allow(),
            Strength::Ask => Verdict::ask("why"),
            Strength::Block => Verdict::block("why"),
            Strength::Stop => Verdict::stop("why"),
        }
    }

    #[test]
    fn of_equal_verdicts_the_first_in_plan_order_stands() {
        for strength in [Strength::Allow, Strength::Ask, Strength::Block, Strength::Stop] {
            let (first, second) = (Standing::of(strength, 3), Standing::of(strength, 7));
            assert_eq!(first.join(second), first);
            assert_eq!(second.join(first), first);
            assert_eq!(first.join(first), first);
        }
    }

    #[test]
    fn of_different_verdicts_the_greater_stands_whoever_comes_first() {
        for pair in Strength::ALL.windows(2) {
            for (weak, strong) in [(1, 2), (2, 1)] {
                let (weaker, stronger) = (Standing::of(pair[0], weak), Standing::of(pair[1], strong));
                assert_eq!(weaker.join(stronger), stronger);
                assert_eq!(stronger.join(weaker), stronger);
            }
        }
    }

    #[test]
    fn a_continue_has_no_author() {
        assert_eq!(Standing::of(Strength::Continue, 3), Standing::default());
        assert_eq!(Standing::of(Strength::Allow, 3).author, Some(3));
    }

    #[test]
    fn a_block_ends_the_chain_and_an_ask_does_not() {
        assert_eq!(Strength::ALL.map(Strength::is_final), [false, false, false, true, true]);
    }

    #[test]
    fn a_strength_has_the_word_that_it_has_in_json() {
        for strength in Strength::ALL {
            assert_eq!(crate::json::to_value(&strength).unwrap(), strength.as_str());
            assert_eq!(format!("{strength:>9}"), format!("{:>9}", strength.as_str()));
            assert_eq!(of(strength).strength(), strength);
            assert_eq!(Strength::named(strength.as_str()), Some(strength));
        }
        assert_eq!(Strength::ALL.map(Strength::as_str), ["continue", "allow", "ask", "block", "stop"]);
        assert_eq!(Strength::named("Allow"), None);
    }

    #[test]
    fn what_objects_has_a_reason_and_what_does_not_has_none() {
        for strength in Strength::ALL {
            let expected = (strength >= Strength::Ask).then(|| Reason::from("why"));
            assert_eq!(of(strength).reason(), expected.as_ref());
        }
        assert_eq!(Reason::from("why").as_str(), "why");
        assert_eq!(Reason::from("why").to_string(), "why");
    }

    #[test]
    fn an_approval_says_why_if_it_wants_to() {
        let approval = Verdict::allow_because("it only reads");
        assert_eq!(
            (approval.strength(), approval.reason()),
            (Strength::Allow, Some(&Reason::from("it only reads")))
        );
        assert_eq!(approval.to_string(), "allow: it only reads");
        assert_eq!(approval.clone().with_readable_reason("lint"), approval);
        for blank in ["", " \t\n"] {
            assert_eq!(Verdict::allow_because(blank), Verdict::allow());
            assert_eq!(Verdict::Allow(Some(blank.into())).with_readable_reason("lint"), Verdict::allow());
        }
        assert_eq!((Verdict::allow().reason(), Verdict::allow().to_string()), (None, "allow".to_owned()));
    }

    #[test]
    fn a_verdict_shows_its_word_and_its_reason() {
        assert_eq!(Verdict::Continue.to_string(), "continue");
        assert_eq!(Verdict::block("too late").to_string(), "block: too late");
    }

    #[test]
    fn a_blank_reason_becomes_one_that_names_the_hook() {
        let readable = |verdict: Verdict| verdict.with_readable_reason("lint");
        for blank in ["", " \t\n"] {
            assert_eq!(readable(Verdict::ask(blank)), Verdict::ask("hook \"lint\" asks"));
            assert_eq!(readable(Verdict::block(blank)), Verdict::block("blocked by hook \"lint\""));
            assert_eq!(readable(Verdict::stop(blank)), Verdict::stop("stopped by hook \"lint\""));
        }
    }

    #[test]
    fn a_reason_that_can_be_read_stays_as_it_is() {
        for strength in Strength::ALL {
            assert_eq!(of(strength).with_readable_reason("lint"), of(strength));
        }
        let padded = Verdict::block(" too late ");
        assert_eq!(padded.clone().with_readable_reason("lint"), padded);
    }
}
