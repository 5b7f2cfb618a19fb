//! The macro `json!`: a value written as JSON, with expressions in it.

use serde::Serialize;

use super::to_value::to_value;
use super::value::Value;

/// A [`Value`] written as JSON; every value in it may be an expression of a type that serde can serialize.
///
/// A key is a literal, a variable, or an expression in parentheses.
///
/// ```
/// use lineside_core::json::json;
///
/// let count = 2;
/// let value = json!({"command": "ls", "items": [1, count, null], "more": {"ok": count > 1}});
/// assert_eq!(value.to_string(), r#"{"command":"ls","items":[1,2,null],"more":{"ok":true}}"#);
/// ```
///
/// # Panics
/// A value that has no JSON, such as a map whose keys are lists.
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    (null) => { $crate::json::Value::Null };
    ([]) => { $crate::json::Value::Array(::std::vec::Vec::new()) };
    ([ $($items:tt)+ ]) => { $crate::json::Value::Array($crate::__json_items!([] $($items)+)) };
    ({}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    ({ $($fields:tt)+ }) => {{
        let mut fields = $crate::json::Map::new();
        $crate::__json_fields!(fields $($fields)+);
        $crate::json::Value::Object(fields)
    }};
    ($value:expr) => { $crate::json::literal(&$value) };
}

/// The items of a list, one after another.
#[doc(hidden)]
#[macro_export]
macro_rules! __json_items {
    ([$($done:expr),*]) => { ::std::vec![$($done),*] };
    ([$($done:expr),*] null $(, $($rest:tt)*)?) => {
        $crate::__json_items!([$($done,)* $crate::json::Value::Null] $($($rest)*)?)
    };
    ([$($done:expr),*] [ $($items:tt)* ] $(, $($rest:tt)*)?) => {
        $crate::__json_items!([$($done,)* $crate::__json!([ $($items)* ])] $($($rest)*)?)
    };
    ([$($done:expr),*] { $($fields:tt)* } $(, $($rest:tt)*)?) => {
        $crate::__json_items!([$($done,)* $crate::__json!({ $($fields)* })] $($($rest)*)?)
    };
    ([$($done:expr),*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::__json_items!([$($done,)* $crate::json::literal(&$value)] $($($rest)*)?)
    };
}

/// The fields of an object, one after another.
#[doc(hidden)]
#[macro_export]
macro_rules! __json_fields {
    ($map:ident) => {};
    ($map:ident $key:tt : null $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json::Value::Null);
        $crate::__json_fields!($map $($($rest)*)?);
    };
    ($map:ident $key:tt : [ $($items:tt)* ] $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::__json!([ $($items)* ]));
        $crate::__json_fields!($map $($($rest)*)?);
    };
    ($map:ident $key:tt : { $($fields:tt)* } $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::__json!({ $($fields)* }));
        $crate::__json_fields!($map $($($rest)*)?);
    };
    ($map:ident $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert(($key).into(), $crate::json::literal(&$value));
        $crate::__json_fields!($map $($($rest)*)?);
    };
}

pub use crate::__json;

/// The value of an expression within `json!`.
///
/// # Panics
/// It has no JSON.
#[doc(hidden)]
#[must_use]
#[expect(clippy::panic, reason = "a literal that is none is a mistake in the program")]
pub fn literal<T: Serialize + ?Sized>(value: &T) -> Value {
    match to_value(value) {
        Ok(value) => value,
        Err(error) => panic!("a value within `json!` has no JSON: {error}"),
    }
}
