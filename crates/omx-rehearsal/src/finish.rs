//! Whether a scenario was played as it had to be.

use std::path::Path;

use crate::choose::count;
use crate::memory::plays;
use crate::scenario::{ScenarioEntry, ScenarioError, load};

/// Looks whether every entry that must be played was; tells each that was
/// not, by file and line. The plays are those kept in `folder`.
pub fn finish(scenario: &Path, folder: &Path) -> Result<(), Vec<ScenarioError>> {
    let scenario = load(scenario).map_err(|fault| vec![fault])?;
    let fault = |line, message| ScenarioError { file: scenario.file.clone(), line, message };
    let plays = plays(folder, &scenario)
        .map_err(|error| vec![fault(None, format!("cannot read what was played: {error}"))])?;
    let missing = scenario.entries.iter().enumerate().filter_map(|(index, entry)| {
        let why = missing(entry, count(&plays, index))?;
        Some(fault(Some(entry.line), why))
    });
    let missing: Vec<ScenarioError> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

fn missing(entry: &ScenarioEntry, (finished, begun): (usize, usize)) -> Option<String> {
    let needed = usize::try_from(entry.at_least).unwrap_or(usize::MAX);
    if finished >= needed {
        return None;
    }
    let but = match begun {
        0 => String::new(),
        1 => ", and one more was broken off".to_owned(),
        more => format!(", and {more} more were broken off"),
    };
    let needed = times(needed);
    Some(format!("this entry must be played {needed}; it was played {}{but}", times(finished)))
}

fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}
