//! What becomes a value by itself, and what a value can be compared with.

use std::borrow::Cow;

use super::map::Map;
use super::number::Number;
use super::value::Value;

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

/// `null` unless it is finite.
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Self::Null, Self::Number)
    }
}

/// `null` unless it is finite.
impl From<f32> for Value {
    fn from(value: f32) -> Self {
        Number::from_f32(value).map_or(Self::Null, Self::Number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Cow<'_, str>> for Value {
    fn from(text: Cow<'_, str>) -> Self {
        Self::String(text.into_owned())
    }
}

impl From<Map> for Value {
    fn from(fields: Map) -> Self {
        Self::Object(fields)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Null
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone + Into<Self>> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

/// `null` for nothing.
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A list.
impl<T: Into<Self>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// An object.
impl<K: Into<String>, V: Into<Self>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

macro_rules! integers {
    ($($integer:ty)*) => { $(
        impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Self::Number(value.into())
            }
        }

        impl PartialEq<$integer> for Value {
            fn eq(&self, other: &$integer) -> bool {
                self.as_number().is_some_and(|number| *number == Number::from(*other))
            }
        }

        impl PartialEq<Value> for $integer {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )* };
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

macro_rules! texts {
    ($($text:ty)*) => { $(
        impl PartialEq<$text> for Value {
            fn eq(&self, other: &$text) -> bool {
                self.as_str().is_some_and(|text| text == &other[..])
            }
        }

        impl PartialEq<Value> for $text {
            fn eq(&self, other: &Value) -> bool {
                other == self
            }
        }
    )* };
}

texts!(str &str String);

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

impl PartialEq<Value> for bool {
    fn eq(&self, other: &Value) -> bool {
        other == self
    }
}

impl PartialEq<f64> for Value {
    fn eq(&self, other: &f64) -> bool {
        self.as_f64() == Some(*other)
    }
}

impl PartialEq<Value> for f64 {
    fn eq(&self, other: &Value) -> bool {
        other == self
    }
}
