//! What the crates are published as.

use anyhow::Result;

use super::step::{Counts, Outcome};
use crate::programme::{FOR_A_BUILD, must};
use crate::workspace::Workspace;

/// Packs every crate as it would be published, in the order of their dependencies, and sends none.
///
/// What was packed is not built, which would be all of it once more; that its files are there is a rule of `tidy`.
pub(super) fn judge(workspace: &Workspace) -> Result<Outcome> {
    let publish = ["publish", "--dry-run", "--workspace", "--no-verify", "--allow-dirty", "--quiet"];
    must(&mut workspace.cargo(publish), FOR_A_BUILD)?;
    Ok(Outcome::Judged(Counts::ONE_PASSED))
}
