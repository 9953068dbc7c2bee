//! The built-in presets of a pipeline's stages.

/// Each preset with the roles of its stages. A stage has the name of its role.
const PRESETS: &[(&str, &[&str])] = &[
    ("review", &["explore", "architect", "critic", "executor"]),
    ("implement", &["planner", "executor", "test-engineer"]),
    ("debug", &["explore", "architect", "build-fixer"]),
    ("research", &["researcher", "analyst", "writer"]),
    ("refactor", &["explore", "architect", "executor", "quality-reviewer"]),
    ("security", &["explore", "security-reviewer", "executor", "verifier"]),
    ("autopilot", &["ralplan", "ralph", "code-review"]),
];

/// The preset of a pipeline that names none.
pub const DEFAULT: &str = "implement";

/// Returns the stage roles of a preset.
pub fn stage_roles(name: &str) -> Option<&'static [&'static str]> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, roles)| *roles)
}

/// The names of the built-in pipelines.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}
