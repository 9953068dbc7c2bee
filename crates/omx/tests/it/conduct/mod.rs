//! Runs that omx carries out, from outside: with the rehearsal agent, with
//! kills, cancels and keys pressed.

mod asks;
mod cancels;
mod kills;
mod kit;
mod limits;
mod moved;
mod old;
mod place;
mod real;
mod repeats;
mod stops;
mod summaries;
mod terminals;
mod trouble;
mod watched;
mod whole;

pub use kit::{Repository, quick_scenario};
