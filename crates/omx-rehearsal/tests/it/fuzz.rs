//! quality.md R16: scenarios of any content. No panic, no hang, and every
//! fault names file and line.

use std::path::Path;

use omx_rehearsal::scenario::parse;
use omx_testkit::fuzz::{Random, fuzz, mutated};

use super::reader::{JSON, TOML};

#[test]
fn fuzz_scenarios() {
    fuzz("fuzz_scenarios", |rng| {
        let (name, text) = if rng.one_in(2) { ("s.toml", TOML) } else { ("s.json", JSON) };
        let mut bytes = mutated(rng, text.as_bytes());
        if rng.one_in(3) {
            bytes = swapped(rng, &bytes);
        }
        check(name, &bytes);
    });
}

/// Two lines in each other's place: still words the reader knows.
fn swapped(rng: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (one, other) = (rng.below(lines.len()), rng.below(lines.len()));
    lines.swap(one, other);
    lines.join(&b'\n')
}

fn check(name: &str, bytes: &[u8]) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    let shown = || String::from_utf8_lossy(bytes).into_owned();
    match parse(Path::new(name), bytes) {
        Ok(scenario) => {
            assert!(!scenario.entries.is_empty());
            for entry in &scenario.entries {
                assert!((1..=lines).contains(&entry.line), "{}", shown());
                assert!(!entry.steps.is_empty(), "{}", shown());
                let fit = |line: usize| (entry.line..=lines).contains(&line);
                assert!(entry.steps.iter().all(|step| fit(step.line)), "{}", shown());
            }
        }
        Err(fault) => {
            let line = fault.line.unwrap();
            assert!((1..=lines).contains(&line), "line {line} of {lines}\n{}", shown());
            assert!(!fault.message.is_empty());
            let said = fault.to_string();
            assert!(said.starts_with(&format!("{name}:{line}: ")), "{said}");
        }
    }
}
