//! Handlers outside the process: commands with one deadline over everything.
