//! The messages for an agent's context, kept until they are collected.

pub mod mailbox;
