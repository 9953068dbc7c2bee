//! Runs with the real agent programs against the scripted model.

mod autopilot;
mod books;
mod endings;
mod gauntlet;
mod kills;
mod parts;
mod plans_and_reviews;
mod ralph;
mod site;
