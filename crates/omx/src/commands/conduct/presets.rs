//! Lines of roles: built in, or the person's own.

use omx_conductor::asked::Stage;
use omx_kernel::Refusal;

use crate::cli_runs::PipelineArgs;

/// The built-in lines: each role with what it is for.
const PRESETS: &[(&str, &[(&str, &str)])] = &[
    ("review", &[("explore", ""), ("architect", ""), ("critic", ""), ("executor", "")]),
    ("implement", &[("planner", ""), ("executor", ""), ("test-engineer", "")]),
    ("debug", &[("explore", ""), ("architect", ""), ("build-fixer", "")]),
    ("research", &[("researcher", ""), ("analyst", ""), ("writer", "")]),
    ("refactor", &[("explore", ""), ("architect", ""), ("executor", ""), ("quality-reviewer", "")]),
    ("security", &[("explore", ""), ("security-reviewer", ""), ("executor", ""), ("verifier", "")]),
    ("autopilot", &[("ralplan", ""), ("ralph", ""), ("code-review", "")]),
];

/// The stages that were asked for.
pub(super) fn stages(args: &PipelineArgs) -> Result<Vec<Stage>, Refusal> {
    if let Some(file) = &args.stages {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Refusal::input(format!("{}: {error}", file.display())))?;
        return omx_conductor::stages::parse(&text, &file.display().to_string());
    }
    let name = args.preset.as_deref().unwrap_or("implement");
    let line = PRESETS.iter().find(|(known, _)| *known == name).map(|(_, line)| *line);
    let stage = |(role, prompt): &(&str, &str)| Stage {
        name: (*role).to_owned(),
        role: (*role).to_owned(),
        prompt: (*prompt).to_owned(),
        model: None,
    };
    Ok(line.unwrap_or_default().iter().map(stage).collect())
}
