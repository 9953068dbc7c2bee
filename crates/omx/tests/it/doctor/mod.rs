//! The doctor.

mod clinic;
mod hosts;
mod project;
