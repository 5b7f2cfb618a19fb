//! By what a value is known again when it is not kept: digests of it and of its members.

use lineside_core::json::Value;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a value, in which the order of keys does not count.
pub(super) type Digest = [u8; 32];

/// How many members of an object are known by themselves. An object that has more is known as a whole.
const MOST_MEMBERS: usize = 256;

/// What a value is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    whole: Digest,
    members: Members,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Members {
    /// It is no object.
    None,
    /// The names and the values, in the order of the names' digests.
    Each(Box<[(Digest, Digest)]>),
    TooMany,
}

/// Members that one event of a program has and another has not, and that do not say what is done.
const SURROUNDINGS: [&str; 3] = ["timeout", "timeout_ms", "description"];

/// Those that say where: Cursor's `beforeShellExecution` has the `cwd` that its `preToolUse` has not.
const FOLDERS: [&str; 3] = ["cwd", "working_directory", "workdir"];

/// What two values have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shared {
    /// One of them is no object.
    NoObjects,
    /// They are objects without a member in common.
    Nothing,
    /// The members that both have are equal.
    Equal,
    /// A member that both have differs, as far as is known.
    Differs,
}

impl Known {
    pub(super) fn of(value: &Value) -> Self {
        let members = match value {
            Value::Object(fields) if fields.len() > MOST_MEMBERS => Members::TooMany,
            Value::Object(fields) => {
                let each = fields.iter().map(|(name, value)| (digest_of_text(name), digest(value)));
                let mut each: Box<[_]> = each.collect();
                each.sort_unstable();
                Members::Each(each)
            }
            _ => Members::None,
        };
        let whole = match &members {
            Members::Each(each) => digest_of_members(each),
            _ => digest(value),
        };
        Self { whole, members }
    }

    pub(super) fn shared(&self, other: &Self) -> Shared {
        match (&self.members, &other.members) {
            (Members::None, _) | (_, Members::None) => Shared::NoObjects,
            (Members::Each(own), Members::Each(others)) => {
                let place = |name: &Digest| others.binary_search_by(|(other, _)| other.cmp(name)).ok();
                let both = own.iter().filter_map(|(name, value)| Some((value, &others[place(name)?].1)));
                let equal = both.map(|(own, other)| own == other);
                equal
                    .reduce(|one, other| one && other)
                    .map_or(Shared::Nothing, |equal| if equal { Shared::Equal } else { Shared::Differs })
            }
            _ if self.whole == other.whole => Shared::Equal,
            _ => Shared::Differs,
        }
    }

    /// Whether the other one shows nothing that this does not have as well. A text, a number or a list is all that it is.
    pub(super) fn has_all_of(&self, other: &Self) -> bool {
        self.has_all_but(other, |_| false)
    }

    /// The same, but for the surroundings of a call that runs in this folder.
    pub(super) fn covers(&self, other: &Self, folder: Option<&Digest>) -> bool {
        self.has_all_but(other, |(name, value)| {
            let is = |known: &&str| digest_of_text(known) == *name;
            let is_there = || folder == Some(value) || digest_of_folder("") == *value;
            SURROUNDINGS.iter().any(is) || FOLDERS.iter().any(is) && is_there()
        })
    }

    fn has_all_but(&self, other: &Self, is_apart: impl Fn(&(Digest, Digest)) -> bool) -> bool {
        match (&self.members, &other.members) {
            (Members::Each(own), Members::Each(others)) => {
                others.iter().all(|member| own.binary_search(member).is_ok() || is_apart(member))
            }
            _ => self.whole == other.whole,
        }
    }

    /// About how many bytes it takes beside its own size.
    pub(super) fn weight(&self) -> usize {
        match &self.members {
            Members::Each(each) => size_of_val(&**each),
            Members::None | Members::TooMany => 0,
        }
    }
}

pub(super) fn digest_of_text(text: &str) -> Digest {
    Sha256::digest(text).into()
}

/// That of the name of a folder, as a member has it.
pub(super) fn digest_of_folder(name: &str) -> Digest {
    digest_of(b"s", name)
}

fn digest_of(tag: &[u8], text: &str) -> Digest {
    Sha256::new_with_prefix(tag).chain_update(text).finalize().into()
}

fn digest_of_members(sorted: &[(Digest, Digest)]) -> Digest {
    let mut hasher = Sha256::new_with_prefix(b"o");
    for (name, value) in sorted {
        hasher.update(name);
        hasher.update(value);
    }
    hasher.finalize().into()
}

/// The digest of a value: equal for equal values, and for no others.
fn digest(value: &Value) -> Digest {
    match value {
        Value::Null => digest_of(b"n", ""),
        Value::Bool(is) => digest_of(b"b", if *is { "1" } else { "0" }),
        Value::Number(number) => digest_of(b"d", &number.to_string()),
        Value::String(text) => digest_of(b"s", text),
        Value::Array(items) => {
            let mut hasher = Sha256::new_with_prefix(b"a");
            items.iter().for_each(|item| hasher.update(digest(item)));
            hasher.finalize().into()
        }
        Value::Object(fields) => {
            let mut each: Vec<_> =
                fields.iter().map(|(name, value)| (digest_of_text(name), digest(value))).collect();
            each.sort_unstable();
            digest_of_members(&each)
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_core::json::{Map, json};

    use super::*;

    #[test]
    fn what_is_equal_is_known_again_and_nothing_else() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(0),
            json!("0"),
            json!(""),
            json!([]),
            json!({}),
            json!(["a", "b"]),
            json!(["ab"]),
            json!([["a"], "b"]),
            json!({"a": 1}),
            json!({"a": "1"}),
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
            json!({"a": {"b": 1}}),
            lineside_core::json::from_str("1.0").unwrap(),
            lineside_core::json::from_str("1e0").unwrap(),
        ];
        for one in &values {
            for other in &values {
                assert_eq!(Known::of(one) == Known::of(other), one == other, "{one} {other}");
                let (one, other) = (json!([one]), json!([other]));
                assert_eq!(Known::of(&one) == Known::of(&other), one == other, "{one} {other}");
            }
        }
        assert_eq!(Known::of(&json!({"a": 1, "b": [2]})), Known::of(&json!({"b": [2], "a": 1})));
    }

    #[test]
    fn the_members_that_both_objects_have_are_compared() {
        let one = Known::of(&json!({"a": 1, "b": 2}));
        for (other, expected) in [
            (json!({"a": 1}), Shared::Equal),
            (json!({"b": 2, "c": 3}), Shared::Equal),
            (json!({"a": 1, "b": 3}), Shared::Differs),
            (json!({"c": 1}), Shared::Nothing),
            (json!({}), Shared::Nothing),
            (json!("a"), Shared::NoObjects),
        ] {
            assert_eq!(one.shared(&Known::of(&other)), expected, "{other}");
            assert_eq!(Known::of(&other).shared(&one), expected, "{other}");
        }
    }

    #[test]
    fn an_object_of_too_many_members_is_known_as_a_whole_and_takes_no_room() {
        let object = |count: usize| {
            Value::Object((0..count).map(|number| (number.to_string(), number.into())).collect::<Map>())
        };
        let (few, many) = (Known::of(&object(MOST_MEMBERS)), Known::of(&object(MOST_MEMBERS + 1)));
        assert_eq!((few.weight(), many.weight()), (MOST_MEMBERS * 64, 0));
        assert_eq!(many.shared(&many), Shared::Equal);
        assert_eq!(many.shared(&Known::of(&object(MOST_MEMBERS + 2))), Shared::Differs);
        assert_eq!(few.shared(&many), Shared::Differs);
    }
}
