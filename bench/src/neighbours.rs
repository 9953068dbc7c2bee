//! What other programs did to the machine while a section was measured. On two
//! cores a neighbour's build doubles every wall time; a result that hides this
//! cannot be judged.

use std::fs::read_to_string;

/// Processor time, in ticks, at one moment.
#[derive(Clone, Copy, Debug)]
pub struct CpuTimes {
    all: u64,
    busy: u64,
    own: u64,
}

impl CpuTimes {
    /// Now; zeroes where the kernel does not say.
    #[must_use]
    pub fn start() -> Self {
        let (all, busy) =
            read_to_string("/proc/stat").ok().and_then(|text| machine(&text)).unwrap_or_default();
        let own =
            read_to_string("/proc/self/stat").ok().and_then(|text| own(&text)).unwrap_or_default();
        Self { all, busy, own }
    }

    /// The share of the whole machine used since `self` by anything but the
    /// driver and what it has started and waited for, in percent.
    #[must_use]
    pub fn others(&self) -> u64 {
        let now = Self::start();
        let busy = now.busy.saturating_sub(self.busy);
        let own = now.own.saturating_sub(self.own);
        let all = now.all.saturating_sub(self.all).max(1);
        (100 * busy.saturating_sub(own) / all).min(100)
    }
}

/// All ticks and the busy ones, from `/proc/stat`. Time stolen by the host
/// counts as busy: it is missing here as well.
fn machine(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    // user nice system idle iowait irq softirq steal; guest time is in user.
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let waiting: u64 = ticks.iter().skip(3).take(2).sum();
    Some((all, all - waiting))
}

/// Ticks of this process and its children, from `/proc/self/stat`. The
/// program's name, which may hold anything, ends at the last parenthesis.
fn own(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::{machine, own};

    #[test]
    fn the_kernels_columns() {
        assert_eq!(machine("cpu  10 1 5 100 20 2 3 4 0 0\ncpu0 1"), Some((145, 25)));
        assert_eq!(own("7 (a) b) S 1 7 7 0 -1 4194304 5 6 7 8 100 20 3000 4 20 0"), Some(3124));
    }
}
