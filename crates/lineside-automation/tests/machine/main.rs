//! The machine against a reference in virtual time, and the laws that it keeps whatever happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod world;
mod reference;
mod play;
mod laws;
mod leaving;
mod merging;
mod restart;
mod adopted;
mod in_turn;
mod bytes;
mod standing;
mod persons;
mod exactly;
mod next_life;
