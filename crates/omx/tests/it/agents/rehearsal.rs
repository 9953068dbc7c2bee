//! The built-in agent.
