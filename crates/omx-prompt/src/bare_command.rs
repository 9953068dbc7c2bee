//! Prompts that consist of a bare command: stop or continue.

use crate::call::leading_name;
use crate::decision::{CallForm, CancelCall, CancelReach, PromptDecision, SessionState};
use crate::text::{is_blank, is_in_list, trim, trim_start, words};

/// A bare command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareCommand {
    /// Stop, cancel, abort.
    Stop,
    /// Continue, resume, keep going.
    Continue,
}

/// A longer prompt says more than one thing.
const MAX_LENGTH: usize = 80;

/// Words that do not change a bare command.
const FILLER_WORDS: &str = "\
    please now ok okay it this that the just right immediately run mode loop everything all omx \
    omc pls thanks and yes at once work working then modes runs sessions";

/// Parses a text that is nothing but a bare command.
pub fn parse_bare_command(text: &str) -> Option<BareCommand> {
    let text = trim(text);
    let plain = |c: char| c.is_alphanumeric() || is_blank(c) || ".,!…'’-".contains(c);
    if text.is_empty()
        || text.len() > MAX_LENGTH
        || text.contains('\n')
        || !text.chars().all(plain)
        || !text.starts_with(char::is_alphanumeric)
    {
        return None;
    }
    let mut meaning = None;
    let mut all = words(text);
    while let Some(word) = all.next() {
        let next = if is_in_list(word, "stop cancel abort") {
            BareCommand::Stop
        } else if is_in_list(word, "continue resume") {
            BareCommand::Continue
        } else if is_in_list(word, "keep") {
            if !all.next().is_some_and(|next| is_in_list(next, "going working")) {
                return None;
            }
            BareCommand::Continue
        } else if is_in_list(word, FILLER_WORDS) || is_name(word) {
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

/// Decides what a prompt of this one line means, if it is a bare command that counts.
pub fn decide_bare<'a>(line: &str, session: SessionState) -> Option<PromptDecision<'a>> {
    let cancel = |reach| PromptDecision::Cancel(CancelCall { reach, form: CallForm::Address });
    match (parse_bare_command(line)?, session) {
        (BareCommand::Stop, _) if cancels_everywhere(line) => {
            Some(cancel(CancelReach::EverySession))
        }
        (BareCommand::Stop, SessionState::Active | SessionState::Blocked) => {
            Some(cancel(CancelReach::Session))
        }
        // "ralph cancel" does not suggest ralph.
        (BareCommand::Stop, _) => Some(PromptDecision::Nothing),
        (BareCommand::Continue, SessionState::Active) => Some(PromptDecision::Continue),
        (BareCommand::Continue, SessionState::Blocked) => Some(PromptDecision::Resume),
        (BareCommand::Continue, SessionState::Idle) => None,
    }
}

/// Whether a bare command says "cancel all" or "cancel everything": every session is meant.
fn cancels_everywhere(text: &str) -> bool {
    let mut words = words(text).skip_while(|word| !is_in_list(word, "cancel"));
    words.next().is_some() && words.next().is_some_and(|word| is_in_list(word, "all everything"))
}

fn is_name(word: &str) -> bool {
    leading_name(trim_start(word)).is_some_and(|(_, rest)| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_5_3a_cancel_all_means_every_session() {
        for text in ["cancel all", "Cancel everything!", "please cancel all runs now"] {
            assert_eq!(parse_bare_command(text), Some(BareCommand::Stop), "{text}");
            assert!(cancels_everywhere(text), "{text}");
        }
        for text in ["cancel", "stop everything", "cancel it all", "all"] {
            assert!(!cancels_everywhere(text), "{text}");
        }
    }

    #[test]
    fn modes_5_3_only_these_words_are_bare_commands() {
        for text in ["stop", "Cancel.", "ABORT!", " please stop now ", "stop ralph", "ralph cancel"]
        {
            assert_eq!(parse_bare_command(text), Some(BareCommand::Stop), "{text}");
        }
        for text in ["continue", "Resume", "keep going", "please continue", "ok, keep going!"] {
            assert_eq!(parse_bare_command(text), Some(BareCommand::Continue), "{text}");
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
            assert_eq!(parse_bare_command(text), None, "{text}");
        }
    }
}
