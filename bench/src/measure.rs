//! One measured run of one program, through the `probe` helper, with its
//! answer checked: a fast wrong answer is worth nothing.

use crate::error::{BenchError, BenchResult, WithContext};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub struct RunSample {
    /// Wall time, ms.
    pub wall: f64,
    /// User and system time, ms.
    pub cpu: f64,
    /// Largest resident set, MiB.
    pub rss: f64,
}

/// One program with its arguments, folder and additional environment.
#[derive(Clone, Debug)]
pub struct ProgramCall {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Environment on top of the driver's own clean one.
    pub environment: Vec<(String, String)>,
    /// What it reads; nothing, for most.
    pub input: Option<PathBuf>,
}

impl ProgramCall {
    /// For messages: the words of the command line, without folders.
    #[must_use]
    pub fn words(&self) -> String {
        let name = |word: &String| match Path::new(word).file_name() {
            Some(name) if word.starts_with('/') => name.to_string_lossy().into_owned(),
            _ => word.clone(),
        };
        self.argv.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// As a command for direct use (servers, storms).
    #[must_use]
    pub fn command(&self) -> Command {
        let (program, arguments) = match self.argv.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("", &[][..]),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// The probe helper and the file it puts answers into.
#[derive(Clone, Debug)]
pub struct ProbeRunner {
    /// The helper.
    pub program: PathBuf,
    /// Overwritten by each run.
    pub answer: PathBuf,
}

impl ProbeRunner {
    /// Runs it once; gives the figures and what it printed.
    ///
    /// # Errors
    /// When it cannot be run or does not end with exit code 0; the text then
    /// carries what it printed.
    pub fn run(&self, run: &ProgramCall) -> BenchResult<(RunSample, String)> {
        let input = match &run.input {
            Some(path) => File::open(path).context(|| format!("open {}", path.display()))?.into(),
            None => Stdio::null(),
        };
        let output = Command::new(&self.program)
            .arg(&self.answer)
            .args(&run.argv)
            .current_dir(&run.folder)
            .envs(run.environment.iter().map(|(name, value)| (name, value)))
            .stdin(input)
            .output()
            .context(|| format!("start {}", self.program.display()))?;
        if !output.status.success() {
            return Err(BenchError::new(String::from_utf8_lossy(&output.stderr).trim()));
        }
        let answer = read_text(&self.answer)?;
        let line = String::from_utf8_lossy(&output.stdout);
        let (sample, status) =
            parse(&line).context(|| format!("the probe answered {}", line.trim()))?;
        if status != 0 {
            return Err(BenchError::new(format!(
                "{}: wait status {status}: {}",
                run.words(),
                short(&answer)
            )));
        }
        Ok((sample, answer))
    }
}

/// A duration in the unit of the tables.
#[must_use]
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The first line or so of an answer, for messages.
#[must_use]
pub fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("");
    line.chars().take(160).collect()
}

fn read_text(path: &Path) -> BenchResult<String> {
    let bytes = std::fs::read(path).context(|| format!("read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parse(line: &str) -> Option<(RunSample, i32)> {
    let mut fields = line.split_whitespace();
    let wall: u64 = fields.next()?.parse().ok()?;
    let cpu: u64 = fields.next()?.parse().ok()?;
    let rss_kib: u32 = fields.next()?.parse().ok()?;
    let status = fields.next()?.parse().ok()?;
    let sample = RunSample {
        wall: milliseconds(Duration::from_nanos(wall)),
        cpu: milliseconds(Duration::from_nanos(cpu)),
        rss: f64::from(rss_kib) / 1024.0,
    };
    Some((sample, status))
}
