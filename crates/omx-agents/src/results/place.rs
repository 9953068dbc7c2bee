//! Where in a result something stands, for messages. A place lives on the
//! stack of the reader, so that reading costs no allocation for it.

use std::fmt;

use super::problem::shortened;

/// A place in a result.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The result itself.
    Whole,
    /// A field of an object.
    Field(&'a Place<'a>, &'a str),
    /// An item of a list.
    Item(&'a Place<'a>, usize),
}

/// The longest place in a sentence, in characters.
const SHOWN: usize = 200;

impl Place<'_> {
    /// The place in words; the end of a very long one is cut off.
    pub(super) fn words(&self) -> String {
        let mut words = self.to_string();
        if let Some((end, _)) = words.char_indices().nth(SHOWN) {
            words.truncate(end);
            words.push('…');
        }
        words
    }

    fn path(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Field(parent, name) => {
                parent.path(f)?;
                let is_first = matches!(parent, Self::Whole);
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                if name.is_empty() || name.len() > 40 || !name.chars().all(is_plain) {
                    write!(f, "[{}]", shortened(name))
                } else if is_first {
                    f.write_str(name)
                } else {
                    write!(f, ".{name}")
                }
            }
            Self::Item(parent, index) => {
                parent.path(f)?;
                write!(f, "[{index}]")
            }
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("the result"),
            _ => {
                f.write_str("field ")?;
                self.path(f)
            }
        }
    }
}
