//! The agent's real work: files, commands, tools. Each job runs on a thread
//! beside the machine and can be stopped with everything it started.

use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use omx_process::platform::anonymous_file;
use serde_json::{Map, Value};

use super::job_process::JobProcess;
use super::mcp;
use crate::wire::{PlayerToolOutcome, ServerSpec};

/// Identifies a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlayerJobId(pub(super) u64);

/// Something the agent does.
#[derive(Debug)]
pub(super) enum PlayerJob {
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
        server: ServerSpec,
        tool: String,
        args: Map<String, Value>,
        timeout: Duration,
    },
    /// A job that cannot be carried out, with the reason.
    Refuse(String),
}

/// How a job ended.
#[derive(Debug)]
pub(super) struct JobOutcome {
    pub(super) end: PlayerToolOutcome,
    /// What it printed, or why it failed.
    pub(super) output: String,
    /// The file it changed.
    pub(super) changed: Option<PathBuf>,
}

impl JobOutcome {
    pub(super) fn failed(why: impl ToString) -> Self {
        Self { end: PlayerToolOutcome::Failed, output: why.to_string(), changed: None }
    }

    pub(super) fn succeeded(output: String) -> Self {
        Self { end: PlayerToolOutcome::Succeeded, output, changed: None }
    }
}

/// How much of a command's output is kept.
const MAX_OUTPUT: u64 = 64 << 10;

/// Carries out a job in this folder. Its process is held by `process`, so that
/// another thread can stop it.
pub(super) fn carry_out(job: PlayerJob, folder: &Path, process: &Arc<JobProcess>) -> JobOutcome {
    match job {
        PlayerJob::Write { path, content } => {
            edit(path, |path| write(&folder.join(path), &content))
        }
        PlayerJob::Patch { path, find, replace } => {
            edit(path, |path| patch(&folder.join(path), &find, &replace))
        }
        PlayerJob::Run { command } => {
            run(&command, folder, process).unwrap_or_else(JobOutcome::failed)
        }
        PlayerJob::Mcp { server, tool, args, timeout } => {
            mcp::call(&server, &tool, args, folder, timeout, process)
        }
        PlayerJob::Refuse(why) => JobOutcome::failed(why),
    }
}

fn edit(path: PathBuf, change: impl FnOnce(&Path) -> Result<(), String>) -> JobOutcome {
    match change(&path) {
        Ok(()) => JobOutcome {
            end: PlayerToolOutcome::Succeeded,
            output: String::new(),
            changed: Some(path),
        },
        Err(why) => JobOutcome::failed(format!("{}: {why}", path.display())),
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
        count => Err(format!("the text to replace occurs {count} times, not once")),
    }
}

fn run(command: &str, folder: &Path, process: &JobProcess) -> io::Result<JobOutcome> {
    // Not a pipe: a background process of the command could hold it open forever.
    let mut output = anonymous_file("output")?;
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let status = process.wait(process.start(&mut shell)?)?;
    output.rewind()?;
    let mut bytes = Vec::new();
    output.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    // A signal is reported the way a shell reports it.
    let code = status.code().unwrap_or_else(|| {
        use std::os::unix::process::ExitStatusExt;
        128 + status.signal().unwrap_or_default()
    });
    Ok(JobOutcome { end: PlayerToolOutcome::Exited(code.into()), output, changed: None })
}
