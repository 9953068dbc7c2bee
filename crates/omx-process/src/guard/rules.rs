//! The rules of a confinement, as they travel to the guard: for each path one letter,
//! its bytes and a zero byte.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::confinement::FileRules;

/// The first byte, so that rules without any path differ from no rules.
const BEGINNING: u8 = b'r';
const WRITABLE: u8 = b'w';
const HIDDEN: u8 = b'h';

/// Encodes rules. Never empty.
pub(super) fn encode_rules(rules: &FileRules) -> Vec<u8> {
    let mut bytes = vec![BEGINNING];
    let mut add = |letter: u8, path: &Path| {
        bytes.push(letter);
        bytes.extend(path.as_os_str().as_bytes());
        bytes.push(0);
    };
    rules.writable.iter().for_each(|path| add(WRITABLE, path));
    rules.hidden.iter().for_each(|path| add(HIDDEN, path));
    bytes
}

/// Decodes rules. `None` if the bytes are no rules.
pub(super) fn decode_rules(bytes: &[u8]) -> Option<FileRules> {
    let mut rest = bytes.strip_prefix(&[BEGINNING])?;
    let mut rules = FileRules::default();
    while let Some((&letter, after)) = rest.split_first() {
        let end = after.iter().position(|&byte| byte == 0)?;
        let (path, left) = after.split_at(end);
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        match letter {
            WRITABLE => rules.writable.push(path),
            HIDDEN => rules.hidden.push(path),
            _ => return None,
        }
        rest = left.get(1..)?;
    }
    Some(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_survive_the_way_to_the_guard() {
        let odd = PathBuf::from(OsString::from_vec(b"/a\xff\n b".to_vec()));
        let rules = FileRules { writable: vec!["/w".into(), odd], hidden: vec!["/h".into()] };
        for rules in [rules, FileRules::default()] {
            assert_eq!(decode_rules(&encode_rules(&rules)), Some(rules));
        }
        for wrong in [&b""[..], b"w/w\0", b"rw/w", b"rx/w\0"] {
            assert_eq!(decode_rules(wrong), None);
        }
    }
}
