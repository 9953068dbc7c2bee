//! No progress: the same again and again. One that is slow but moves is never
//! taken for one that stands still.

use crate::review::{fnv1a, normalize};

/// This many looks in a row that are the same mean that nothing moves.
pub const SAME_PROGRESS_LIMIT: u32 = 5;

/// How a piece of work stands at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgressSample<'a> {
    /// What the folder holds, as a hash, where that is known.
    pub tree: Option<&'a str>,
    /// The phase the work is in.
    pub phase: &'a str,
    /// What does not hold, in words.
    pub failure: &'a str,
    /// What was said last.
    pub last_message: &'a str,
}

impl ProgressSample<'_> {
    /// A number that is the same as long as nothing moves. Where the folder can
    /// be seen, other words about the same folder are no progress, nor are
    /// other numbers in the same failure. Where it cannot, only what is
    /// repeated to the letter counts as the same.
    pub fn fingerprint(&self) -> u64 {
        let text = match self.tree {
            Some(tree) => format!("{tree}\n{}\n{}", self.phase, normalize(self.failure)),
            None => format!("\n{}\n{}\n{}", self.phase, self.failure, self.last_message),
        };
        fnv1a(&text)
    }
}

/// Whether nothing has moved for too long, by the fingerprints so far.
pub fn is_stuck(fingerprints: &[u64]) -> bool {
    let Some(last) = fingerprints.last() else { return false };
    let same = fingerprints.iter().rev().take_while(|print| *print == last);
    same.take(SAME_PROGRESS_LIMIT as usize).count() == SAME_PROGRESS_LIMIT as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDING: ProgressSample<'static> = ProgressSample {
        tree: Some("a1"),
        phase: "fixing",
        failure: "test x failed in 12 ms",
        last_message: "should work now",
    };

    #[test]
    fn modes_4_3_five_equal_looks_in_a_row_are_no_progress() {
        assert!(!is_stuck(&[]));
        assert!(!is_stuck(&[7, 7, 7, 7]));
        assert!(is_stuck(&[7, 7, 7, 7, 7]));
        assert!(is_stuck(&[1, 7, 7, 7, 7, 7, 7]));
        assert!(!is_stuck(&[7, 7, 7, 7, 1, 7]));
        assert!(!is_stuck(&[7, 7, 7, 7, 7, 1]));
    }

    #[test]
    fn r15_a_folder_that_changes_is_progress_whatever_is_said() {
        let moved = ProgressSample { tree: Some("b2"), ..STANDING };
        assert_ne!(moved.fingerprint(), STANDING.fingerprint());
        let other_failure = ProgressSample { failure: "test y failed", ..STANDING };
        assert_ne!(other_failure.fingerprint(), STANDING.fingerprint());
        let other_phase = ProgressSample { phase: "verifying", ..STANDING };
        assert_ne!(other_phase.fingerprint(), STANDING.fingerprint());
    }

    #[test]
    fn r15_other_words_about_the_same_folder_are_no_progress() {
        let talk = ProgressSample { last_message: "now it really works", ..STANDING };
        assert_eq!(talk.fingerprint(), STANDING.fingerprint());
        let timing = ProgressSample { failure: "test x failed in 140 ms", ..STANDING };
        assert_eq!(timing.fingerprint(), STANDING.fingerprint());
    }

    #[test]
    fn r15_without_a_folder_to_see_only_exact_repetition_counts() {
        let blind = ProgressSample { tree: None, ..STANDING };
        assert_eq!(blind.fingerprint(), blind.fingerprint());
        for moved in [
            ProgressSample { failure: "test x failed in 13 ms", ..blind },
            ProgressSample { last_message: "one of two", ..blind },
        ] {
            assert_ne!(moved.fingerprint(), blind.fingerprint());
        }
    }
}
