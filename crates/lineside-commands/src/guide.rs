//! What a shell command is read as, and what that promises.
//!
//! [dialects/native#policies]: self#pages-of-the-book
//! [dialects/native#what-a-call-does]: self#pages-of-the-book
//! [guards]: self#pages-of-the-book
#![doc = include_str!("guide.md")]
//!
//! # Pages of the book
//!
//! The other pages stand in the folder `docs` of the repository.
