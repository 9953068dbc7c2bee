//! Adopts a run that came from somewhere else, after showing what it would do.

use omx_kernel::{EscapedText, Refusal};
use omx_ops::{Context, ForeignRun, RunSelector, run_adopt, run_to_adopt};
use serde_json::json;

use crate::cli_runs::AdoptArgs;
use crate::consent;
use crate::exit::Exit;
use crate::output::{self, Format};

pub(super) fn adopt(
    context: &Context<'_>,
    args: AdoptArgs,
    format: Format,
) -> Result<Exit, Refusal> {
    let selector = RunSelector { project: None, id: Some(args.id) };
    let Some(run) = run_to_adopt(context, &selector)? else {
        return Ok(match format {
            Format::Json => output::text(&format!("{}\n", json!({"adopted": true}))),
            Format::Text => output::lines(&["This run is yours already.".to_owned()]),
        });
    };
    if format == Format::Text {
        output::lines(&preview(&run));
    }
    let is_adopted = args.yes || (consent::is_interactive() && consent::confirm("Adopt this run?"));
    if is_adopted {
        run_adopt(context, &run)?;
    }
    let id = &run.seen.id;
    match format {
        Format::Json => {
            let object = json!({"id": id.as_str(), "adopted": is_adopted, "spec": run.spec()});
            output::text(&format!("{object}\n"));
        }
        Format::Text if is_adopted => {
            let program = context.dialect.name;
            output::lines(&[format!("Adopted run {id}. Resume it: {program} runs resume {id}")]);
        }
        Format::Text => output::note("not adopted; after reading the above, adopt it with --yes"),
    }
    Ok(if is_adopted { Exit::Done } else { Exit::NeedsPerson })
}

/// What a resume of the run would use. All of it is somebody else's text.
fn preview(run: &ForeignRun) -> Vec<String> {
    let spec = run.spec();
    let folder = spec.workspace.folder().to_string_lossy().into_owned();
    let scenario = spec.scenario.as_ref().map(|path| path.to_string_lossy().into_owned());
    // A line break separates commands, so it stays visible.
    let check = spec.check.as_ref().map(|check| check.raw().replace('\n', "\\n"));
    let mut lines =
        vec![format!("{} run {}, which you did not start:", spec.mode.name(), run.seen.id)];
    let mut add = |name: &str, text: Option<&str>| {
        lines.extend(text.map(|text| format!("  {name:<9} {}", EscapedText::one_line(text))));
    };
    add("task", Some(spec.task.raw()));
    add("state", Some(run.seen.state.as_str()));
    add("agent", Some(&spec.agent));
    add("model", spec.model.as_deref());
    add("allow", Some(&spec.allow));
    add("check", check.as_deref());
    add("folder", Some(&folder));
    add("scenario", scenario.as_deref());
    for stage in &spec.stages {
        add("stage", Some(&format!("{stage:?}")));
    }
    lines
}
