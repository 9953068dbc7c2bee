//! Strings with a rule: text that is not blank, and paths that stay below
//! where they start.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A text with at least one character that is not white space.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct NonBlankText(String);

impl NonBlankText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NonBlankText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if is_blank(&text) { Err("the text must not be blank") } else { Ok(Self(text)) }
    }
}

impl Deref for NonBlankText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NonBlankText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads an optional text. Agents often write `""` where they mean `null`.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NonBlankText>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !is_blank(text)).map(NonBlankText))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The path of a file as an agent wrote it, without `..` components. It may be
/// absolute: whether it lies in the agent's folder is the caller's decision.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct FilePath(String);

impl FilePath {
    /// The path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FilePath {
    type Error = String;

    fn try_from(path: String) -> Result<Self, Self::Error> {
        // Agents write either separator, whatever the system.
        let climbs = path.split(['/', '\\']).any(|part| part.trim() == "..");
        if climbs || is_blank(&path) || path.contains('\0') {
            return Err(format!("{path:?} is not the path of a file without \"..\""));
        }
        Ok(Self(path))
    }
}
