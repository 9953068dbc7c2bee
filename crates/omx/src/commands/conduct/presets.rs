//! The stages of a pipeline: built in, or the person's own.

use omx_kernel::{Refusal, presets};
use omx_runs::spec::PipelineStage;

use crate::cli_runs::PipelineArgs;

/// The stages that the command line asks for.
pub(super) fn stages(args: &PipelineArgs) -> Result<Vec<PipelineStage>, Refusal> {
    if let Some(file) = &args.stages {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Refusal::invalid_input(format!("{}: {error}", file.display())))?;
        return omx_conductor::stages::parse(&text, &file.display().to_string());
    }
    let roles = presets::stage_roles(args.preset.as_deref().unwrap_or(presets::DEFAULT));
    let stage = |role: &&str| PipelineStage {
        name: (*role).to_owned(),
        role: (*role).to_owned(),
        prompt: String::new(),
        model: None,
    };
    Ok(roles.unwrap_or_default().iter().map(stage).collect())
}
