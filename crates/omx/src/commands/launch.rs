//! `launch`: starts the person's agent in this terminal.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use omx_host::HostKind;
use omx_host::setup::{Manifest, SetupPaths, SetupScope};
use omx_kernel::{Dialect, Refusal, RefusalCode};
use omx_ops::Context;
use omx_ops::config::{self};

use super::with_context;
use crate::children;
use crate::cli::GlobalArgs;
use crate::cli_setup::LaunchArgs;
use crate::consent::ask_for_trust;
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Replaces this process with the agent.
pub fn run(args: &LaunchArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    with_context(global, by_name, Format::Text, |context| {
        let host = match args.host {
            Some(host) => host,
            None => chosen(context)?,
        };
        let name = host.as_str();
        let program = edge::on_path(Path::new(name)).ok_or_else(|| not_installed(host))?;
        if !is_set_up(context, host)? {
            output::note(&format!(
                "note: {omx} is not set up for {name}; run: {omx} setup --host {name}",
                omx = context.dialect.name
            ));
        }
        let mut command = Command::new(program);
        command.args(&args.args);
        // The agent starts its own conversation.
        for name in edge::session_variables(context.dialect) {
            command.env_remove(name);
        }
        children::forget(&mut command);
        let error = command.exec();
        Err(Refusal::new(RefusalCode::Io, format!("cannot start {name}: {error}")))
    })
}

fn not_installed(host: HostKind) -> Refusal {
    let install = host.agent().install_command().map(|command| format!("; install it: {command}"));
    Refusal::invalid_input(format!(
        "{} is not installed{}",
        host.as_str(),
        install.unwrap_or_default()
    ))
}

/// Returns the configured agent, or else the first installed one.
fn chosen(context: &Context<'_>) -> Result<HostKind, Refusal> {
    let store = context.store()?;
    ask_for_trust(context, &store)?;
    let config = config::load_trusted(context, &store)?;
    let named = config.get("agent").and_then(|setting| HostKind::parse(setting.value.as_str()?));
    let is_there = |host: &HostKind| edge::on_path(Path::new(host.as_str())).is_some();
    named.or_else(|| HostKind::ALL.into_iter().find(is_there)).ok_or_else(|| {
        Refusal::invalid_input(format!(
            "no agent is installed: looked for {}",
            HostKind::NAMES.join(", ")
        ))
    })
}

/// Whether a setup that applies here includes this host.
fn is_set_up(context: &Context<'_>, host: HostKind) -> Result<bool, Refusal> {
    let root = context.store()?.root().to_owned();
    let knows = |scope: SetupScope| -> Result<bool, Refusal> {
        let paths: SetupPaths = edge::setup_paths(context.dialect, scope)?;
        let manifest = Manifest::load(&paths.manifest())
            .map_err(|error| Refusal::new(RefusalCode::Io, error.to_string()))?;
        Ok(manifest.is_some_and(|manifest| manifest.hosts().contains(&host)))
    };
    Ok(knows(SetupScope::User)? || knows(SetupScope::Project(root))?)
}
