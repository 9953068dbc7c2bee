//! quality.md R16: scenario files of any content cause no panic and no hang, and
//! every error names its file and line.

use std::path::Path;

use omx_rehearsal::scenario::parse;
use omx_testkit::fuzz::{Random, fuzz, mutated};

use super::reader::EVERY_KEY;

#[test]
fn fuzz_scenarios() {
    fuzz("fuzz_scenarios", |rng| {
        let mut bytes = mutated(rng, EVERY_KEY.as_bytes());
        if rng.one_in(3) {
            bytes = with_two_lines_swapped(rng, &bytes);
        }
        check("s.toml", &bytes);
    });
}

/// Keeps the words the reader knows, in another order.
fn with_two_lines_swapped(rng: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let (one, other) = (rng.below(lines.len()), rng.below(lines.len()));
    lines.swap(one, other);
    lines.join(&b'\n')
}

fn check(name: &str, bytes: &[u8]) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match parse(Path::new(name), bytes) {
        Ok(scenario) => {
            assert!(!scenario.entries.is_empty());
            for entry in &scenario.entries {
                assert!((1..=lines).contains(&entry.line), "{}", text());
                assert!(!entry.steps.is_empty(), "{}", text());
                let fit = |line: usize| (entry.line..=lines).contains(&line);
                assert!(entry.steps.iter().all(|step| fit(step.line)), "{}", text());
            }
        }
        Err(error) => {
            let line = error.line.unwrap();
            assert!((1..=lines).contains(&line), "line {line} of {lines}\n{}", text());
            assert!(!error.message.is_empty());
            let message = error.to_string();
            assert!(message.starts_with(&format!("{name}:{line}: ")), "{message}");
        }
    }
}
