//! The running system: channels, dispatch, sessions, observers, mailboxes, signals, drain.
