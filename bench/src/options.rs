//! The driver's command line. It is written by the `compare` script, not by
//! people, so it is strict and short; `compare --help` is the one for people.

use crate::error::{BenchError, BenchResult, WithContext};
use std::path::PathBuf;

/// Everything the driver has to be told.
#[derive(Debug, Default)]
pub struct BenchOptions {
    /// The omx to be judged.
    pub omx: PathBuf,
    /// The Node.js that runs the existing systems.
    pub node: PathBuf,
    /// Where oh-my-codex is installed (the folder with `node_modules`).
    pub old_omx: PathBuf,
    /// Where oh-my-claude-sisyphus is installed.
    pub old_omc: PathBuf,
    /// oh-my-codex's native helper, without which it cannot write.
    pub helper: Option<PathBuf>,
    /// A throw-away folder on a real disk.
    pub work: PathBuf,
    /// How often each figure is taken.
    pub runs: usize,
    /// The rows wanted (`P4`…); empty: all.
    pub only: Vec<String>,
    /// Where the results go; nowhere when absent.
    pub results: Option<PathBuf>,
}

impl BenchOptions {
    /// Reads the arguments (without the program's name).
    ///
    /// # Errors
    /// For an unknown flag, a missing value or a missing required flag.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> BenchResult<Self> {
        let mut options = Self { runs: 15, ..Self::default() };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().context(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--omx" => options.omx = value.into(),
                "--node" => options.node = value.into(),
                "--old-omx" => options.old_omx = value.into(),
                "--old-omc" => options.old_omc = value.into(),
                "--helper" => options.helper = Some(value.into()),
                "--work" => options.work = value.into(),
                "--runs" => options.runs = value.parse().context(|| "--runs")?,
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--results" => options.results = Some(value.into()),
                _ => return Err(BenchError::new(format!("unknown flag {flag}"))),
            }
        }
        for (flag, path) in [
            ("--omx", &options.omx),
            ("--node", &options.node),
            ("--old-omx", &options.old_omx),
            ("--old-omc", &options.old_omc),
            ("--work", &options.work),
        ] {
            if path.as_os_str().is_empty() {
                return Err(BenchError::new(format!("{flag} is missing")));
            }
        }
        if options.runs == 0 {
            return Err(BenchError::new("--runs must be at least 1"));
        }
        Ok(options)
    }

    /// Whether the row is wanted.
    #[must_use]
    pub fn wants(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == row)
    }
}
