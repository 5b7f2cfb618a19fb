//! Doubles for tests: scripted hooks, a recorder, the reference model.
