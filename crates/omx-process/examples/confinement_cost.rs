//! Measures what confinement costs: the start of a program, and the build of a small crate.
//! Runs with and without confinement take turns, so that other work on the machine meets both.
//!
//!     cargo run --release -p omx-process --example confinement_cost

#![expect(clippy::print_stdout, reason = "figures are its purpose")]

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omx_process::{FileRules, confine_command};

const STARTS: usize = 200;
const BUILDS: usize = 5;
/// Enough code that the compiler, and not the start of cargo, takes the time.
const FUNCTIONS: usize = 400;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("confinement-cost-{}", std::process::id()));
    fs::create_dir_all(folder.join("src"))?;
    let manifest =
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let code = (0..FUNCTIONS).map(|n| {
        format!("pub fn f{n}(words: &[String]) -> Vec<String> {{ words.iter().map(|w| format!(\"{n} {{w}}\")).collect() }}\n")
    });
    fs::write(folder.join("src/lib.rs"), code.collect::<String>())?;
    let starts = compare(STARTS, &folder, |_| Ok(Command::new("true")))?;
    let builds = compare(BUILDS, &folder, |folder| {
        let _ = fs::remove_dir_all(folder.join("target"));
        let mut command = Command::new("cargo");
        command.args(["build", "--quiet", "--offline"]).current_dir(folder);
        Ok(command)
    })?;
    fs::remove_dir_all(&folder)?;
    for (what, [free, confined]) in [("start", starts), ("cargo build", builds)] {
        let ratio = confined.as_secs_f64() / free.as_secs_f64();
        println!("{what}: {free:.1?} free, {confined:.1?} confined, ratio {ratio:.2}");
    }
    Ok(())
}

/// The median durations without and with confinement.
fn compare(
    rounds: usize,
    folder: &Path,
    command: impl Fn(&Path) -> Outcome<Command>,
) -> Outcome<[Duration; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for (confined, times) in times.iter_mut().enumerate() {
            let mut command = command(folder)?;
            let begin = Instant::now();
            if confined == 1 {
                confine_command(&mut command, &FileRules::writing([folder.to_owned()]))?;
            }
            let status = command.stdin(Stdio::null()).status()?;
            if !status.success() {
                return Err(format!("{command:?} failed").into());
            }
            times.push(begin.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }))
}
