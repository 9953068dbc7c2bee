//! Linux: `/proc`, pidfds, the child subreaper, memfds.

use std::ffi::{CStr, CString, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, Mode, OFlags, RawDir, SeekFrom, memfd_create, open, seek};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
};

use crate::process_info::{MAX_ANCESTORS, ProcessId, ProcessInfo};
use crate::search_path::SearchPath;

/// A peer that is gone is an error, not a signal.
pub(crate) const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;
/// Received descriptors are closed in programs that this process starts.
pub(crate) const RECEIVE_FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC.union(RecvFlags::DONTWAIT);

/// Reads one process. `None` if there is no process with this pid.
pub(crate) fn read_process(pid: u32) -> Option<ProcessInfo> {
    parse_stat(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/<pid>/stat`. The program's name stands in parentheses and may itself
/// contain parentheses and spaces, so the fields are counted from the last `)`.
fn parse_stat(pid: u32, stat: &str) -> Option<ProcessInfo> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, program) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(15)?.parse().ok()?;
    Some(ProcessInfo {
        id: ProcessId { pid, started },
        parent,
        session,
        is_dead: matches!(state, "Z" | "X"),
        program: program.to_owned(),
    })
}

/// The outermost process with this name among a process and its ancestors. Commands that
/// agents call all the time ask this, so it reads little and allocates nothing.
pub(crate) fn find_outermost_named(pid: u32, name: &str) -> Option<u32> {
    let mut found = None;
    let mut pid = pid;
    for _ in 0..MAX_ANCESTORS {
        let mut path = [0; 32];
        let mut rest = &mut path[..];
        write!(rest, "/proc/{pid}/stat\0").ok()?;
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        // Pid, name, state and parent take at most 45 bytes.
        let mut line = [0; 64];
        let Ok(file) = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { break };
        let Ok(length) = rustix::io::read(&file, &mut line[..]) else { break };
        let line = &line[..length];
        let Some(end) = line.iter().rposition(|&byte| byte == b')') else { break };
        let Some(start) = line.iter().position(|&byte| byte == b'(') else { break };
        if line.get(start + 1..end) == Some(name.as_bytes()) {
            found = Some(pid);
        }
        // After the name: the state, then the parent.
        let parent = line[end + 1..].split(|&byte| byte == b' ').nth(2);
        let parent = parent.and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        match parent {
            Some(parent) if parent > 0 => pid = parent,
            _ => break,
        }
    }
    found
}

/// Reads every process. Empty where the table cannot be read.
pub(crate) fn list_processes() -> Vec<ProcessInfo> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(read_process).collect()
}

/// The direct children of this process, whichever of its threads started or adopted them.
/// Takes microseconds, unlike a walk over the whole table. `None` if the kernel was built
/// without the list.
pub(crate) fn list_own_children() -> Option<Vec<u32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Some(children)
}

/// The environment a process was started with: entries separated by zero bytes.
/// Empty if it cannot be read.
pub(crate) fn read_environment(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// The command line of a process: words that end with zero bytes. Empty if it cannot be
/// read.
pub(crate) fn read_command_line(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Sets the name of this process in the process table.
pub(crate) fn set_process_name(name: &str) {
    // The name is one of our own, without a zero byte.
    if let Ok(name) = CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
}

/// The working directory of a process.
pub fn read_working_directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The first mount point at or below a folder, without links in its path; `None` also if
/// the system does not say.
pub fn find_mount_below(folder: &Path) -> Option<PathBuf> {
    let mounts = fs::read("/proc/self/mountinfo").ok()?;
    let points = mounts.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(OsString::from_vec(unescape_octal(point))))
    });
    points.into_iter().find(|point| point.starts_with(folder))
}

/// Undoes the escapes of a kernel table: a backslash and three octal digits.
fn unescape_octal(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// The processes that hold an exclusive lock on a whole file with this inode; `None` if the
/// system does not say. Nobody can forge it: it is the kernel's own list.
pub fn exclusive_lock_holders(inode: u64) -> Option<Vec<u32>> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let suffix = format!(":{inode}");
    let holder = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A process that waits for a lock has an arrow before the kind.
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words[..] else { return None };
        file.ends_with(&suffix).then(|| pid.parse().ok()).flatten()
    };
    Some(locks.lines().filter_map(holder).collect())
}

/// Whether a process runs the same program file as this one.
pub fn is_this_program(pid: u32) -> bool {
    let file = |name: &str| {
        let data = fs::metadata(format!("/proc/{name}/exe")).ok()?;
        Some((data.dev(), data.ino()))
    };
    file("self").is_some_and(|own| file(&pid.to_string()) == Some(own))
}

/// The program file of a process. The name of a file that was replaced or removed
/// since the start comes without the kernel's ` (deleted)` suffix.
pub fn read_executable(pid: u32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    match path.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
        Some(text) => Some(text.into()),
        None => Some(path),
    }
}

/// The id of this boot. Pids and start times mean nothing in another one.
pub fn read_boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// An open handle to a process. It refers to that process even after its pid was
/// reused, and becomes readable for `poll` when the process exits.
#[derive(Debug)]
pub struct ProcessHandle(OwnedFd);

impl ProcessHandle {
    /// Opens a handle to whichever process has this pid now. Compare the start time
    /// afterwards ([`ProcessId::is_running`]) to know that it is the expected one.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, signal)?)
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A command that runs a program in a session of its own, so that it survives the terminal
/// and the process that started it. Add the program's arguments and streams to it.
pub fn detached_command(program: &Path, path: &SearchPath) -> Command {
    // A new session needs a call between fork and exec, which only unsafe code can make
    // from here.
    let helper = path.find("setsid").unwrap_or_else(|| "setsid".into());
    let mut command = Command::new(helper);
    command.arg(program);
    command
}

/// Makes this process a child subreaper: a process below it that loses its parent
/// becomes its child.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// The descriptors that are open in this process, including the one that was used to
/// list them, which is closed on return.
pub(crate) fn list_open_descriptors() -> Vec<RawFd> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A file without a name, gone when it is closed.
pub fn anonymous_file(label: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(label, MemfdFlags::CLOEXEC)?))
}

/// What `parse` makes of the names in an open directory, without `.` and `..`. Reads
/// through the descriptor itself: opening the directory once more would double the cost
/// of listing many.
pub fn directory_names<T>(
    directory: impl AsFd,
    mut parse: impl FnMut(&CStr) -> Option<T>,
) -> io::Result<Vec<T>> {
    seek(&directory, SeekFrom::Start(0))?;
    let mut buffer = [MaybeUninit::uninit(); 8 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.extend(parse(name));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_may_contain_parentheses_and_spaces() {
        let stat = "77 (a) b (c)) S 42 6 5 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 9876 1 2 3";
        let expected = ProcessInfo {
            id: ProcessId { pid: 77, started: 9876 },
            parent: 42,
            session: 5,
            is_dead: false,
            program: "a) b (c)".to_owned(),
        };
        assert_eq!(parse_stat(77, stat), Some(expected));
    }

    #[test]
    fn a_truncated_line_is_no_process() {
        assert_eq!(parse_stat(77, "77 (x) S"), None);
        assert_eq!(parse_stat(77, ""), None);
    }

    #[test]
    fn a_replaced_program_is_named_without_the_suffix_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("sleeper");
        fs::copy("/bin/sleep", &program).unwrap();
        let mut child = Command::new(&program).arg("60").spawn().unwrap();
        fs::remove_file(&program).unwrap();
        let found = read_executable(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, Some(program.canonicalize().unwrap_or(program)));
    }
}
