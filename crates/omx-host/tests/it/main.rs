//! The crate from outside: setup on a real file system, hooks, the catalog, the doctor.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod catalog;
mod doctor;
mod hooks;
mod place;
mod setup;
