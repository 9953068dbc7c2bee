//! Detects a lack of progress: the same state again and again. Slow progress is progress.

use crate::review::{fnv1a, normalize};

/// This many equal samples in a row mean that there is no progress.
pub const SAME_PROGRESS_LIMIT: u32 = 5;

/// The state of some work at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgressSample<'a> {
    /// The hash of the workspace's content, if it is known.
    pub tree: Option<&'a str>,
    /// The phase.
    pub phase: &'a str,
    /// What fails.
    pub failure: &'a str,
    /// The agent's last message.
    pub last_message: &'a str,
}

impl ProgressSample<'_> {
    /// A number that stays the same as long as there is no progress. If the workspace is
    /// known, neither another message about the same content nor other numbers in the
    /// same failure are progress. Otherwise only exact repetition counts as no progress.
    pub fn fingerprint(&self) -> u64 {
        let text = match self.tree {
            Some(tree) => format!("{tree}\n{}\n{}", self.phase, normalize(self.failure)),
            None => format!("\n{}\n{}\n{}", self.phase, self.failure, self.last_message),
        };
        fnv1a(&text)
    }
}

/// Whether the last fingerprints show no progress.
pub fn is_stuck(fingerprints: &[u64]) -> bool {
    let Some(last) = fingerprints.last() else { return false };
    let same = fingerprints.iter().rev().take_while(|print| *print == last);
    same.take(SAME_PROGRESS_LIMIT as usize).count() == SAME_PROGRESS_LIMIT as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: ProgressSample<'static> = ProgressSample {
        tree: Some("a1"),
        phase: "fixing",
        failure: "test x failed in 12 ms",
        last_message: "should work now",
    };

    #[test]
    fn modes_4_3_five_equal_samples_in_a_row_are_no_progress() {
        assert!(!is_stuck(&[]));
        assert!(!is_stuck(&[7, 7, 7, 7]));
        assert!(is_stuck(&[7, 7, 7, 7, 7]));
        assert!(is_stuck(&[1, 7, 7, 7, 7, 7, 7]));
        assert!(!is_stuck(&[7, 7, 7, 7, 1, 7]));
        assert!(!is_stuck(&[7, 7, 7, 7, 7, 1]));
    }

    #[test]
    fn r15_a_change_of_the_workspace_is_progress() {
        let moved = ProgressSample { tree: Some("b2"), ..SAMPLE };
        assert_ne!(moved.fingerprint(), SAMPLE.fingerprint());
        let other_failure = ProgressSample { failure: "test y failed", ..SAMPLE };
        assert_ne!(other_failure.fingerprint(), SAMPLE.fingerprint());
        let other_phase = ProgressSample { phase: "verifying", ..SAMPLE };
        assert_ne!(other_phase.fingerprint(), SAMPLE.fingerprint());
    }

    #[test]
    fn r15_another_message_about_the_same_workspace_is_no_progress() {
        let talk = ProgressSample { last_message: "now it really works", ..SAMPLE };
        assert_eq!(talk.fingerprint(), SAMPLE.fingerprint());
        let timing = ProgressSample { failure: "test x failed in 140 ms", ..SAMPLE };
        assert_eq!(timing.fingerprint(), SAMPLE.fingerprint());
    }

    #[test]
    fn r15_without_a_known_workspace_only_exact_repetition_is_no_progress() {
        let blind = ProgressSample { tree: None, ..SAMPLE };
        assert_eq!(blind.fingerprint(), blind.fingerprint());
        for moved in [
            ProgressSample { failure: "test x failed in 13 ms", ..blind },
            ProgressSample { last_message: "one of two", ..blind },
        ] {
            assert_ne!(moved.fingerprint(), blind.fingerprint());
        }
    }
}
