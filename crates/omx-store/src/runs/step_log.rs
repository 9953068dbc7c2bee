//! Logs of a run's steps, one file each. They are for people: omx bases no decision
//! on them, so they are not flushed, and a log that cannot be written stops nothing.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::dir::{open_file, open_or_make};
use crate::error::StoreError;

/// How much of the beginning of a log is kept.
const HEAD_BYTES: u64 = 512 * 1024;
/// How much of its end is kept.
const TAIL_BYTES: usize = 512 * 1024;

/// The name of a log, safe as a file name: at most 64 lowercase letters, digits, `-` and
/// `.`, not starting with either of the latter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLogName(String);

impl StepLogName {
    /// The name for a step. Characters that a name cannot have become `-`.
    pub fn new(step: &str) -> Self {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let name = step.trim_start_matches(['-', '.']).chars().take(64);
        let name: String = name.map(|c| if fits(c) { c } else { '-' }).collect();
        Self(if name.is_empty() { "step".to_owned() } else { name })
    }
}

/// An open log, empty at first. It keeps the beginning and the end of what is written to
/// it, and says how much is missing between them.
#[derive(Debug)]
pub struct StepLog {
    file: File,
    path: PathBuf,
    written: u64,
    /// The latest bytes, at least [`TAIL_BYTES`] of them if there are as many.
    recent: Vec<u8>,
}

impl StepLog {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, for a process that writes to it by itself.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Adds output. A disk that takes no more of it stops nothing.
    pub fn add(&mut self, bytes: &[u8]) {
        let room = usize::try_from(HEAD_BYTES.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let _ = self.file.write_all(bytes.get(..room).unwrap_or(bytes));
        self.written += bytes.len() as u64;
        self.recent.extend_from_slice(bytes);
        // Cut rarely, so that adding a byte does not move all others.
        if self.recent.len() > 2 * TAIL_BYTES {
            self.recent.drain(..self.recent.len() - TAIL_BYTES);
        }
    }

    /// The latest output, at most this many bytes and at most what the log keeps.
    pub fn last(&self, most: usize) -> &[u8] {
        self.recent.get(self.recent.len().saturating_sub(most)..).unwrap_or_default()
    }

    /// How many bytes were added.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the end.
    pub fn finish(mut self) -> io::Result<()> {
        let beyond = self.written.saturating_sub(HEAD_BYTES);
        let kept = usize::try_from(beyond).unwrap_or(usize::MAX).min(TAIL_BYTES);
        let dropped = beyond - kept as u64;
        if dropped > 0 {
            write!(self.file, "\n[{dropped} bytes of output were not kept]\n")?;
        }
        let tail = self.last(kept).to_vec();
        self.file.write_all(&tail)
    }
}

pub(super) fn open_step_log(
    folder: &OwnedFd,
    folder_path: &Path,
    name: &StepLogName,
) -> Result<StepLog, StoreError> {
    let path = folder_path.join("output");
    let output = open_or_make(folder, "output", &path)?;
    let name = format!("{}.log", name.0);
    let path = path.join(&name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = open_file(&output, &name, &path, flags)?
        .ok_or_else(|| StoreError::io("open", &path, io::ErrorKind::NotFound))?;
    Ok(StepLog { file, path, written: 0, recent: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(folder: &tempfile::TempDir) -> StepLog {
        let fd = File::open(folder.path()).unwrap().into();
        open_step_log(&fd, folder.path(), &StepLogName::new("c1.build.check1")).unwrap()
    }

    #[test]
    fn trust_3_5_a_log_keeps_the_beginning_and_the_end_and_counts_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        for lines in [0_u64, 1, 1_000, 87_000, 88_000, 400_000] {
            let mut log = log(&folder);
            let text = |line: u64| format!("line {line:06}\n");
            for line in 0..lines {
                log.add(text(line).as_bytes());
            }
            assert_eq!(
                log.last(12),
                text(lines.wrapping_sub(1)).as_bytes().get(..12 * usize::from(lines > 0)).unwrap()
            );
            log.finish().unwrap();
            let kept =
                std::fs::read_to_string(folder.path().join("output/c1.build.check1.log")).unwrap();
            assert!(kept.len() <= 1024 * 1024 + 100, "{}", kept.len());
            let total = lines * 12;
            match total.checked_sub(1024 * 1024).filter(|dropped| *dropped > 0) {
                None => assert_eq!(kept.len() as u64, total),
                Some(dropped) => {
                    assert!(
                        kept.contains(&format!("\n[{dropped} bytes of output were not kept]\n"))
                    );
                    assert!(kept.starts_with("line 000000\n") && kept.ends_with(&text(lines - 1)));
                }
            }
        }
    }

    #[test]
    fn names_of_logs_are_safe() {
        for (step, name) in [
            ("c1.build.check1", "c1.build.check1"),
            ("../x", "-x"),
            ("stage:Übung/1", "stage--bung-1"),
            ("", "step"),
            ("..", "step"),
        ] {
            assert_eq!(StepLogName::new(step).0, name);
        }
    }
}
