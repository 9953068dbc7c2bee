//! One error type for the benchmark: a sentence that says what was being tried.
//! The benchmark never branches on an error's kind, so a chain of words is enough.

use std::fmt::Display;

/// What went wrong, outermost attempt first.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Puts the attempt in front of the cause.
pub trait Context<T> {
    /// `what` is evaluated only on failure.
    ///
    /// # Errors
    /// The cause, with `what` in front of it.
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Display> Context<T> for std::result::Result<T, E> {
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|cause| Error(format!("{}: {cause}", what())))
    }
}

impl<T> Context<T> for Option<T> {
    fn context<D: Display>(self, what: impl FnOnce() -> D) -> Result<T> {
        self.ok_or_else(|| Error(what().to_string()))
    }
}
