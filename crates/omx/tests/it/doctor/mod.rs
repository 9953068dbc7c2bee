//! The doctor.

mod hosts;
mod kit;
mod project;
