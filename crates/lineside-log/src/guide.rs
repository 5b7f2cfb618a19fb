//! The decision log, and the words that it is asked with.
//!
//! [approvals]: self#pages-of-the-book
//! [concepts#stopping]: self#pages-of-the-book
//! [dialects/hosts#served-hosts]: self#pages-of-the-book
//! [dialects/native#trying-a-hook-out]: self#pages-of-the-book
//! [trust]: self#pages-of-the-book
//! [watching]: self#pages-of-the-book
#![doc = include_str!("guide.md")]
//!
//! # Pages of the book
//!
//! The other pages stand in the folder `docs` of the repository.
