//! P14: what has to be downloaded: one file, against an npm installation that
//! needs Node.js besides.

use crate::error::{BenchResult, WithContext};
use crate::report::{ResultRow, RowVerdict};
use crate::systems::ComparedSystems;
use std::path::Path;

const LIMIT: u64 = 20_000_000;

/// Measures P14.
///
/// # Errors
/// When a size cannot be read.
pub fn rows(systems: &ComparedSystems) -> BenchResult<Vec<ResultRow>> {
    let own = std::fs::metadata(&systems.omx).context(|| "read omx's size")?.len();
    Ok(vec![ResultRow {
        id: "P14",
        work: "installed size (the packages with their dependencies, without Node.js)".to_owned(),
        old_omx: megabytes(folder(&systems.installed.0)?),
        old_omc: megabytes(folder(&systems.installed.1)?),
        omx: format!("{}, one file", megabytes(own)),
        required: "≤ 20 MB, one file".to_owned(),
        verdict: RowVerdict::judge(own <= LIMIT, megabytes(own)),
    }])
}

/// The bytes of all files below; links are not followed.
fn folder(path: &Path) -> BenchResult<u64> {
    let mut total = 0;
    let entries = std::fs::read_dir(path).context(|| format!("list {}", path.display()))?;
    for entry in entries {
        let entry = entry.context(|| format!("list {}", path.display()))?;
        let kind = entry.file_type().context(|| "read a file's type")?;
        if kind.is_dir() {
            total += folder(&entry.path())?;
        } else if kind.is_file() {
            total += entry.metadata().context(|| "read a file's size")?.len();
        }
    }
    Ok(total)
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
