//! `mcp`: serves tools until the pipe closes or the parent exits.

use std::io::{self, BufReader, BufWriter};
use std::path::Path;

use omx_kernel::{ChildContext, Dialect, Refusal};
use omx_mcp::{McpServer, ToolGroup, serve};

use crate::children;
use crate::cli::{GlobalArgs, McpArgs};
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::relay;

/// As much as a pipe holds: requests that came together are read together.
const INPUT_BYTES: usize = 64 * 1024;
/// Responses that are ready together are written together, in portions that let the
/// client read one while the server works on the next.
const OUTPUT_BYTES: usize = 16 * 1024;

/// Runs the server.
pub fn run(args: &McpArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    match children::inherited() {
        Ok(Some(ChildContext { relay: Some(relay), .. })) => return forward(&relay),
        Ok(_) => {}
        Err(refusal) => return output::refusal(&refusal, Format::Text),
    }
    match server(args, global, by_name) {
        Ok(server) => {
            // After a host is killed, another process may keep the pipe open. If the
            // parent's exit cannot be watched, the closing pipe still ends the
            // server.
            let _ = omx_process::on_parent_exit(None, || std::process::exit(0));
            let input = BufReader::with_capacity(INPUT_BYTES, io::stdin());
            match serve(&server, input, BufWriter::with_capacity(OUTPUT_BYTES, io::stdout())) {
                Ok(()) => Exit::Done,
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
                Err(error) => {
                    output::note(&format!("error: the connection failed: {error}"));
                    Exit::Failed
                }
            }
        }
        Err(refusal) => output::refusal(&refusal, Format::Text),
    }
}

/// Lets omx outside the caller's confinement serve its tools.
fn forward(relay: &Path) -> Exit {
    let _ = omx_process::on_parent_exit(None, || std::process::exit(0));
    match relay::forward(relay) {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            output::note(&format!("error: the run that this agent works for is gone: {error}"));
            Exit::Failed
        }
    }
}

fn server(
    args: &McpArgs,
    global: &GlobalArgs,
    by_name: Dialect,
) -> Result<McpServer<'static>, Refusal> {
    let context = edge::context(global, by_name, "mcp")?;
    let groups = args.tools.iter().map(|name| {
        ToolGroup::parse(name).ok_or_else(|| {
            let known = ToolGroup::ALL.map(ToolGroup::as_str).join(", ");
            Refusal::invalid_input(format!("unknown group of tools {name:?}; known are {known}"))
        })
    });
    let mut groups = groups.collect::<Result<Vec<_>, _>>()?;
    let is_for_run = children::inherited()?.is_some_and(|inherited| inherited.run.is_some());
    if is_for_run || context.runs.calling_agent().is_some() {
        // The agents of a run must not manage runs; only the person does.
        groups.retain(|group| *group != ToolGroup::Runs);
    }
    Ok(McpServer::new(context, groups, env!("CARGO_PKG_VERSION")))
}
