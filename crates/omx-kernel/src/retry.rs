//! When to retry what failed for reasons outside: a limit of the vendor, a network that
//! is gone, a service that is down.

use crate::time::Timestamp;

/// The first pause, and the longest.
const FIRST_PAUSE_MS: u64 = 1_000;
const LONGEST_PAUSE_MS: u64 = 5 * 60_000;

/// A series of failures without progress in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureSeries {
    first: Option<Timestamp>,
    failures: u32,
}

impl FailureSeries {
    /// Adds a failure and returns when to retry. `reset` is the vendor's own hint; it is
    /// followed however far away it is. Without one, or with one that is already past,
    /// pauses double from one second to five minutes until `patience_ms` have passed since
    /// the first failure. `None` means that patience has run out.
    #[must_use]
    pub fn next_retry(
        &mut self,
        reset: Option<Timestamp>,
        patience_ms: u64,
        now: Timestamp,
    ) -> Option<Timestamp> {
        if let Some(reset) = reset.filter(|reset| *reset > now) {
            // A vendor that keeps to its word is not a failure.
            *self = Self::default();
            return Some(reset);
        }
        let first = *self.first.get_or_insert(now);
        let pause = FIRST_PAUSE_MS.saturating_mul(1 << self.failures.min(20));
        self.failures = self.failures.saturating_add(1);
        let waited = u64::try_from(now.millis_since(first)).unwrap_or_default();
        (waited < patience_ms).then(|| now.plus_millis(pause.min(LONGEST_PAUSE_MS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_HOURS_MS: u64 = 2 * 3_600_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    #[test]
    fn conductor_5_1_pauses_double_to_five_minutes_until_patience_runs_out() {
        let (mut series, mut now, mut pauses) = (FailureSeries::default(), at(0), Vec::new());
        while let Some(next) = series.next_retry(None, TWO_HOURS_MS, now) {
            pauses.push(next.millis_since(now) / 1000);
            now = next;
        }
        assert_eq!(pauses[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]);
        assert!(pauses[10..].iter().all(|pause| *pause == 300));
        assert!((7_200..7_500).contains(&(now.millis() / 1000)), "{now}");
    }

    #[test]
    fn conductor_5_1_a_reset_is_followed_and_a_past_one_means_now() {
        let mut series = FailureSeries::default();
        let tomorrow = Some(at(86_400));
        assert_eq!(series.next_retry(tomorrow, TWO_HOURS_MS, at(0)), tomorrow);
        assert_eq!(series.next_retry(Some(at(30)), TWO_HOURS_MS, at(100)), Some(at(101)));
        // A vendor that repeats a past time is not hammered.
        assert_eq!(series.next_retry(Some(at(30)), TWO_HOURS_MS, at(101)), Some(at(103)));
    }
}
