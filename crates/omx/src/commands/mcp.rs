//! `mcp`: serves tools until the pipe closes or the parent is gone.

use std::io::{self, BufReader, BufWriter};

use omx_kernel::message::MessageReader;
use omx_kernel::{Dialect, Refusal};
use omx_mcp::{Group, Server, serve};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open};

use crate::cli::{Global, McpArgs};
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};

/// Serves.
pub fn run(args: &McpArgs, global: &Global, by_name: Dialect) -> Exit {
    match server(args, global, by_name) {
        Ok(server) => {
            end_with_parent();
            let mut input = BufReader::with_capacity(64 * 1024, io::stdin());
            match serve(&server, &mut input, BufWriter::new(io::stdout())) {
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

fn server(args: &McpArgs, global: &Global, by_name: Dialect) -> Result<Server<'static>, Refusal> {
    let mut context = edge::context(global, by_name, "mcp")?;
    context.reader = MessageReader::Program;
    let groups = args.tools.iter().map(|name| {
        Group::named(name).ok_or_else(|| {
            Refusal::invalid_input(format!("unknown group of tools {name:?}; there is state"))
        })
    });
    let groups = groups.collect::<Result<Vec<_>, _>>()?;
    Ok(Server { context, groups, version: env!("CARGO_PKG_VERSION") })
}

/// Ends the process when its parent ends: a host that was killed may leave
/// the pipe open in another process.
fn end_with_parent() {
    let Some(parent) = getppid() else { return };
    let Ok(handle) = pidfd_open(parent, PidfdFlags::empty()) else { return };
    // If this cannot be had, the closing pipe still ends the server.
    let _ =
        std::thread::Builder::new().name("parent".into()).stack_size(64 * 1024).spawn(move || {
            let mut handles = [PollFd::new(&handle, PollFlags::IN)];
            while poll(&mut handles, None) == Err(rustix::io::Errno::INTR) {}
            std::process::exit(0);
        });
}
