//! What a shell command runs, reads, writes and deletes, told without starting it.
//!
//! [`analyse`] takes the text of a command, the shell that is to run it and what is known of its surroundings, and
//! lists every program that the command may start, with the way to it, and every path that it may touch. What is
//! not known is listed with its reason. [`CommandFilter`]s ask for programs and paths. Nothing is started, no file is read;
//! links are followed where [`Surroundings::links`] can.
//!
//! ```
//! use lineside_commands::{Access, Shell, Surroundings, analyse};
//!
//! let state = Surroundings::new("/proj", "/home/dev");
//! let analysis = analyse(r#"sudo bash -c 'cd / && rm -rf "$1"' _ etc"#, Shell::Bash, &state);
//! let rm = analysis.programs.last().unwrap();
//! assert_eq!(rm.known_name(), Some("rm"));
//! assert_eq!(rm.way, ["sudo", "bash"]);
//! assert_eq!(analysis.paths(Access::Delete).next().unwrap().path, "/etc");
//! ```
//!
//! The [`guide`] says what is read, what is promised, and what is not.

#[cfg(any(doc, doctest))]
pub mod guide;
pub mod filter;

mod address;
mod analysis;
mod code;
mod expand;
mod globs;
mod limits;
mod links;
mod parse;
mod path;
mod places;
mod reading;
mod scan;
mod sql;
mod state;
mod tables;
mod value;
mod walk;

pub use analysis::{
    Access, Analysis, Argument, CommandProgram, Flag, Spellings, Touch, Trait, Unclear, Unknown,
};
pub use filter::CommandFilter;
pub use links::FileLinks;
pub use places::{KnownValue, Place, Places};
pub use state::{FileId, Links, Shell, Surroundings};
pub use walk::{analyse, analyse_bytes, explain, parses};
