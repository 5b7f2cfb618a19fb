//! Installing: our entries in a host's own files, and out of them again (HO-60 to HO-63).
//!
//! The rooms, in the order in which an installation passes them: `target` says which files, `entry` what stands in
//! them, `piece` reads a file and `strictness` says whether its program takes it, `splice` and `plan` compute its new text, `record` remembers what was done, `act` puts it
//! on the disk; `look` finds what may undo it, `trial` has an event to try it on. What is started to try an entry, and
//! what people read, is for the command.

mod target;
mod entry;
mod piece;
mod strictness;
#[cfg(feature = "toml")]
mod toml_piece;
mod splice;
mod plan;
mod record;
mod act;
mod look;
mod trial;

pub use super::import::is_our_line;
pub use act::{Act, InstallError, InstalledFile, install, installed, uninstall};
pub use entry::{Program, UnknownEvent, needed};
pub use look::{Interference, look};
pub use piece::EditError;
pub use plan::has_ours_alone;
pub use record::{alone, recorded};
pub use target::{Level, NoPlaceError, Passed, files, passed};
pub use trial::{TRIAL_SESSION, Trial, trials};
