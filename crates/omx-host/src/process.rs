//! The processes this one descends from, as the kernel tells them.

use std::fs;

use omx_store::identity::ProcessName;

/// Nobody's family is deeper.
const DEEPEST: usize = 64;

/// Programs a host runs its hooks with, and never the host itself.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "timeout"];

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Which process.
    pub process: ProcessName,
    /// The program's name, as far as the kernel keeps it.
    pub program: String,
}

/// The ancestors of this process, the nearest first.
pub fn ancestors() -> Vec<Ancestor> {
    let mut found = Vec::new();
    let mut next = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    while let Some(pid) = next.filter(|pid| *pid > 1)
        && found.len() < DEEPEST
        && let Some((ancestor, parent)) = look_at(pid)
    {
        found.push(ancestor);
        next = Some(parent);
    }
    found
}

/// The host that runs this hook: the nearest ancestor that is no shell.
pub fn host() -> Option<ProcessName> {
    let is_shell = |program: &str| SHELLS.contains(&program.trim_start_matches('-'));
    ancestors().into_iter().find(|found| !is_shell(&found.program)).map(|found| found.process)
}

/// Whether that very process still runs.
pub fn is_alive(process: ProcessName) -> bool {
    look_at(process.pid).is_some_and(|(found, _)| found.process == process)
}

/// A process and its parent's number.
fn look_at(pid: u32) -> Option<(Ancestor, u32)> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of the kernel's: number, name in parentheses (which may hold
/// anything), state, parent, …, start as the twenty-second field.
fn parse(pid: u32, stat: &str) -> Option<(Ancestor, u32)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, program) = before.split_once('(')?;
    let mut fields = after.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let process = ProcessName { pid, started };
    Some((Ancestor { process, program: program.to_owned() }, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let stat = "77 (a) b (c)) S 42 1 1 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 9876 1 2 3";
        let (ancestor, parent) = parse(77, stat).unwrap();
        assert_eq!(ancestor.program, "a) b (c)");
        assert_eq!((parent, ancestor.process.started), (42, 9876));
        assert!(parse(77, "77 (x) S").is_none());
    }

    #[test]
    fn this_process_has_a_living_parent() {
        let parent = ancestors().into_iter().next().unwrap();
        assert!(is_alive(parent.process));
        let older = ProcessName { started: parent.process.started - 1, ..parent.process };
        assert!(!is_alive(older));
    }
}
