//! trust.md: what a repository, an agent and other users cannot do. Attacks by a
//! repository run against a real clone.

mod agent_acts;
mod configuration;
mod kit;
mod other_users;
mod programs;
mod runs;
mod setup_links;
