//! Ids that become file names. Construction checks them, so that no id can escape a folder.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::refusal::{Refusal, RefusalCode};
use crate::time::Timestamp;

/// The id of an agent's session: `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`. It is always safe as
/// a folder name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// Checks a session id.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let mut bytes = text.bytes();
        let first_fits = bytes.next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest_fits =
            bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if first_fits && rest_fits && text.len() <= 128 {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::new(
                RefusalCode::InvalidSessionId,
                "session_id must be 1 to 128 letters, digits, '_' or '-' and start with a letter or digit",
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

impl TryFrom<String> for SessionId {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        Self::new(&text)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

/// The id of a run that omx itself drives: a lowercase version 7 UUID, so that ids sort by
/// creation time. It is always safe as the name of a file, folder or branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// Checks a run id.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let fits = |(place, byte): (usize, u8)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'7',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        };
        if text.len() == 36 && text.bytes().enumerate().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::invalid_input(format!(
                "{:?} is not a run id; run ids are version 7 UUIDs, as `runs` lists them",
                text.chars().take(64).collect::<String>()
            )))
        }
    }

    /// Builds an id from the creation time and ten random bytes.
    pub fn from_parts(made: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(made.millis()).unwrap_or(0) & 0xffff_ffff_ffff;
        let [a, b, c, d, rest @ ..] = random;
        let version = 0x7000 | (u16::from_be_bytes([a, b]) & 0x0fff);
        let variant = 0x8000 | (u16::from_be_bytes([c, d]) & 0x3fff);
        let node = rest.iter().fold(0_u64, |node, byte| node << 8 | u64::from(*byte));
        Self(format!(
            "{:08x}-{:04x}-{version:04x}-{variant:04x}-{node:012x}",
            millis >> 16,
            millis & 0xffff
        ))
    }

    /// The creation time.
    pub fn created_at(&self) -> Timestamp {
        let digits = self.0.bytes().filter(|byte| *byte != b'-').take(12);
        let millis = digits.fold(0_i64, |value, digit| {
            value << 4 | i64::from(char::from(digit).to_digit(16).unwrap_or(0))
        });
        Timestamp::from_millis(millis)
    }

    /// The session that holds the run's documents.
    pub fn session(&self) -> SessionId {
        SessionId(self.0.clone())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = Refusal;

    fn try_from(text: String) -> Result<Self, Refusal> {
        Self::new(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

/// Where documents live: in a session, or in the compatibility scope without one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Files directly under the state root.
    Compatibility,
    /// Files under `sessions/<id>/`.
    Session(SessionId),
}

impl Scope {
    /// The session, if there is one.
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

/// Turns a sentence into a short name of lowercase letters, digits and single dashes: at
/// most 30 characters, never empty.
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
            assert_eq!(refusal.code, RefusalCode::InvalidSessionId, "{bad:?}");
        }
    }

    #[test]
    fn conductor_3_1_a_run_id_is_a_uuid_of_version_7_and_nothing_else() {
        let good = "01981234-5678-7abc-8def-0123456789ab";
        assert_eq!(RunId::new(good).unwrap().as_str(), good);
        let version_4 = "01981234-5678-4abc-8def-0123456789ab";
        let upper = "01981234-5678-7ABC-8def-0123456789ab";
        let variant = "01981234-5678-7abc-7def-0123456789ab";
        let long = format!("{good}a");
        let path = "../../34-5678-7abc-8def-0123456789ab";
        for bad in
            ["", version_4, upper, variant, &long, path, "01981234\u{0}5678-7abc-8def-0123456789a"]
        {
            assert_eq!(RunId::new(bad).unwrap_err().code, RefusalCode::InvalidInput, "{bad:?}");
        }
    }

    #[test]
    fn a_made_run_id_passes_its_own_check_tells_its_time_and_is_a_session() {
        for (millis, random) in [(0, [0; 10]), (1_794_000_000_123, [0xff; 10]), (-5, [7; 10])] {
            let id = RunId::from_parts(Timestamp::from_millis(millis), random);
            assert_eq!(RunId::new(id.as_str()), Ok(id.clone()));
            assert_eq!(id.created_at().millis(), millis.max(0));
            assert_eq!(SessionId::new(id.as_str()), Ok(id.session()));
        }
        let at = |millis| RunId::from_parts(Timestamp::from_millis(millis), [9; 10]);
        assert!(at(1_794_000_000_123) < at(1_794_000_000_124));
    }
}
