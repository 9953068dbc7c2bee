//! The built-in presets of a pipeline's stages.

/// Each preset with its stages. A stage has the name of its role, or of one of autopilot's
/// phases.
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

/// The role that works on a stage of a preset.
pub fn stage_role(stage: &str) -> &str {
    match stage {
        "ralplan" => "planner",
        "ralph" => "executor",
        "code-review" => "code-reviewer",
        role => role,
    }
}

/// Returns the stages of a preset.
pub fn stage_names(name: &str) -> Option<&'static [&'static str]> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, roles)| *roles)
}

/// The names of the built-in pipelines.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}
