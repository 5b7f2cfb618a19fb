//! What a member of a cluster has of the daemon.

use lineside::Assembly;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Daemon;
use crate::attachments::Attachments;
use crate::cluster::Here;
use crate::grants::Grants;
use crate::shares::Sessions;

impl Here for Daemon {
    fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    fn grants(&self) -> &Grants {
        &self.grants
    }

    fn attachments(&self) -> &Attachments {
        &self.attachments
    }

    fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn tracker(&self) -> &TaskTracker {
        &self.tracker
    }

    fn ending(&self) -> &CancellationToken {
        &self.ending
    }
}
