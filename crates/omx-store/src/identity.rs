//! Records of which sessions a host process has, outside any project. With them, a command
//! that an agent runs finds the session it belongs to.
//!
//! Each process has a folder, named by its pid and start time so that a reused pid cannot
//! match. The files in it are named by session.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use omx_kernel::SessionId;
use omx_process::{ProcessId, read_plain_file};
use rustix::fs::OFlags;

/// The maximum size of a record: a path.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// The folder of a process among the records.
pub fn record_folder(records: &Path, process: ProcessId) -> PathBuf {
    records.join(format!("{}.{}", process.pid, process.started))
}

fn parse_folder_name(name: &str) -> Option<ProcessId> {
    let (pid, started) = name.split_once('.')?;
    Some(ProcessId { pid: pid.parse().ok()?, started: started.parse().ok()? })
}

/// The sessions on record for a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostSessions {
    /// There is no record for the process.
    Unknown,
    /// It has exactly this session.
    One(SessionId),
    /// It has several, or none anymore, so the session is unknown.
    Unclear,
}

/// Records that a process has a session in a project.
pub fn record(
    records: &Path,
    process: ProcessId,
    session: &SessionId,
    root: &Path,
) -> std::io::Result<()> {
    let folder = record_folder(records, process);
    let path = folder.join(session.as_str());
    let text = root.as_os_str().as_encoded_bytes();
    let known = root.to_str().and_then(|_| read_plain_file(&path, MAX_RECORD_BYTES).ok());
    if known.is_some_and(|known| known.as_bytes() == text) {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut options = File::options();
    // Anything but a plain file of that name is not a record, and must not block.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    options.write(true).create(true).truncate(true).mode(0o600).custom_flags(flags);
    let mut file = options.open(path)?;
    file.write_all(text)
}

/// Removes the record of a session.
pub fn forget(records: &Path, process: ProcessId, session: &SessionId) {
    let folder = record_folder(records, process);
    let _ = fs::remove_file(folder.join(session.as_str()));
    // Fails, as it should, while other sessions are on record.
    let _ = fs::remove_dir(folder);
}

/// Removes the records of processes that are gone.
pub fn prune(records: &Path, is_alive: impl Fn(ProcessId) -> bool) {
    for entry in fs::read_dir(records).into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(parse_folder_name);
        if process.is_some_and(|process| !is_alive(process)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Reads the sessions in the folder of a process.
pub fn sessions(folder: &Path) -> HostSessions {
    let Ok(entries) = fs::read_dir(folder) else { return HostSessions::Unknown };
    let mut found = HostSessions::Unclear;
    for (index, entry) in entries.flatten().enumerate() {
        let session = entry.file_name().to_str().and_then(|name| SessionId::new(name).ok());
        found = match (index, session) {
            (0, Some(session)) => HostSessions::One(session),
            _ => return HostSessions::Unclear,
        };
    }
    found
}

/// Whether the process of a folder has this session, perhaps among others.
pub fn has_session(folder: &Path, session: &SessionId) -> bool {
    folder.join(session.as_str()).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::new(name).unwrap()
    }

    #[test]
    fn hosts_1_6_a_process_with_exactly_one_session_identifies_it() {
        let records = tempfile::tempdir().unwrap();
        let process = ProcessId { pid: 10, started: 77 };
        let folder = record_folder(records.path(), process);
        assert_eq!(sessions(&folder), HostSessions::Unknown);
        record(records.path(), process, &session("a"), Path::new("/p")).unwrap();
        assert_eq!(sessions(&folder), HostSessions::One(session("a")));
        record(records.path(), process, &session("b"), Path::new("/p")).unwrap();
        assert_eq!(sessions(&folder), HostSessions::Unclear);
        assert!(has_session(&folder, &session("a")) && !has_session(&folder, &session("c")));
        forget(records.path(), process, &session("a"));
        assert_eq!(sessions(&folder), HostSessions::One(session("b")));
        forget(records.path(), process, &session("b"));
        assert_eq!(sessions(&folder), HostSessions::Unknown);
    }

    #[test]
    fn hosts_1_6_records_of_processes_that_are_gone_are_removed() {
        let records = tempfile::tempdir().unwrap();
        let gone = ProcessId { pid: 10, started: 77 };
        let again = ProcessId { pid: 10, started: 99 };
        for process in [gone, again] {
            record(records.path(), process, &session("a"), Path::new("/p")).unwrap();
        }
        fs::create_dir(records.path().join("something else")).unwrap();
        prune(records.path(), |process| process == again);
        assert_eq!(sessions(&record_folder(records.path(), gone)), HostSessions::Unknown);
        assert_eq!(
            sessions(&record_folder(records.path(), again)),
            HostSessions::One(session("a"))
        );
        assert!(records.path().join("something else").exists());
    }
}
