//! The prompt rule on its corpus, and properties that hold for any prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use omx_prompt::{KeywordPolicy, PromptDecision, ScannedPrompt, SessionState};

mod corpus;
mod properties;

/// Reads a prompt and decides what it means.
fn decide<'a>(text: &'a str, keywords: KeywordPolicy, session: SessionState) -> PromptDecision<'a> {
    ScannedPrompt::new(text).decide(keywords, session)
}
