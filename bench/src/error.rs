//! One error type for the benchmark: a sentence that says what was being tried.
//! The benchmark never branches on an error's kind, so a chain of words is enough.

use std::fmt::Display;

/// What went wrong, outermost attempt first.
#[derive(Debug)]
pub struct BenchError(String);

impl BenchError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Display for BenchError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for BenchError {}

/// The result of everything here that can fail.
pub type BenchResult<T> = Result<T, BenchError>;

/// Puts the attempt in front of the cause.
pub trait WithContext<T> {
    /// `what` is evaluated only on failure.
    ///
    /// # Errors
    /// The cause, with `what` in front of it.
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> BenchResult<T>;
}

impl<T, E: Display> WithContext<T> for Result<T, E> {
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> BenchResult<T> {
        self.map_err(|cause| BenchError(format!("{}: {cause}", what())))
    }
}

impl<T> WithContext<T> for Option<T> {
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> BenchResult<T> {
        self.ok_or_else(|| BenchError(what().to_string()))
    }
}
