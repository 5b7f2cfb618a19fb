//! A daemon of one program: where it is, and until when it runs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::io::{copy, sink, stdin};

/// A folder that only this user can enter, for socket and state.
///
/// # Errors
/// The folder for temporary files cannot be written.
pub(super) fn folder() -> Result<TempDir> {
    let own = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("lineside-").permissions(own).tempdir();
    folder.context("failed to make a private folder in the folder for temporary files")
}

/// Waits until standard input ends: the program that holds the other end has closed it or is gone, in whichever way.
pub(super) async fn starter_is_gone() {
    // One that cannot be read says no more either.
    copy(&mut stdin(), &mut sink()).await.ok();
}
