//! What the system lets the daemon have: a process that a call of an agent starts inherits the limits of the agent, and one
//! that serves all agents cannot work within those of any.

use anyhow::{Result, bail};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// As many descriptors as both doors need, with the processes of hooks. Programs that close all that they may have do so
/// in no time; therefore it is not more where the system allows it.
const DESCRIPTORS: u64 = 16_384;

/// What a daemon that serves all agents needs at least: a limit, its name in `ulimit`, and its least value.
const LEAST: [(Resource, &str, u64); 6] = [
    (Resource::Nofile, "-n (open files)", 256),
    (Resource::Fsize, "-f (the size of a file)", 1 << 30),
    (Resource::Cpu, "-t (processor time)", 60 * 60),
    (Resource::As, "-v (memory)", 1 << 30),
    (Resource::Data, "-d (memory)", 1 << 30),
    (Resource::Nproc, "-u (processes)", 64),
];

/// Gives a daemon that a call has started limits of its own: each as far as the system lets it, and files for its user alone.
///
/// # Errors
/// The system lets it have less than it needs.
pub(super) fn of_its_own() -> Result<()> {
    umask(Mode::RWXG | Mode::RWXO);
    for (resource, name, least) in LEAST {
        let limit = getrlimit(resource);
        if let Some(most) = limit.maximum.filter(|most| *most < least) {
            bail!(
                "the daemon cannot work within the hard limit {most} of `ulimit {name}`, which the program that starts it has \
                 set; start it elsewhere with: lineside serve --detached"
            );
        }
        if resource != Resource::Nofile && limit.current != limit.maximum {
            setrlimit(resource, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
        }
    }
    Ok(())
}

/// Raises the number of descriptors that this process may have to what the system lets it, up to [`DESCRIPTORS`]. Gives
/// the number, where there is one.
pub(super) fn descriptors() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS));
    let soft = limit.current?.max(most);
    let raised = Rlimit { current: Some(soft), maximum: limit.maximum };
    let soft = if setrlimit(Resource::Nofile, raised).is_ok() { soft } else { limit.current? };
    usize::try_from(soft).ok()
}
