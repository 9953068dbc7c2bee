//! `probe ANSWER PROGRAM ARGS…` runs the program once, its output into the file
//! ANSWER, and prints `wall_ns cpu_ns max_rss_kib status`.
//!
//! It exists because the kernel counts the memory of the process that starts a
//! child into the child's peak: measured from the driver, every small program
//! would look as large as the driver. Measured from here, as small as can be.

use omx_bench::error::{BenchError, BenchResult, WithContext};
use omx_bench::sys;
use std::ffi::OsString;
use std::fs::File;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Far beyond every honest run; a program that hangs is ended.
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("probe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: impl Iterator<Item = OsString>) -> BenchResult<()> {
    let (Some(answer), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err(BenchError::new("usage: probe ANSWER PROGRAM ARGS…"));
    };
    let output = File::create(&answer).context(|| "create the answer's file")?;
    let errors = output.try_clone().context(|| "share the answer's file")?;
    let mut command = Command::new(&program);
    // The input is what the driver gave; nothing, for most.
    command.args(arguments).stdin(Stdio::inherit()).stdout(output).stderr(errors);
    let start = Instant::now();
    let mut child = command.spawn().context(|| format!("start {}", program.display()))?;
    let pid = child.id();
    let (ended, watch) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if watch.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            // Failure means it has just ended by itself.
            let _ = child.kill();
        }
    });
    let usage = sys::wait(pid).context(|| "wait for the program")?;
    let wall = start.elapsed();
    drop(ended);
    println!("{} {} {} {}", wall.as_nanos(), usage.cpu.as_nanos(), usage.max_rss_kib, usage.status);
    Ok(())
}
