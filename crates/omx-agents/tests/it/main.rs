//! The agents, from outside.
