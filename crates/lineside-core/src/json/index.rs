//! Finding a value within a value: `value["key"]`, `value[0]`, `value.get(…)`.

use super::map::Map;
use super::value::Value;

mod sealed {
    pub trait Sealed {}
    impl Sealed for str {}
    impl Sealed for String {}
    impl Sealed for usize {}
    impl<T: Sealed + ?Sized> Sealed for &T {}
}

/// What finds a value within a value: a key of an object or a place in a list.
pub trait Index: sealed::Sealed {
    #[doc(hidden)]
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value>;
    #[doc(hidden)]
    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
    /// The value, which is made if it can be.
    #[doc(hidden)]
    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;
}

impl Index for str {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        value.as_object_mut().map(|fields| fields.get_or_insert_with(self, || Value::Null))
    }
}

impl Index for String {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        Index::find(self.as_str(), value)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        Index::find_mut(self.as_str(), value)
    }

    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        Index::make(self.as_str(), value)
    }
}

impl Index for usize {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }

    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.find_mut(value)
    }
}

impl<T: Index + ?Sized> Index for &T {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).find(value)
    }

    fn find_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).find_mut(value)
    }

    fn make<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).make(value)
    }
}

impl<I: Index> std::ops::Index<I> for Value {
    type Output = Self;

    /// The value that [`get`](Value::get) finds, else `null`.
    fn index(&self, index: I) -> &Self {
        static NULL: Value = Value::Null;
        index.find(self).unwrap_or(&NULL)
    }
}

impl<I: Index> std::ops::IndexMut<I> for Value {
    /// The value of a key, which is added as `null` if there is none (`null` itself becomes an object), or the item at a
    /// place of a list.
    ///
    /// # Panics
    /// A key of what is neither an object nor `null`, or a place that the list does not have.
    #[expect(clippy::panic, reason = "as indexing a vector")]
    fn index_mut(&mut self, index: I) -> &mut Self {
        let Some(found) = index.make(self) else { panic!("the JSON value has no such key or place") };
        found
    }
}
