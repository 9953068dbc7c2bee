//! Agents driven for real: one suite that every driver passes, and what is
//! special to each.

mod cli_stage;
mod conversation;
mod deadlines;
mod driver_starts;
mod guard;
mod inheritance;
mod play;
mod rehearsal_stage;
mod silence;
mod stage;
mod stand_in;
mod suite;
mod suite_cleanup;
mod suite_failures;
mod suite_results;

mod claude;
mod codex;
mod gemini;
mod hang_detection;
mod rehearsal;
mod rehearsal_killed;
mod rehearsal_page;
mod rehearsal_policy;
