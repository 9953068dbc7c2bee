//! A text into a scenario: the whole and its entries.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::fault::Fault;
use super::fields::{Fields, list, word};
use super::model::{Entry, Scenario};
use super::node::{Lines, Node, Wrong};
use super::{json, step, toml};
use crate::hash::fnv;

/// No scenario is as long.
const LONGEST: usize = 4 << 20;

/// Reads a scenario's file: JSON if its name says so, else TOML.
pub fn load(file: &Path) -> Result<Scenario, Fault> {
    let cannot = |why: String| Fault { file: file.to_owned(), line: None, message: why };
    let mut bytes = Vec::new();
    // Only a file: anything else could make us wait.
    let regular = std::fs::metadata(file).map(|data| data.is_file());
    let read = match regular {
        Ok(false) => return Err(cannot("it is not a file".to_owned())),
        Ok(true) => {
            let most = u64::try_from(LONGEST + 1).unwrap_or(u64::MAX);
            File::open(file).and_then(|open| open.take(most).read_to_end(&mut bytes))
        }
        Err(error) => Err(error),
    };
    read.map_err(|error| cannot(format!("cannot read it: {error}")))?;
    if bytes.len() > LONGEST {
        return Err(cannot(format!("it is longer than {LONGEST} bytes")));
    }
    parse(file, &bytes)
}

/// Understands a scenario that was read from a file of this name.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Scenario, Fault> {
    let lines = Lines::of(bytes);
    let scenario = std::str::from_utf8(bytes)
        .map_err(|error| Wrong::at(lines.at(error.valid_up_to()), "this line is not UTF-8"));
    let scenario = scenario.and_then(|text| {
        let is_json = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
        let root = if is_json { json::read(text, &lines) } else { toml::read(text, &lines) }?;
        whole(file, bytes, &root)
    });
    scenario.map_err(|wrong| Fault {
        file: file.to_owned(),
        line: Some(wrong.line),
        message: wrong.message,
    })
}

fn whole(file: &Path, bytes: &[u8], root: &Node) -> Result<Scenario, Wrong> {
    let fields = Fields::of(root, "a scenario", &["seed", "entry"])?;
    let entries = list(fields.need("entry")?, "entries")?;
    Ok(Scenario {
        file: file.to_owned(),
        fingerprint: format!("{:016x}", fnv(bytes)),
        seed: fields.number("seed", 0..=u64::MAX)?,
        entries: entries.iter().map(entry).collect::<Result<_, _>>()?,
    })
}

/// How often an entry can be asked for.
const MOST: u64 = 1_000_000;

fn entry(node: &Node) -> Result<Entry, Wrong> {
    let known = ["role", "phase", "match", "times", "required", "do"];
    let fields = Fields::of(node, "an entry", &known)?;
    let chosen = |name: &str| Ok(fields.get(name).map(word).transpose()?.map(str::to_owned));
    let (role, phase, text) = (chosen("role")?, chosen("phase")?, chosen("match")?);
    let times = fields.number("times", 1..=MOST)?.and_then(|times| u32::try_from(times).ok());
    let at_least = match (fields.flag("required")?, times) {
        (Some(false), _) | (None, None) => 0,
        (Some(true), None) => 1,
        (_, Some(times)) => times,
    };
    let steps = list(fields.need("do")?, "steps")?;
    let steps = steps.iter().map(step::read).collect::<Result<Vec<_>, _>>()?;
    step::nothing_follows_a_failure(&steps)?;
    Ok(Entry { line: fields.line(), role, phase, text, at_most: times, at_least, steps })
}
