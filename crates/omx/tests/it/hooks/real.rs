//! The real Codex and Claude Code, with omx set up in a fresh home.
