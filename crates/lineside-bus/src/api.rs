//! What a program calls: the bus, its sessions, registering, publishing, deciding, collecting, and the end of it all.

pub mod bus;
pub mod scope;
pub mod session;
pub mod register;
pub mod living;
pub mod of_dialect;
pub mod publish;
pub mod decision;
pub mod collect;
mod close;
pub mod drain;
pub mod job_store;
pub mod propagation;
pub mod extension;
