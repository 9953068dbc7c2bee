//! The caller of an operation: progress goes to it, cancellation comes from it.

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallProgress<'a> {
    /// Increases with every report of a call.
    pub done: u64,
    /// The final value of `done`, if known.
    pub total: Option<u64>,
    /// One line for a person.
    pub message: &'a str,
}

/// The caller of an operation. Every method has a default for callers that only
/// wait for the result.
///
/// An operation calls [`Caller::before_wait`] before it waits for another process,
/// so that a caller with other work can start on it, and checks
/// [`Caller::is_cancelled`] whenever it wakes up.
pub trait Caller: Sync {
    /// Whether nobody needs the result anymore. The operation stops at the next point
    /// where it leaves nothing half done.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Announces that the operation may now wait for something outside this process.
    fn before_wait(&self) {}

    /// Reports progress.
    fn report_progress(&self, _progress: CallProgress<'_>) {}
}

/// A caller that waits for the result and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct UncancelledCaller;

impl Caller for UncancelledCaller {}
