//! Small damage to bytes that were right: what a torn write, a bug or an
//! attacker makes of them.

use super::texts::json_value;
use crate::random::Random;

/// Pieces that mean something to a JSON reader.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "null", "true", "1e999", "-", "0",
    " ", "\n", "\0", "\u{feff}", "é", "\u{1F600}", "//", "/*", "'", "NaN", "{}", "[]", "\"\":",
    "18446744073709551615", "9007199254740993", "../", "\u{7f}", "\u{2028}",
];

/// The bytes with one to four pieces of damage.
pub fn mutated(rng: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=rng.below(4) {
        damage(rng, &mut bytes);
    }
    bytes
}

fn damage(rng: &mut Random, bytes: &mut Vec<u8>) {
    let at = rng.below(bytes.len() + 1);
    let length = rng.below(16).min(bytes.len() - at);
    match rng.below(10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..at + length)),
        2 => {
            let again = bytes[at..at + length].to_vec();
            insert(bytes, at, &again);
        }
        3 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        4 if at < bytes.len() => bytes[at] = rng.number() as u8,
        5 => bytes[at..at + length].fill(0),
        6 => insert(bytes, at, json_value(rng, 2).as_bytes()),
        7 => {
            let from = rng.below(bytes.len() + 1);
            let moved = bytes[from..].iter().copied().take(length).collect::<Vec<u8>>();
            insert(bytes, at, &moved);
        }
        _ => insert(bytes, at, rng.pick(TOKENS).as_bytes()),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    bytes.splice(at..at, more.iter().copied());
}
