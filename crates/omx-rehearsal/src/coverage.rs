//! Checks that a scenario was played as often as it requires.

use std::path::Path;

use crate::memory::load_uses;
use crate::scenario::{ScenarioEntry, ScenarioError, load};
use crate::selection::count_uses;

/// Checks that every required entry was played, and returns one error for each
/// that was not, with its file and line. `folder` holds the record of what was
/// played.
pub fn check_coverage(scenario: &Path, folder: &Path) -> Result<(), Vec<ScenarioError>> {
    let scenario = load(scenario).map_err(|error| vec![error])?;
    let error = |line, message| ScenarioError { file: scenario.file.clone(), line, message };
    let uses = load_uses(folder, &scenario)
        .map_err(|cause| vec![error(None, format!("cannot read what was played: {cause}"))])?;
    let missing = scenario.entries.iter().enumerate().filter_map(|(index, entry)| {
        let message = missing(entry, count_uses(&uses, index))?;
        Some(error(Some(entry.line), message))
    });
    let missing: Vec<ScenarioError> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

/// Says how often an entry was played if that is too seldom.
fn missing(entry: &ScenarioEntry, (finished, unfinished): (usize, usize)) -> Option<String> {
    let needed = usize::try_from(entry.at_least).unwrap_or(usize::MAX);
    if finished >= needed {
        return None;
    }
    let rest = match unfinished {
        0 => String::new(),
        1 => ", and started once more but not finished".to_owned(),
        more => format!(", and started {more} more times but not finished"),
    };
    let needed = times(needed);
    Some(format!("this entry must be played {needed}; it was played {}{rest}", times(finished)))
}

fn times(count: usize) -> String {
    match count {
        0 => "0 times".to_owned(),
        1 => "once".to_owned(),
        more => format!("{more} times"),
    }
}
