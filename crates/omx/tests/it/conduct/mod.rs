//! Runs that omx carries out, from outside: with the rehearsal agent, with
//! kills, cancels and keys pressed.

mod kills;
mod kit;
mod limits;
mod moved;
mod place;
mod repeats;
mod stops;
mod trouble;
