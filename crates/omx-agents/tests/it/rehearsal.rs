//! The scenarios of the rehearsal agent.

mod faults;
mod fuzz;
mod reader;
