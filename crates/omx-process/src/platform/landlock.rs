//! Linux: confinement by Landlock.
//!
//! Only writing is restricted, and reading where something is hidden; execution and
//! device ioctls stay free. Landlock knows no exception below a permitted folder, so a
//! hidden file is one that no rule covers: every sibling on the way to it gets a rule.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::capabilities::drop_capabilities;
use crate::confinement::FileRules;

/// File rights up to here are required; without one of them a program is not confined.
const REQUIRED: ABI = ABI::V3;
/// Rights and scopes up to here are used where the kernel has them.
const KNOWN: ABI = ABI::V7;

/// What the kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandlockSupport {
    /// Landlock in this version.
    Version(u32),
    /// Landlock is built in, but not enabled at boot.
    NotEnabled,
    /// The kernel has no Landlock, or a container's filter refuses its calls.
    NotImplemented,
}

/// Asks the kernel for its version of Landlock.
pub fn landlock_support() -> LandlockSupport {
    // The library reports the version only to a restricted thread, so one that exits
    // right away restricts itself.
    let probe = std::thread::spawn(|| {
        let ruleset = Ruleset::default().handle_access(AccessFs::MakeBlock).ok()?;
        Some(ruleset.create().ok()?.restrict_self().ok()?.landlock)
    });
    match probe.join().ok().flatten() {
        Some(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            let newer = kernel_abi.and_then(|version| u32::try_from(version).ok());
            LandlockSupport::Version(newer.unwrap_or(effective_abi as u32))
        }
        Some(LandlockStatus::NotEnabled) => LandlockSupport::NotEnabled,
        Some(LandlockStatus::NotImplemented) | None => LandlockSupport::NotImplemented,
    }
}

/// Rules that are ready to be applied to a child.
#[derive(Debug)]
pub(crate) struct Restriction(RulesetCreated);

impl Restriction {
    /// Prepares the rules. The error says which one cannot be applied.
    pub(crate) fn prepare(rules: &FileRules) -> Result<Self, String> {
        let unsupported = |error: &dyn std::fmt::Display| format!("the kernel refused: {error}");
        let writes = AccessFs::from_write(KNOWN) & !BitFlags::from(AccessFs::IoctlDev);
        let mut handled = writes;
        if !rules.hidden.is_empty() {
            handled |= AccessFs::ReadFile;
        }
        let required = handled & AccessFs::from_all(REQUIRED);
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(required)
            .map_err(|error| unsupported(&error))?
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::from_all(KNOWN))
            .map_err(|error| unsupported(&error))?
            .create()
            .map_err(|error| unsupported(&error))?
            .set_compatibility(CompatLevel::HardRequirement);
        // A device node would lead around every rule, and root can make one.
        let granted = required & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        for path in &rules.writable {
            let opened = PathFd::new(path).map_err(|error| failed(path, &error))?;
            ruleset = permit(ruleset, path, opened, granted)?;
        }
        if !rules.hidden.is_empty() {
            for path in readable_around(&rules.hidden)? {
                // What others removed in the meantime needs no rule.
                let Ok(opened) = PathFd::new(&path) else { continue };
                ruleset = permit(ruleset, &path, opened, AccessFs::ReadFile.into())?;
            }
        }
        Ok(Self(ruleset))
    }

    /// Makes a command apply the rules to its process, right before its program starts.
    pub(crate) fn apply_to(self, command: &mut Command) {
        let mut prepared = Some(self.0);
        let restrict = move || -> io::Result<()> {
            let Some(ruleset) = prepared.take() else { return Err(io::ErrorKind::Other.into()) };
            drop_capabilities()?;
            match ruleset.restrict_self() {
                Ok(status) if status.ruleset != RulesetStatus::NotEnforced => Ok(()),
                Ok(_) => Err(io::Error::from(rustix::io::Errno::NOSYS)),
                Err(_) => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: the closure only makes system calls on what was prepared before; it neither
        // allocates nor locks, so it may run between fork and exec also if there are threads.
        #[expect(unsafe_code, reason = "only the child itself can give up its rights")]
        unsafe {
            command.pre_exec(restrict);
        }
    }
}

/// Adds a rule for a folder and everything below it, or for a single file.
fn permit(
    ruleset: RulesetCreated,
    path: &Path,
    opened: PathFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let is_folder = rustix::fs::fstat(opened.as_fd())
        .map(|data| rustix::fs::FileType::from_raw_mode(data.st_mode).is_dir())
        .map_err(|error| failed(path, &error))?;
    // A right that only a folder can have is an error for a file.
    let access = if is_folder { access } else { access & AccessFs::from_file(KNOWN) };
    ruleset.add_rule(PathBeneath::new(opened, access)).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> String {
    format!("{}: {why}", path.display())
}

/// Everything that is beside the way to a hidden path, so that all of it together is
/// everything but the hidden paths. Links are left out: a rule for one would permit its
/// target, which may be hidden.
fn readable_around(hidden: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut ways = BTreeSet::new();
    let mut goals = BTreeSet::new();
    for path in hidden {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        let path = path.canonicalize().map_err(failed)?;
        ways.extend(path.ancestors().skip(1).map(Path::to_owned));
        goals.insert(path);
    }
    let mut readable = Vec::new();
    // A folder below a hidden one is hidden with it.
    for folder in ways.iter().filter(|way| !way.ancestors().any(|above| goals.contains(above))) {
        let failed = |error: io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !ways.contains(&path) && !goals.contains(&path) {
                readable.push(path);
            }
        }
    }
    Ok(readable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_3_0c_siblings_of_a_hidden_file_stay_readable_and_links_get_no_rule() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in [".ssh", "work", ".config/gh"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join(".netrc"), "").unwrap();
        fs::write(home.join(".profile"), "").unwrap();
        std::os::unix::fs::symlink(".ssh", home.join("keys")).unwrap();
        let hidden = [".ssh", ".netrc", ".config/gh"].map(|name| home.join(name));
        let readable: BTreeSet<_> = readable_around(&hidden).unwrap().into_iter().collect();
        let below: Vec<_> = readable.iter().filter(|path| path.starts_with(&home)).collect();
        assert_eq!(below, [&home.join(".profile"), &home.join("work")]);
        assert!(readable.contains(Path::new("/usr")));
        assert!(readable_around(&[home.join("missing")]).is_err());
    }
}
