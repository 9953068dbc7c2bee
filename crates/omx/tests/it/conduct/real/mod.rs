//! Runs with the real agent programs against the scripted model.

mod agent_attacks;
mod autopilot;
mod confinement;
mod endings;
mod journal_checks;
mod kill_points;
mod kills;
mod parts;
mod plans_and_reviews;
mod project;
mod ralph;
mod received;
