//! No progress: the same again and again. One that is slow but moves is never
//! taken for one that stands still.

use crate::review::{hash, normalised};

/// This many looks in a row that are the same mean that nothing moves.
pub const SAME_PROGRESS_LIMIT: u32 = 5;

/// How a piece of work stands at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Standing<'a> {
    /// What the folder holds, as a hash, where that is known.
    pub tree: Option<&'a str>,
    /// The phase the work is in.
    pub phase: &'a str,
    /// What does not hold, in words.
    pub failure: &'a str,
    /// What was said last.
    pub last_words: &'a str,
}

impl Standing<'_> {
    /// A number that is the same as long as nothing moves. Where the folder can
    /// be seen, other words about the same folder are no progress, nor are
    /// other numbers in the same failure. Where it cannot, only what is
    /// repeated to the letter counts as the same.
    pub fn fingerprint(&self) -> u64 {
        let text = match self.tree {
            Some(tree) => format!("{tree}\n{}\n{}", self.phase, normalised(self.failure)),
            None => format!("\n{}\n{}\n{}", self.phase, self.failure, self.last_words),
        };
        hash(&text)
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

    const STANDING: Standing<'static> = Standing {
        tree: Some("a1"),
        phase: "fixing",
        failure: "test x failed in 12 ms",
        last_words: "should work now",
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
        let moved = Standing { tree: Some("b2"), ..STANDING };
        assert_ne!(moved.fingerprint(), STANDING.fingerprint());
        let other_failure = Standing { failure: "test y failed", ..STANDING };
        assert_ne!(other_failure.fingerprint(), STANDING.fingerprint());
        let other_phase = Standing { phase: "verifying", ..STANDING };
        assert_ne!(other_phase.fingerprint(), STANDING.fingerprint());
    }

    #[test]
    fn r15_other_words_about_the_same_folder_are_no_progress() {
        let talk = Standing { last_words: "now it really works", ..STANDING };
        assert_eq!(talk.fingerprint(), STANDING.fingerprint());
        let timing = Standing { failure: "test x failed in 140 ms", ..STANDING };
        assert_eq!(timing.fingerprint(), STANDING.fingerprint());
    }

    #[test]
    fn r15_without_a_folder_to_see_only_exact_repetition_counts() {
        let blind = Standing { tree: None, ..STANDING };
        assert_eq!(blind.fingerprint(), blind.fingerprint());
        for moved in [
            Standing { failure: "test x failed in 13 ms", ..blind },
            Standing { last_words: "one of two", ..blind },
        ] {
            assert_ne!(moved.fingerprint(), blind.fingerprint());
        }
    }
}
