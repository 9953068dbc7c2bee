//! Confinement: which files a guarded program may change, and which it may not read.
//!
//! The guard applies the rules between fork and exec, so they hold for the program and
//! for everything it starts, for good. A program that cannot be confined as described is
//! not started at all.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::command_output::{CommandLimits, KeptOutput, Leftovers, run_with_deadline};
use crate::platform::{LandlockSupport, Restriction, landlock_support};

/// The first Landlock version that also refuses to truncate files. An older one would
/// let a program empty any file, which is no confinement.
pub const OLDEST_LANDLOCK: u32 = 3;

/// How long bubblewrap may take to prove that it works.
const TRIAL: Duration = Duration::from_secs(5);

/// The files that a confined program may change, and those it may not read. Everything
/// else is readable and executable, and cannot be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// Folders and files that may be changed. They must exist. A folder that is removed
    /// and made again is no longer writable.
    pub writable: Vec<PathBuf>,
    /// Folders and files whose content cannot be read. They must exist.
    pub hidden: Vec<PathBuf>,
}

/// Devices that programs may use, as far as they exist: without `/dev/shm` there are no
/// semaphores. Not `/dev/pts`: the person's terminals are there.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"];

impl FileRules {
    /// Rules under which a program can change these paths and use ordinary devices.
    pub fn writing(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let devices = DEVICES.iter().map(PathBuf::from).filter(|device| device.exists());
        Self { writable: paths.into_iter().chain(devices).collect(), hidden: Vec::new() }
    }
}

/// How a guarded program is confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Not at all: it can change whatever the person can.
    #[default]
    Unconfined,
    /// By Landlock.
    Landlock(FileRules),
    /// By bubblewrap, which is this program.
    Bubblewrap(PathBuf, FileRules),
}

impl Confinement {
    /// Confines by these means, or not at all without any.
    pub fn new(means: &ConfinementMeans, rules: FileRules) -> Self {
        match means {
            ConfinementMeans::Landlock(_) => Self::Landlock(rules),
            ConfinementMeans::Bubblewrap(program) => Self::Bubblewrap(program.clone(), rules),
            ConfinementMeans::Missing(_) => Self::Unconfined,
        }
    }

    /// The rules that the guard itself applies.
    pub(crate) fn guard_rules(&self) -> Option<&FileRules> {
        match self {
            Self::Landlock(rules) => Some(rules),
            Self::Unconfined | Self::Bubblewrap(..) => None,
        }
    }

    /// The command line that runs a program: its own, or bubblewrap's.
    pub(crate) fn command_line(&self, program: &Path, args: &[OsString]) -> Vec<OsString> {
        let own = [program.as_os_str().to_owned()].into_iter().chain(args.iter().cloned());
        match self {
            Self::Unconfined | Self::Landlock(_) => own.collect(),
            Self::Bubblewrap(bubblewrap, rules) => {
                let mut line = vec![bubblewrap.clone().into()];
                line.extend(bubblewrap_args(rules));
                line.push("--".into());
                line.extend(own);
                line
            }
        }
    }
}

/// Bubblewrap's view of the rules: everything read-only, then the exceptions. Later
/// arguments cover earlier ones.
fn bubblewrap_args(rules: &FileRules) -> Vec<OsString> {
    let mut args: Vec<OsString> =
        ["--die-with-parent", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev"]
            .map(OsString::from)
            .into();
    for path in &rules.hidden {
        if path.is_dir() {
            args.extend(["--tmpfs".into(), path.into()]);
        } else {
            args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
        }
    }
    for path in rules.writable.iter().filter(|path| !path.starts_with("/dev")) {
        args.extend(["--bind".into(), path.into(), path.into()]);
    }
    args
}

/// Makes a command confine its program by Landlock, without a guard. The error says why
/// the kernel cannot do it; then the command is as it was.
pub fn confine_command(command: &mut Command, rules: &FileRules) -> Result<(), String> {
    Restriction::prepare(rules).map(|restriction| restriction.apply_to(command))
}

/// What this system can confine programs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfinementMeans {
    /// The kernel's Landlock, in this version.
    Landlock(u32),
    /// Bubblewrap, which is this program.
    Bubblewrap(PathBuf),
    /// Nothing, for this reason.
    Missing(String),
}

impl fmt::Display for ConfinementMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock(version) => write!(f, "the kernel (Landlock {version})"),
            Self::Bubblewrap(_) => f.write_str("bubblewrap"),
            Self::Missing(why) => f.write_str(why),
        }
    }
}

/// Finds out what this system can confine programs with. Bubblewrap counts only if it
/// starts a program here: some systems forbid what it needs.
pub fn find_confinement(bubblewrap: Option<&Path>) -> ConfinementMeans {
    let kernel = match landlock_support() {
        LandlockSupport::Version(version) if version >= OLDEST_LANDLOCK => {
            return ConfinementMeans::Landlock(version);
        }
        LandlockSupport::Version(version) => {
            format!("this kernel's Landlock is too old (version {version})")
        }
        LandlockSupport::NotEnabled => "Landlock is switched off in this kernel".to_owned(),
        LandlockSupport::NotImplemented => "this kernel has no Landlock".to_owned(),
    };
    match bubblewrap.map(|program| (program, try_bubblewrap(program))) {
        None => ConfinementMeans::Missing(format!("{kernel} and bubblewrap is not installed")),
        Some((program, Ok(()))) => ConfinementMeans::Bubblewrap(program.to_owned()),
        Some((_, Err(why))) => {
            ConfinementMeans::Missing(format!("{kernel} and bubblewrap does not work: {why}"))
        }
    }
}

/// Whether bubblewrap can start a program here, or why not.
pub fn try_bubblewrap(program: &Path) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(bubblewrap_args(&FileRules::default())).args(["--", "true"]);
    let limits = CommandLimits {
        deadline: TRIAL,
        grace: Duration::ZERO,
        drain: Duration::from_millis(300),
        stdout: KeptOutput::First(0),
        stderr: KeptOutput::First(400),
        leftovers: Leftovers::Kill,
    };
    let output = run_with_deadline(&mut command, &[], limits).map_err(|error| error.to_string())?;
    match output.status {
        Some(status) if status.success() => Ok(()),
        Some(_) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        None => Err("it did not exit in time".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bubblewrap_sees_exceptions_after_the_read_only_root() {
        let rules = FileRules {
            writable: vec!["/work/tree".into(), "/dev/null".into()],
            hidden: vec!["/nonexistent/.netrc".into()],
        };
        let confinement = Confinement::Bubblewrap("/usr/bin/bwrap".into(), rules);
        let line = confinement.command_line(Path::new("/bin/sh"), &["-c".into(), "x".into()]);
        let line: Vec<_> = line.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            line.join(" "),
            "/usr/bin/bwrap --die-with-parent --ro-bind / / --dev-bind /dev /dev \
             --ro-bind /dev/null /nonexistent/.netrc --bind /work/tree /work/tree -- /bin/sh -c x"
        );
    }
}
