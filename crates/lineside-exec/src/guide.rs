//! Hook workers: their protocol, their kits, and what becomes of them.
//!
//! [dialects/agenthooks]: self#pages-of-the-book
//! [dialects/native#input]: self#pages-of-the-book
//! [dialects/openclaw]: self#pages-of-the-book
//! [guards]: self#pages-of-the-book
//! [inheritance]: self#pages-of-the-book
//! [inheritance#a-hook-that-lives-in-a-program]: self#pages-of-the-book
#![doc = include_str!("guide.md")]
//!
//! # Pages of the book
//!
//! The other pages stand in the folder `docs` of the repository.
