//! Carries a plan out. Nothing else in setup writes.
//!
//! The order is: the manifest that records the states before and after, then the
//! files one by one, each atomically, then the manifest of the new state. If the
//! process is killed at any point, the same command finishes the work.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use omx_store::{StoreError, change_file, change_file_below, flush_all};

use super::disk::{RealDisk, SetupDisk};
use super::manifest::Manifest;
use super::paths::SetupScope;
use super::planner::{SetupFileChange, SetupNote, SetupNoteKind, SetupPlan};

const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Another setup or uninstall is running.
    #[error("another setup or uninstall is running; try again when it has finished")]
    Busy,
    /// The manifest cannot be written, so nothing else is.
    #[error("cannot write {path}: {source}")]
    Manifest {
        /// The manifest or its folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The lock that is held while a plan is made and carried out.
#[derive(Debug)]
pub struct SetupLock {
    _folder: File,
    /// The folders that were created for manifests, outermost first.
    made: Vec<PathBuf>,
}

/// Waits until no other setup runs. It locks the folder of manifests itself, so no
/// lock file stays behind.
pub fn lock_setup(manifests: &Path, deadline: Duration) -> Result<SetupLock, ApplyError> {
    let fail = |source| ApplyError::Manifest { path: manifests.to_owned(), source };
    let start = Instant::now();
    let mut made: Vec<PathBuf> = Vec::new();
    loop {
        let missing = manifests.ancestors().take_while(|folder| !folder.is_dir());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        for folder in missing.into_iter().rev() {
            if !made.contains(&folder) {
                made.push(folder);
            }
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(manifests).map_err(fail)?;
        let folder = match File::open(manifests) {
            Ok(folder) => folder,
            // Another process has just removed the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(fail(error)),
        };
        match folder.try_lock() {
            Ok(()) if is_same_folder(&folder, manifests) => {
                return Ok(SetupLock { _folder: folder, made });
            }
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if start.elapsed() < deadline => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            Err(TryLockError::WouldBlock) => return Err(ApplyError::Busy),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
    }
}

fn is_same_folder(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (folder.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Carries a plan out and returns what could not be done. Writes nothing if there is
/// nothing to do.
pub fn apply(plan: &SetupPlan, held: &SetupLock) -> Result<Vec<SetupNote>, ApplyError> {
    let mut failed = Vec::new();
    let current = Manifest::load(&plan.manifest).ok().flatten();
    let mut after = plan.after.clone();
    let own = held.made.iter().filter(|folder| !after.folders.contains(folder)).cloned();
    after.folders.splice(0..0, own.collect::<Vec<_>>());
    if !plan.changes.is_empty() {
        let during = Manifest { folders: after.folders.clone(), ..plan.during.clone() };
        save(&plan.manifest, &during)?;
    }
    if current.as_ref().is_some_and(|current| current.unfinished) {
        remove_temporary_files(plan);
    }
    for change in &plan.changes {
        if let Err(why) = carry_out(change, &plan.after.folders, &plan.scope) {
            failed.push(SetupNote {
                kind: SetupNoteKind::Refused,
                path: change.path.clone(),
                text: why,
            });
            // Keep recording what may or may not be in the file.
            after.files.retain(|record| record.path != change.path);
            after.files.extend(plan.during.file(&change.path).cloned());
        }
    }
    if after.files.is_empty() {
        match fs::remove_file(&plan.manifest) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ApplyError::Manifest { path: plan.manifest.clone(), source: error });
            }
            _ => remove_folders(&mut after, &plan.manifest),
        }
        return Ok(failed);
    }
    remove_folders(&mut after, &plan.manifest);
    let is_new = current != Some(after.clone());
    if !plan.changes.is_empty() || is_new {
        save(&plan.manifest, &after)?;
    }
    Ok(failed)
}

/// Removes temporary files that a killed process left beside the person's files.
fn remove_temporary_files(plan: &SetupPlan) {
    for path in plan.during.files.iter().map(|record| &record.path) {
        if let SetupScope::Project(root) = &plan.scope
            && RealDisk.find_link(root, path).is_some()
        {
            continue;
        }
        let real = RealDisk.real(path);
        let Some(name) = real.file_name().and_then(|name| name.to_str()) else { continue };
        let left = real.with_file_name(format!(".{name}.tmp"));
        let is_free = File::open(&left).is_ok_and(|file| file.try_lock().is_ok());
        if is_free {
            let _ = fs::remove_file(&left);
        }
    }
}

fn save(path: &Path, manifest: &Manifest) -> Result<(), ApplyError> {
    let fail = |source| ApplyError::Manifest { path: path.to_owned(), source };
    let mut text = serde_json::to_string_pretty(manifest)
        .map_err(|error| fail(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    text.push('\n');
    create_private(path).map_err(fail)?;
    change_file::<StoreError>(path, Duration::from_secs(1), |_| Ok(text))
        .map_err(|error| fail(io::Error::other(error.to_string())))
}

/// Creates the manifest with its private mode before anything is written to it.
fn create_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn carry_out(change: &SetupFileChange, made: &[PathBuf], scope: &SetupScope) -> Result<(), String> {
    let stale = "it was changed in the meantime; run the command again";
    enum Failure {
        Stale,
        Store(StoreError),
    }
    impl From<StoreError> for Failure {
        fn from(error: StoreError) -> Self {
            Self::Store(error)
        }
    }
    let describe = |failure: Failure| match failure {
        Failure::Stale => stale.to_owned(),
        Failure::Store(error) => error.to_string(),
    };
    if let SetupScope::Project(root) = scope
        && change.path.starts_with(root)
    {
        let result = change_file_below(root, &change.path, |text| {
            if text == change.old.as_deref() { Ok(change.new.clone()) } else { Err(Failure::Stale) }
        });
        return result.map_err(describe);
    }
    // Keep the person's links: change the file they lead to.
    let real = RealDisk.real(&change.path);
    let Some(new) = &change.new else {
        if RealDisk.read(&real)? != change.old {
            return Err(stale.to_owned());
        }
        return remove(&change.path).map_err(|error| error.to_string());
    };
    for folder in made.iter().filter(|folder| change.path.starts_with(folder)) {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(format!("cannot create {}: {error}", folder.display()));
            }
            _ => {}
        }
    }
    let result = change_file(&real, Duration::from_secs(1), |text| {
        if text == change.old.as_deref().unwrap_or_default() {
            Ok(new.clone())
        } else {
            Err(Failure::Stale)
        }
    });
    result.map_err(describe)
}

/// Deletes a file, and the link that led to it if there was one.
fn remove(path: &Path) -> io::Result<()> {
    let real = RealDisk.real(path);
    for path in [real.as_path(), path] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if let Some(folder) = real.parent().and_then(|parent| File::open(parent).ok()) {
        flush_all(&folder)?;
    }
    Ok(())
}

/// Removes empty folders that omx created.
fn remove_folders(manifest: &mut Manifest, own: &Path) {
    let mut files: Vec<PathBuf> = manifest.files.iter().map(|record| record.path.clone()).collect();
    if !files.is_empty() {
        files.push(own.to_owned());
    }
    let mut folders = std::mem::take(&mut manifest.folders);
    folders.sort_by_key(|folder| folder.components().count());
    for folder in folders.into_iter().rev() {
        if files.iter().any(|file| file.starts_with(&folder)) {
            manifest.folders.insert(0, folder);
        } else {
            // It fails for a folder that holds files of others.
            let _ = fs::remove_dir(&folder);
        }
    }
}
