//! The one table: printed, and written as `RESULTS.md` with what is needed to
//! judge it (date, machine, versions, how it was measured).

use crate::error::{BenchResult, WithContext};
use std::fmt::Write as _;
use std::path::Path;

/// Whether a row's figure was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowVerdict {
    /// Yes, with the measured ratio or figure.
    Reached(String),
    /// No, with the measured ratio or the reason.
    Missed(String),
    /// omx has no such command yet; does not fail the run.
    Pending,
}

impl RowVerdict {
    /// Reached or missed, with the same words for both.
    #[must_use]
    pub fn judge(reached: bool, measured: String) -> Self {
        if reached { Self::Reached(measured) } else { Self::Missed(measured) }
    }

    fn cell(&self) -> String {
        match self {
            Self::Reached(measured) => format!("yes ({measured})"),
            Self::Missed(measured) => format!("**no** ({measured})"),
            Self::Pending => "not in omx yet".to_owned(),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct ResultRow {
    /// `P4`…
    pub id: &'static str,
    /// What is done.
    pub work: String,
    /// oh-my-codex's figures.
    pub old_omx: String,
    /// oh-my-claude-sisyphus's figures.
    pub old_omc: String,
    /// omx's figures.
    pub omx: String,
    /// What omx has to reach.
    pub required: String,
    /// Whether it did.
    pub verdict: RowVerdict,
}

impl ResultRow {
    /// A row that could not be measured for omx.
    #[must_use]
    pub fn failed(id: &'static str, work: &str, why: &dyn std::error::Error) -> Self {
        Self {
            id,
            work: work.to_owned(),
            old_omx: "–".to_owned(),
            old_omc: "–".to_owned(),
            omx: "–".to_owned(),
            required: "–".to_owned(),
            verdict: RowVerdict::Missed(format!("not measured: {why}")),
        }
    }
}

/// What stands above the table.
#[derive(Clone, Debug)]
pub struct TableHead {
    /// RFC 3339.
    pub date: String,
    /// How often each figure was taken.
    pub runs: usize,
    /// Name and version of everything that ran.
    pub versions: Vec<(String, String)>,
    /// What a reader must know to judge the figures.
    pub notes: Vec<String>,
}

/// The table alone, in Markdown, columns aligned.
#[must_use]
pub fn table(rows: &[ResultRow]) -> String {
    let mut lines = vec![
        ["row", "work", "OMX", "OMC", "omx", "required", "reached"].map(str::to_owned),
        std::array::from_fn(|_| "---".to_owned()),
    ];
    lines.extend(rows.iter().map(|row| {
        [
            row.id.to_owned(),
            row.work.clone(),
            row.old_omx.clone(),
            row.old_omc.clone(),
            row.omx.clone(),
            row.required.clone(),
            row.verdict.cell(),
        ]
        .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
    }));
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    let mut text = String::new();
    for line in &lines {
        for (cell, width) in line.iter().zip(widths) {
            // Writing to a String cannot fail.
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
    }
    text
}

/// The whole page.
#[must_use]
pub fn page(head: &TableHead, rows: &[ResultRow]) -> String {
    let (model, cores) = processor();
    let missed = rows.iter().filter(|row| matches!(row.verdict, RowVerdict::Missed(_))).count();
    let versions: Vec<_> =
        head.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!(
        "# Results of `bench/compare`\n\n\
         Written by the benchmark; do not edit.\n\n\
         - date: {}\n- processor: {model}, {cores} cores\n- versions: {}\n\
         - figures: medians of {} interleaved runs; memory is the largest seen\n\
         - required figures missed: {missed}\n\n{}\n## Notes\n\n- {}\n",
        head.date,
        versions.join(", "),
        head.runs,
        table(rows),
        head.notes.join("\n- "),
    )
}

/// Writes the page, without the name of the throw-away folder, which answers
/// quoted in it may contain.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, head: &TableHead, rows: &[ResultRow], work: &Path) -> BenchResult<()> {
    let page = page(head, rows).replace(&*work.to_string_lossy(), "…");
    std::fs::write(path, page).context(|| format!("write {}", path.display()))
}

fn processor() -> (String, usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    (model.unwrap_or_else(|| "unknown".to_owned()), cores)
}

#[cfg(test)]
mod tests {
    use super::{ResultRow, RowVerdict, table};

    #[test]
    fn cells_cannot_break_the_table() {
        let row = ResultRow {
            id: "P4",
            work: "a|b\nc".to_owned(),
            old_omx: String::new(),
            old_omc: String::new(),
            omx: String::new(),
            required: String::new(),
            verdict: RowVerdict::Missed("1/50".to_owned()),
        };
        let text = table(&[row]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains("a\\|b c"));
        assert!(text.contains("**no** (1/50)"));
    }
}
