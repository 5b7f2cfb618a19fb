//! The essays of the book that a program with this library needs.
//!
//! - [`start`]: the first hooks, from a program and from a file.
//! - [`concepts`]: points, verdicts, amendments, failures, observers, automations, sessions.
//! - [`guards`]: how dangerous commands are refused without a program.
//! - [`inheritance`]: how hooks reach the agents that an agent starts.
//!
//! # Pages of the book
//!
//! The other pages stand in the folder `docs` of the repository, and so do the pages about the command, the daemon, the
//! formats of hooks and the agent programs.

pub mod start {
    //! [commands]: super#pages-of-the-book
    //! [concepts]: super::concepts
    //! [concepts#automations]: super::concepts#automations
    //! [concepts#receipts]: super::concepts#receipts
    //! [daemon]: super#pages-of-the-book
    //! [dialects]: super#pages-of-the-book
    //! [dialects#background-hooks-in-a-journal]: super#pages-of-the-book
    //! [dialects/agenthooks]: super#pages-of-the-book
    //! [examples]: super#pages-of-the-book
    //! [guards]: super::guards
    //! [install#the-first-five-minutes]: super#pages-of-the-book
    //! [log]: super#pages-of-the-book
    //! [trust]: super#pages-of-the-book
    #![doc = include_str!("guide/start.md")]
}

pub mod concepts {
    //! [design/2026-11-21-re-judging]: super#pages-of-the-book
    //! [dialects/native#automations]: super#pages-of-the-book
    //! [reference/points]: super#pages-of-the-book
    #![doc = include_str!("guide/concepts.md")]
}

pub mod guards {
    //! [commands#what-is-not-promised]: super#pages-of-the-book
    //! [commands#what-is-not-told]: super#pages-of-the-book
    //! [commands#what-is-promised]: super#pages-of-the-book
    //! [commands#what-is-read-written-and-deleted]: super#pages-of-the-book
    //! [dialects/native]: super#pages-of-the-book
    //! [dialects/native#policies]: super#pages-of-the-book
    //! [dialects/native#what-a-call-does]: super#pages-of-the-book
    //! [mcp]: super#pages-of-the-book
    //! [start]: super::start
    #![doc = include_str!("guide/guards.md")]
}

pub mod inheritance {
    //! [daemon]: super#pages-of-the-book
    //! [dialects/native]: super#pages-of-the-book
    //! [hosts]: super#pages-of-the-book
    //! [security#what-an-agent-may-not-do]: super#pages-of-the-book
    //! [start]: super::start
    //! [workers]: super#pages-of-the-book
    //! [workers#programs-that-are-not-ours]: super#pages-of-the-book
    #![doc = include_str!("guide/inheritance.md")]
}
