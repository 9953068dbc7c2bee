//! The model of a run, without its loop.
