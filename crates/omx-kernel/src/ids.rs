//! Names that became paths once and were attacked ever since: checked on construction.

use std::fmt;

use crate::refusal::{Code, Refusal};

/// The id of an agent's session: `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`. A value
/// of this type is safe as the name of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// Checks and takes a session id.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let mut bytes = text.bytes();
        let first_fits = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest_fits =
            bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if first_fits && rest_fits && text.len() <= 128 {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::new(
                Code::InvalidSessionId,
                "session_id must be 1 to 128 letters, digits, '_' or '-' and begin with a letter or digit",
            ))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where documents live: with a session, or in the compatibility scope without one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Files directly under the state root.
    Compatibility,
    /// Files under `sessions/<id>/`.
    Session(SessionId),
}

impl Scope {
    /// The session, where there is one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Compatibility => None,
            Self::Session(id) => Some(id),
        }
    }
}

impl From<Option<SessionId>> for Scope {
    fn from(session: Option<SessionId>) -> Self {
        session.map_or(Self::Compatibility, Self::Session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_3_4_only_plain_session_ids_are_taken() {
        for good in ["a", "0", "A-b_9", &"x".repeat(128)] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(129);
        let huge = "x".repeat(10_000);
        for bad in ["", "-a", "_a", "../x", "a/b", "a\0", "a b", "ä", ".", "a.", &long, &huge] {
            let refusal = SessionId::new(bad).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidSessionId, "{bad:?}");
        }
    }
}

/// A short name made of a sentence: small letters, digits and single dashes,
/// at most 30 of them, never empty.
pub fn slug(sentence: &str) -> String {
    const LONGEST: usize = 30;
    let mut slug = String::new();
    for word in sentence.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        let whole = slug.len() + usize::from(!slug.is_empty()) + word.len() <= LONGEST;
        if !whole && !slug.is_empty() {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(LONGEST).map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}
