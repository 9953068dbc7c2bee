//! Prompts that are only a word: stop, or go on.

use crate::call::leading_name;
use crate::text::{among, is_blank, trim, trim_start, words};

/// What such a prompt says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Stop, cancel, abort.
    Stop,
    /// Continue, resume, keep going.
    GoOn,
}

/// A prompt longer than this says more than one thing.
const LONG: usize = 80;

/// Words that add nothing to it.
const POLITE: &str = "\
    please now ok okay it this that the just right immediately run mode loop everything all omx \
    omc pls thanks and yes at once work working then";

/// What the text says, if it is only that.
pub fn only(text: &str) -> Option<Only> {
    let text = trim(text);
    let plain = |c: char| c.is_alphanumeric() || is_blank(c) || ".,!…'’-".contains(c);
    if text.is_empty()
        || text.len() > LONG
        || text.contains('\n')
        || !text.chars().all(plain)
        || !text.starts_with(char::is_alphanumeric)
    {
        return None;
    }
    let mut meaning = None;
    let mut all = words(text);
    while let Some(word) = all.next() {
        let next = if among(word, "stop cancel abort") {
            Only::Stop
        } else if among(word, "continue resume") {
            Only::GoOn
        } else if among(word, "keep") {
            if !all.next().is_some_and(|next| among(next, "going working")) {
                return None;
            }
            Only::GoOn
        } else if among(word, POLITE) || is_name(word) {
            continue;
        } else {
            return None;
        };
        if meaning.is_some_and(|before| before != next) {
            return None;
        }
        meaning = Some(next);
    }
    meaning
}

fn is_name(word: &str) -> bool {
    leading_name(trim_start(word)).is_some_and(|(_, rest)| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_5_3_only_these_words() {
        for text in ["stop", "Cancel.", "ABORT!", " please stop now ", "stop ralph", "ralph cancel"]
        {
            assert_eq!(only(text), Some(Only::Stop), "{text}");
        }
        for text in ["continue", "Resume", "keep going", "please continue", "ok, keep going!"] {
            assert_eq!(only(text), Some(Only::GoOn), "{text}");
        }
        for text in [
            "",
            "stop?",
            "stop the server",
            "don't stop",
            "keep",
            "continue or stop",
            "please",
            "`stop`",
        ] {
            assert_eq!(only(text), None, "{text}");
        }
    }
}
