//! Who a child process works for. omx serializes this value once, into one
//! environment variable, for every process that it starts for a run; the child
//! reads it at its edge and derives none of it again.
//!
//! The variable's name is the dialect's ([`Dialect::context_variable`]). The
//! value holds names and paths, never a secret: a child's own children see it too.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dialect::Dialect;
use crate::ids::{RunId, SessionId};

/// The project, session and run that a child process belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildContext {
    /// The project's root, absolute.
    #[serde(with = "path")]
    pub root: PathBuf,
    /// The names in use.
    pub dialect: Dialect,
    /// The folder outside the project that holds the trees of all projects,
    /// absolute, if there is one.
    #[serde(default, with = "optional_path", skip_serializing_if = "Option::is_none")]
    pub state_dir: Option<PathBuf>,
    /// The session whose documents the child works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The name of what the child is entitled to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// Where omx listens for the child, absolute. A child that is confined reaches
    /// omx's documents only through it.
    #[serde(default, with = "optional_path", skip_serializing_if = "Option::is_none")]
    pub relay: Option<PathBuf>,
}

/// A path as a string, or as bytes where it is not UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum EncodedPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&PathBuf> for EncodedPath {
    fn from(path: &PathBuf) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<EncodedPath> for PathBuf {
    fn from(encoded: EncodedPath) -> Self {
        match encoded {
            EncodedPath::Text(text) => text.into(),
            EncodedPath::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

mod path {
    use super::{Deserialize, Deserializer, EncodedPath, PathBuf, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &PathBuf, to: S) -> Result<S::Ok, S::Error> {
        EncodedPath::from(path).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        EncodedPath::deserialize(from).map(PathBuf::from)
    }
}

mod optional_path {
    use super::{Deserialize, Deserializer, EncodedPath, PathBuf, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "the signature serde calls")]
    pub(super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().map(EncodedPath::from).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<EncodedPath>::deserialize(from)?.map(PathBuf::from))
    }
}
