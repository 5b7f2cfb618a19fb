//! Spans, metrics and logs for a collector.
//!
//! [daemon]: self#pages-of-the-book
//! [grafana.json]: self#pages-of-the-book
//! [log]: self#pages-of-the-book
//! [watching]: self#pages-of-the-book
//! [watching#into-a-file-a-program-a-server]: self#pages-of-the-book
#![doc = include_str!("guide.md")]
//!
//! # Pages of the book
//!
//! The other pages stand in the folder `docs` of the repository.
