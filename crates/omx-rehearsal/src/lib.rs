//! The built-in agent: scenarios and their player.
