//! The last resort: processes found by the mark in their environment.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::tree::{send, started};

/// Kills every process of ours whose environment carries this mark, and tells
/// how many are left after the deadline. Only for when a guard was killed: a
/// process can change its environment, but not its parents.
pub fn sweep(variable: &str, mark: &str, patience: Duration) -> usize {
    let deadline = Instant::now() + patience;
    loop {
        let found = marked(variable, mark);
        for &(pid, begun) in &found {
            send(pid, begun, Signal::KILL);
        }
        if found.is_empty() || Instant::now() >= deadline {
            return found.len();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn marked(variable: &str, mark: &str) -> Vec<(i32, u64)> {
    let wanted = format!("{variable}={mark}");
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    pids.filter(carries).filter_map(|pid| Some((pid, started(pid)?))).collect()
}
