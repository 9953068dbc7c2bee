//! Real git on real repositories.

mod calls;
mod commit;
mod diff;
mod integrate;
mod integrate_refused;
mod place;
mod remove;
mod stage;
mod tree;
mod worktree;
