//! The relay between a confined agent and omx outside.
//!
//! `omx mcp` started by an agent cannot change the project's documents itself. It passes
//! its streams on to the process that drives the run, which serves the same tools from
//! outside the confinement and checks each call.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use omx_agents::AgentEnv;
use omx_kernel::{CallingAgent, ChildContext, Refusal, RefusalCode};
use omx_mcp::{McpServer, ToolGroup, serve};
use omx_ops::{Ambient, Context, Place, SystemClock, UncancelledCaller};
use omx_process::with_ancestors;
use rustix::net::sockopt::socket_peercred;

use crate::launcher::ProcessLauncher;

/// How many agents can be connected at once.
const MAX_CONNECTIONS: usize = 64;

/// Serves the agents of a run, or of a question, on this socket, until the process exits.
pub fn listen(path: &Path, context: &Context<'_>, agents: &AgentEnv) -> Result<(), Refusal> {
    let failed = |error: &dyn std::fmt::Display| {
        let why = format!("cannot listen for agents at {}: {error}", path.display());
        Refusal::new(RefusalCode::Io, why)
    };
    let listener = UnixListener::bind(path).map_err(|error| failed(&error))?;
    // The agents are known by what they are told themselves.
    let told = agents.child_variables.get(context.dialect.context_variable);
    let told: ChildContext =
        serde_json::from_str(told.map_or("", String::as_str)).map_err(|error| failed(&error))?;
    let agent = CallingAgent { context: Some(told.clone()) };
    let own = Context {
        place: Place {
            working_directory: told.root.clone(),
            root: Some(told.root),
            state_dir: told.state_dir,
            ..context.place.clone()
        },
        clock: &SystemClock,
        dialect: context.dialect,
        ambient: told.session.map_or(Ambient::None, Ambient::Session),
        actor: "mcp",
        lock_deadline: context.lock_deadline,
        config: context.config.clone(),
        caller: &UncancelledCaller,
        // One for each process, which serves as long as it lives.
        runs: Box::leak(Box::new(ProcessLauncher::Agent(Box::new(agent)))),
    };
    // The agents of a run must not manage runs; only the person does.
    let groups = ToolGroup::ALL.into_iter().filter(|group| *group != ToolGroup::Runs).collect();
    let server = Arc::new(McpServer::new(own, groups, env!("CARGO_PKG_VERSION")));
    let accept = move || {
        let open = Arc::new(());
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            if Arc::strong_count(&open) > MAX_CONNECTIONS || !is_of_this_process(&stream) {
                continue;
            }
            let (server, open) = (Arc::clone(&server), Arc::clone(&open));
            let serve = move || {
                let _ = serve_one(&server, &stream);
                drop(open);
            };
            let _ = std::thread::Builder::new().name("relay".to_owned()).spawn(serve);
        }
    };
    std::thread::Builder::new()
        .name("relay".to_owned())
        .spawn(accept)
        .map_err(|error| failed(&error))?;
    Ok(())
}

/// Whether this process started, by whatever detour, the one at the other end. The file's
/// mode keeps out other users only, and agents of other runs are the same user.
fn is_of_this_process(stream: &UnixStream) -> bool {
    let own = std::process::id();
    socket_peercred(stream).is_ok_and(|peer| {
        with_ancestors(peer.pid.as_raw_pid().unsigned_abs()).any(|process| process.id.pid == own)
    })
}

fn serve_one(server: &McpServer<'_>, stream: &UnixStream) -> io::Result<()> {
    serve(server, BufReader::with_capacity(64 * 1024, stream), BufWriter::new(stream))
}

/// Passes standard input and output on to omx outside, until it closes the connection.
pub fn forward(path: &Path) -> io::Result<()> {
    let stream = UnixStream::connect(path)?;
    let mut outgoing = stream.try_clone()?;
    std::thread::Builder::new().name("relay".to_owned()).spawn(move || {
        let _ = copy(&mut io::stdin().lock(), &mut outgoing);
        // Calls that run now are still answered.
        let _ = outgoing.shutdown(Shutdown::Write);
    })?;
    copy(&mut &stream, &mut io::stdout().lock())
}

/// Copies without keeping anything back.
fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..count).unwrap_or_default())?;
        to.flush()?;
    }
}
