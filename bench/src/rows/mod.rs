//! One module per kind of work; each gives the rows of its figures.

pub mod history;
pub mod hooks;
pub mod reads;
pub mod server;
pub mod sessions;
pub mod size;
pub mod storm;
pub mod writes;
