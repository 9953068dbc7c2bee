//! Agents driven for real: one suite that every driver passes, and what is
//! special to each.

mod cli_stage;
mod deadlines;
mod driver_starts;
mod guard;
mod inheritance;
mod play;
mod rehearsal_stage;
mod stage;
mod stand_in;
mod suite;
mod suite_outlive;
mod suite_results;
mod suite_trouble;
mod talk;

mod claude;
mod codex;
mod gemini;
mod gemini_own;
mod rehearsal;
mod rehearsal_killed;
mod rehearsal_page;
mod rehearsal_policy;
mod watched;
