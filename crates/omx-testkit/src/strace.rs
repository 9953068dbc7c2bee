//! The program under strace: what it asks of the kernel, and what happens when
//! it is killed, stopped or refused at one of those calls.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::project::TestProject;
use crate::run::CommandOutcome;

/// Calls that touch the file system, and the last one. A question mark lets
/// strace go on where a machine does not have the call.
const WATCHED: [&str; 26] = [
    "openat",
    "mkdir",
    "mkdirat",
    "write",
    "pwrite64",
    "writev",
    "fdatasync",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "flock",
    "ftruncate",
    "fchmod",
    "close",
    "read",
    "pread64",
    "getdents64",
    "fstat",
    "newfstatat",
    "linkat",
    "symlinkat",
    "exit_group",
];

/// One system call of a run.
#[derive(Clone, Debug)]
pub struct Syscall {
    /// Its name.
    pub name: String,
    /// The number of the call among those of that name, from 1.
    pub nth: usize,
    /// As strace prints it, with the paths of open files.
    pub text: String,
}

/// What is done to a run at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// It is killed before the call is carried out.
    Kill,
    /// It is stopped there, as by Ctrl-Z.
    Stop,
    /// The call fails with this error and nothing else happens.
    Error(&'static str),
}

impl Syscall {
    /// Whether it may change a file or a lock.
    pub fn is_mutating(&self) -> bool {
        match self.name.as_str() {
            "openat" => self.text.contains("O_CREAT"),
            "close" | "read" | "pread64" | "getdents64" | "fstat" | "newfstatat" | "exit_group" => {
                false
            }
            _ => true,
        }
    }

    /// Whether it prints the answer.
    pub fn is_answer(&self) -> bool {
        self.name == "write" && self.text.starts_with("write(1<")
    }

    /// The paths it names, in order: those of open files, and names inside
    /// open folders joined to them.
    pub fn paths(&self) -> Vec<String> {
        let arguments = self.text.split_once(") = ").map_or(self.text.as_str(), |(call, _)| call);
        let has_names = !matches!(self.name.as_str(), "write" | "pwrite64" | "read" | "pread64");
        let mut paths: Vec<String> = Vec::new();
        let mut rest = arguments;
        while let Some(at) = rest.find(['<', '"']) {
            let (end, is_name) =
                if rest.as_bytes()[at] == b'<' { ('>', false) } else { ('"', true) };
            let inner = &rest[at + 1..];
            let Some(length) = inner.find(end) else { break };
            let found = &inner[..length];
            match paths.last_mut() {
                Some(folder) if is_name && has_names && !found.is_empty() => {
                    *folder = Path::new(folder.as_str()).join(found).display().to_string();
                }
                _ if is_name => {}
                _ => paths.push(found.to_owned()),
            }
            if is_name && !has_names {
                break;
            }
            rest = &inner[length + 1..];
        }
        paths
    }
}

/// Runs the program and lists its calls on files of this test, its answer and its end.
#[track_caller]
pub fn trace(project: &TestProject, args: &[&str]) -> (CommandOutcome, Vec<Syscall>) {
    trace_reading(project, args, Path::new("/dev/null"))
}

/// The same, with a file as its standard input.
#[track_caller]
pub fn trace_reading(
    project: &TestProject,
    args: &[&str],
    input: &Path,
) -> (CommandOutcome, Vec<Syscall>) {
    let log = project.folder().join("trace");
    let outcome = run(project, args, &log, None, input);
    let folder = project.folder().display().to_string();
    let mut counts = std::collections::BTreeMap::new();
    let mut calls = Vec::new();
    for line in std::fs::read_to_string(&log).expect("a trace").lines() {
        let Some((_, text)) = line.split_once(' ') else { continue };
        let text = text.trim_start();
        let Some((name, _)) = text.split_once('(') else { continue };
        if !WATCHED.contains(&name) {
            continue;
        }
        let nth = counts.entry(name.to_owned()).and_modify(|count| *count += 1).or_insert(1);
        let call = Syscall { name: name.to_owned(), nth: *nth, text: text.to_owned() };
        let is_ours = call.paths().iter().any(|path| path.starts_with(&folder));
        if is_ours || call.is_answer() || name == "exit_group" {
            calls.push(call);
        }
    }
    assert!(!calls.is_empty(), "nothing was traced: {outcome:?}");
    (outcome, calls)
}

/// Runs the program with something done to it at one call.
#[track_caller]
pub fn inject(
    project: &TestProject,
    args: &[&str],
    call: &Syscall,
    injection: Injection,
) -> CommandOutcome {
    inject_reading(project, args, call, injection, Path::new("/dev/null"))
}

/// The same, with a file as its standard input.
#[track_caller]
pub fn inject_reading(
    project: &TestProject,
    args: &[&str],
    call: &Syscall,
    injection: Injection,
    input: &Path,
) -> CommandOutcome {
    run(project, args, Path::new("/dev/null"), Some(rule(call, injection)), input)
}

/// The command that runs the program so, its trace going to a file.
pub fn injected(project: &TestProject, args: &[&str], log: &Path, rule: Option<String>) -> Command {
    let watched: Vec<String> = WATCHED.iter().map(|name| format!("?{name}")).collect();
    let mut command = project.command("strace");
    command.args(["-f", "-y", "-s", "4096", "-o"]).arg(log);
    command.arg("-e").arg(format!("trace={}", watched.join(",")));
    if let Some(rule) = rule {
        command.arg("-e").arg(rule);
    }
    command.arg(project.binary()).args(args);
    command
}

/// strace's syntax for an injection.
pub fn rule(call: &Syscall, injection: Injection) -> String {
    let Syscall { name, nth, .. } = call;
    match injection {
        Injection::Kill => format!("inject={name}:signal=KILL:when={nth}"),
        Injection::Stop => format!("inject={name}:signal=STOP:when={nth}"),
        Injection::Error(error) => format!("inject={name}:error={error}:when={nth}"),
    }
}

#[track_caller]
fn run(
    project: &TestProject,
    args: &[&str],
    log: &Path,
    rule: Option<String>,
    input: &Path,
) -> CommandOutcome {
    let output = injected(project, args, log, rule)
        .stdin(std::fs::File::open(input).expect("the input is there"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .unwrap_or_else(|error| panic!("strace does not run ({error}); apt-get install strace"));
    let signal = output.status.signal();
    let outcome = CommandOutcome::from(output);
    let is_refused = outcome.stderr.lines().any(|line| line.starts_with("strace: "));
    assert!(!is_refused && (signal.is_none() || signal == Some(9)), "strace: {outcome:?}");
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Syscall {
        Syscall { name: text.split('(').next().unwrap().into(), nth: 1, text: text.into() }
    }

    #[test]
    fn paths_of_calls_are_found() {
        let rename = call(r#"renameat(7</p/s>, ".a.tmp", 7</p/s>, "a") = 0"#);
        assert_eq!(rename.paths(), ["/p/s/.a.tmp", "/p/s/a"]);
        let write = call(r#"write(6</p/.a.tmp>, "{\"b\": \"<c>\"}", 12) = 12"#);
        assert_eq!(write.paths(), ["/p/.a.tmp"]);
        let open = call(r#"openat(AT_FDCWD</p>, "/q/a", O_RDONLY) = 3</q/a>"#);
        assert_eq!(open.paths(), ["/q/a"]);
        assert!(!open.is_mutating());
        assert_eq!(call("fsync(3</p>) = 0").paths(), ["/p"]);
    }
}
