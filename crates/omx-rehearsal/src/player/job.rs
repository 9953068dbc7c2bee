//! What the agent really does: files, commands, tools. Each job runs beside
//! the machine and can be stopped with all it started.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::MemfdFlags;
use serde_json::{Map, Value};

use super::child::Child;
use super::mcp;
use crate::wire::{End, Server};

/// Tells jobs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobId(pub(super) u64);

/// Something to do.
#[derive(Debug)]
pub(super) enum Job {
    Write {
        path: PathBuf,
        content: String,
    },
    Patch {
        path: PathBuf,
        find: String,
        replace: String,
    },
    Run {
        command: String,
    },
    Mcp {
        server: Server,
        tool: String,
        args: Map<String, Value>,
        timeout: Duration,
    },
    /// Something that cannot be done, with the reason.
    Refuse(String),
}

/// How a job ended.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) end: End,
    /// What it printed, or why it failed.
    pub(super) output: String,
    /// The file it changed.
    pub(super) changed: Option<PathBuf>,
}

impl Done {
    pub(super) fn failed(why: impl ToString) -> Self {
        Self { end: End::Failed, output: why.to_string(), changed: None }
    }

    pub(super) fn succeeded(output: String) -> Self {
        Self { end: End::Succeeded, output, changed: None }
    }
}

/// How much of what a command prints is kept.
const OUTPUT: u64 = 64 << 10;

/// Does a job in this folder. What it starts is put into `child`, where it
/// can be stopped meanwhile.
pub(super) fn work(job: Job, folder: &Path, child: &Arc<Child>) -> Done {
    match job {
        Job::Write { path, content } => changed(path, |path| write(&folder.join(path), &content)),
        Job::Patch { path, find, replace } => {
            changed(path, |path| patch(&folder.join(path), &find, &replace))
        }
        Job::Run { command } => run(&command, folder, child).unwrap_or_else(Done::failed),
        Job::Mcp { server, tool, args, timeout } => {
            mcp::call(&server, &tool, args, folder, timeout, child)
        }
        Job::Refuse(why) => Done::failed(why),
    }
}

fn changed(path: PathBuf, change: impl FnOnce(&Path) -> Result<(), String>) -> Done {
    match change(&path) {
        Ok(()) => Done { end: End::Succeeded, output: String::new(), changed: Some(path) },
        Err(why) => Done::failed(format!("{}: {why}", path.display())),
    }
}

fn write(path: &Path, content: &str) -> Result<(), String> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, content)).map_err(|error| error.to_string())
}

fn patch(path: &Path, find: &str, replace: &str) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.matches(find).count() {
        1 => fs::write(path, text.replacen(find, replace, 1)).map_err(|error| error.to_string()),
        count => Err(format!("the text to replace stands in it {count} times, not once")),
    }
}

fn run(command: &str, folder: &Path, child: &Child) -> io::Result<Done> {
    // Not a pipe: what the command leaves behind may hold it open for ever.
    let mut output = fs::File::from(rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)?);
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let status = child.wait(child.start(&mut shell)?)?;
    output.rewind()?;
    let mut bytes = Vec::new();
    output.take(OUTPUT).read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    // What a signal ended counts as a shell would count it.
    let code = status.code().unwrap_or_else(|| {
        use std::os::unix::process::ExitStatusExt;
        128 + status.signal().unwrap_or_default()
    });
    Ok(Done { end: End::Exited(code.into()), output, changed: None })
}
