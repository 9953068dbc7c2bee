//! Files of a run's worktree that are not in its branch: ignored ones, and those that no
//! step commits. A check that needs them passes in the worktree and nowhere else.

use std::collections::BTreeMap;

use crate::left_out::is_build_output;

/// How many entries are named.
const MAX_NAMED: usize = 8;

/// Files that a worktree has and its branch lacks, grouped by top-level folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbsentFiles {
    /// The first entries: those that a tool can make again come last.
    pub named: Vec<String>,
    /// How many entries are not named.
    pub more: usize,
}

impl AbsentFiles {
    /// Sums up paths. That of a folder ends with a slash.
    pub fn from_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut tops: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in paths {
            let top = path.split_inclusive('/').next().unwrap_or(path);
            tops.entry(top).or_default().push(path);
        }
        let mut entries: Vec<(bool, String)> = tops
            .into_iter()
            .map(|(top, paths)| match &paths[..] {
                [only] => (is_made_by_tools(only), (*only).to_owned()),
                all => (all.iter().all(|path| is_made_by_tools(path)), top.to_owned()),
            })
            .collect();
        entries.sort();
        let more = entries.len().saturating_sub(MAX_NAMED);
        entries.truncate(MAX_NAMED);
        Self { named: entries.into_iter().map(|(_, name)| name).collect(), more }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Describes them in one line for people, with control characters escaped; `None` if
    /// there are none.
    pub fn describe(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let names: Vec<String> = self.named.iter().map(|name| format!("{name:?}")).collect();
        let more = if self.more == 0 { String::new() } else { format!(" and {} more", self.more) };
        Some(format!("{}{more}", names.join(", ")))
    }
}

/// Whether this is the output of a build, by its name. What is ignored and has one of these
/// names is rarely what a check needs.
fn is_made_by_tools(path: &str) -> bool {
    let folders = ["target/", "dist/", "build/", "out/", ".cache/", "coverage/"];
    is_build_output(path) || folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_comes_last_and_folders_are_summed_up() {
        let found = AbsentFiles::from_paths([
            "node_modules/",
            "lib.txt",
            "target/",
            "src/a/__pycache__/",
            "src/b/__pycache__/",
            "data/one.bin",
            "data/two.bin",
        ]);
        let expected = ["data/", "lib.txt", "node_modules/", "src/", "target/"];
        assert_eq!((found.named, found.more), (expected.map(str::to_owned).to_vec(), 0));
    }

    #[test]
    fn the_list_is_bounded_and_escaped() {
        let names: Vec<String> = (10..30).map(|number| format!("{number}\u{1b}")).collect();
        let found = AbsentFiles::from_paths(names.iter().map(String::as_str));
        let text = found.describe().unwrap();
        assert!(text.starts_with("\"10\\u{1b}\", ") && text.ends_with(" and 12 more"), "{text}");
        assert_eq!(AbsentFiles::from_paths([]).describe(), None);
    }
}
