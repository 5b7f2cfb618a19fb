//! What the chores need and a fresh machine lacks: found, or installed and said so.
//!
//! Nothing is installed that is there already, and everything comes from a public registry.

mod crates_io;
mod debian;
mod npm;
mod pypi;
mod python;
mod rustup;

pub(crate) use crates_io::{CARGO_DEB, DENY, FUZZ, MDBOOK, MUTANTS, SBOM, SEMVER, published};
pub(crate) use debian::{Program, need_programs};
pub(crate) use npm::{JITI, NODE, NPM, npm_locked, npm_package};
pub(crate) use pypi::{NATS_SERVER, ROTEL, pypi_program};
pub(crate) use python::python;
pub(crate) use rustup::{CLIPPY, RUSTFMT, need_component, need_target};
