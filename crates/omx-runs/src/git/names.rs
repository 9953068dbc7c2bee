//! Names that are validated before git sees them: none can be mistaken for an option,
//! a range or a path.

use std::fmt;

use omx_kernel::{Dialect, Refusal, RunId};
use serde::{Deserialize, Serialize};

/// A commit, by its full hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// A tree (the content of a folder), by its full hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeId(String);

/// Something with a tree to compare.
pub trait Treeish {
    /// The hash.
    fn hash(&self) -> &str;
}

macro_rules! hash {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Validates a hash.
            pub fn new(text: &str) -> Result<Self, Refusal> {
                let fits = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                if matches!(text.len(), 40 | 64) && text.bytes().all(fits) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Refusal::invalid_input(format!(concat!("{:?} is not the hash of a ", $what), text)))
                }
            }

            /// The hash as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Treeish for $name {
            fn hash(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Refusal;

            fn try_from(text: String) -> Result<Self, Refusal> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

hash!(CommitId, "commit");
hash!(TreeId, "tree");

/// A branch that belongs to omx, without `refs/heads/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchName(String);

impl BranchName {
    /// The branch of a run.
    pub fn of_run(dialect: &Dialect, run: &RunId) -> Self {
        Self(format!("{}/{run}", dialect.run_prefix))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full reference, which cannot be mistaken for a tag or a remote.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_hashes_are_taken() {
        assert!(CommitId::new(&"a".repeat(40)).is_ok());
        assert!(TreeId::new(&"0".repeat(64)).is_ok());
        for bad in ["", "HEAD", "--all", &"g".repeat(40), &"A".repeat(40), &"a".repeat(41)] {
            assert!(CommitId::new(bad).is_err(), "{bad}");
        }
    }
}
