//! What a member of a cluster has of the daemon.

use std::time::Duration;

use lineside::Assembly;
use lineside::automation::Automations;
use lineside::log::Log;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Daemon;
use crate::attachments::Attachments;
use crate::cluster::Here;
use crate::deliveries::Deliveries;
use crate::feed::Feed;
use crate::grants::Grants;
use crate::projects::Projects;
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

    fn projects(&self) -> &Projects {
        &self.projects
    }

    fn log(&self) -> Option<&Log> {
        self.feed().log()
    }

    fn feed(&self) -> &Feed {
        Self::feed(self)
    }

    fn automations(&self) -> &Automations {
        &self.automations
    }

    fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    fn delivery_limit(&self) -> Duration {
        self.settings.limits.delivery
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
