//! Runs that omx carries out, from outside: with the rehearsal agent, with
//! kills, cancels and keys pressed.

mod kills;
mod kit;
mod limits;
mod place;
mod real;
mod stops;
