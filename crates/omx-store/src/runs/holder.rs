//! Who holds a run's lock: enough to send a signal to the right process and to
//! no other. Whether a run is alive is never decided by it; the lock decides.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process, told apart from every other that had or will have its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// When it was started, in the kernel's own count; unknown outside Linux.
    pub started: Option<u64>,
    /// Since which start of the machine the two above mean something.
    pub boot: Option<String>,
}

impl Holder {
    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        Self { pid, started: started(pid), boot: boot() }
    }

    /// Whether exactly this process runs now. To signal it, open a handle to
    /// it first and ask then: a handle cannot change hands.
    pub fn is_running(&self) -> bool {
        self.started.is_some() && self.boot == boot() && started(self.pid) == self.started
    }
}

/// The name in a process's `stat` stands in brackets and may hold anything,
/// brackets too; the time of its start is the twentieth field after them.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    if is_dead { None } else { fields.nth(18)?.parse().ok() }
}

fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}
