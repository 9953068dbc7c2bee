//! Setup, uninstall and launch: the person's files, and the real programs.

mod files;
mod kit;
mod launch;
mod messages;
mod real;
mod side_by_side;
