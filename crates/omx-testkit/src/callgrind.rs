//! Instruction counts: a measure of speed that no busy machine disturbs.
//!
//! Counted is what runs below `omx::main`. That leaves out the loader and its
//! relocations, which every dependency moves, and the start of Rust's runtime,
//! which reads `/proc/self/maps` and so takes longer for a longer path. The
//! released binary has no names; the profile `counted` is the same with them.
//!
//! What could differ between two machines is kept equal: an environment of
//! three variables, a project and a program whose paths have always the same
//! length, and the plain variants of glibc's string functions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::binary::built;

/// Over the pin by this much is a failure.
const CEILING: f64 = 1.03;
/// Under it by this much is one, too: the pin guards nothing any more.
const FLOOR: f64 = 0.90;

/// The function below which is counted, as callgrind shows its name.
const FROM: &str = "omx::main";

/// Instruction counts, by the name of what was counted.
pub type InstructionCounts = BTreeMap<String, u64>;

/// The program as it is released, with names.
pub fn counted_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("counted"))
}

/// A project in a folder whose path is always equally long.
#[derive(Debug)]
pub struct CountedProject {
    folder: TempDir,
}

impl CountedProject {
    /// A new, empty one.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("omx-count-").tempdir_in("/tmp").unwrap();
        for name in ["home", "project"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(counted_binary(), folder.path().join("omx")).unwrap();
        Self { folder }
    }

    /// Writes a file below the project's root, with its folders.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("project").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The project's folder.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Runs the program once, uncounted.
    #[track_caller]
    pub fn run(&self, args: &[&str]) {
        let output = self.command(&self.program()).args(args).output().expect("omx runs");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// The number of instructions the program takes with these arguments, which
    /// must succeed.
    #[track_caller]
    pub fn instructions(&self, args: &[&str]) -> u64 {
        self.instructions_reading(args, "")
    }

    /// The same, with a text on its standard input.
    #[track_caller]
    pub fn instructions_reading(&self, args: &[&str], input: &str) -> u64 {
        let given = self.folder.path().join("input");
        fs::write(&given, input).unwrap();
        let out = self.folder.path().join("counts");
        let output = self
            .command(Path::new("valgrind"))
            .arg("--tool=callgrind")
            .arg(format!("--toggle-collect={FROM}"))
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(self.program())
            .args(args)
            .stdin(fs::File::open(&given).unwrap())
            .output()
            .expect("valgrind is missing; install it with: apt-get install valgrind");
        assert!(output.status.success(), "{args:?}: {output:?}");
        let counts = fs::read_to_string(out).expect("callgrind's counts");
        let total = counts.lines().find_map(|line| line.strip_prefix("totals:"));
        let count = total.and_then(|total| total.trim().parse().ok()).expect("a total");
        assert!(count > 0, "nothing was counted: no function named {FROM}");
        count
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("omx")
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path().join("project"))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.folder.path().join("home"))
            .env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-BMI2,-ERMS,-FSRM,-SSE4_2");
        command
    }
}

/// Instruction counts that were agreed on, in a committed file, for each architecture.
#[derive(Debug)]
pub struct PinnedCounts {
    path: PathBuf,
    all: BTreeMap<String, InstructionCounts>,
}

impl PinnedCounts {
    /// Reads the file; an absent one has no pins.
    pub fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|_| "{}".to_owned());
        let all = serde_json::from_str(&text).expect("pins are JSON");
        Self { path: path.to_owned(), all }
    }

    /// What is wrong with these counts, one line each.
    pub fn violations(&self, counts: &InstructionCounts) -> Vec<String> {
        let pins = self.all.get(std::env::consts::ARCH);
        counts
            .iter()
            .filter_map(|(name, count)| {
                let Some(pin) = pins.and_then(|pins| pins.get(name)) else {
                    return Some(format!("{name}: {count} instructions, no pin"));
                };
                let ratio = *count as f64 / *pin as f64;
                let change = (ratio - 1.0) * 100.0;
                let why = match ratio {
                    over if over > CEILING => "too many",
                    under if under < FLOOR => "so much better that the pin guards nothing",
                    _ => return None,
                };
                Some(format!("{name}: {count} instructions, pinned {pin} ({change:+.1} %): {why}"))
            })
            .collect()
    }

    /// Makes these counts the pins of this architecture.
    pub fn write(mut self, counts: &InstructionCounts) {
        self.all.insert(std::env::consts::ARCH.to_owned(), counts.clone());
        fs::create_dir_all(self.path.parent().unwrap()).unwrap();
        let text = serde_json::to_string_pretty(&self.all).unwrap();
        fs::write(&self.path, text + "\n").unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_a_count_is_held_between_ceiling_and_floor() {
        let counts = |count| InstructionCounts::from([("a".to_owned(), count)]);
        let all = BTreeMap::from([(std::env::consts::ARCH.to_owned(), counts(100_000))]);
        let pins = PinnedCounts { path: PathBuf::new(), all };
        for (count, fits) in
            [(103_000, true), (103_001, false), (90_000, true), (89_999, false), (100_000, true)]
        {
            assert_eq!(pins.violations(&counts(count)).is_empty(), fits, "{count}");
        }
        let unpinned = InstructionCounts::from([("b".to_owned(), 1)]);
        assert!(pins.violations(&unpinned)[0].contains("no pin"));
    }
}
