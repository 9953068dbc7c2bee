//! The built-in lines of roles a pipeline can have.

/// Each line with its roles in order; a role's name is its stage's, too.
const PRESETS: &[(&str, &[&str])] = &[
    ("review", &["explore", "architect", "critic", "executor"]),
    ("implement", &["planner", "executor", "test-engineer"]),
    ("debug", &["explore", "architect", "build-fixer"]),
    ("research", &["researcher", "analyst", "writer"]),
    ("refactor", &["explore", "architect", "executor", "quality-reviewer"]),
    ("security", &["explore", "security-reviewer", "executor", "verifier"]),
    ("autopilot", &["ralplan", "ralph", "code-review"]),
];

/// The line a pipeline has that was asked for without one.
pub const DEFAULT: &str = "implement";

/// The roles of the line of that name.
pub fn stage_roles(name: &str) -> Option<&'static [&'static str]> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, roles)| *roles)
}

/// The names of the built-in pipelines.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}
