//! A hook bus for AI agents: the assembled library.
