//! A change as a unified diff, for a person who wants to see it first.

use omx_kernel::EscapedText;
use similar::{Algorithm, TextDiff};

use super::planner::SetupFileChange;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Formats the diff of one file.
pub fn unified_diff(change: &SetupFileChange) -> String {
    // A line break in the path must not look like a line of the diff.
    let path = change.path.to_string_lossy();
    let path = EscapedText::one_line(&path);
    let name = |text: &Option<String>| match text {
        Some(_) => path.to_string(),
        None => "/dev/null".to_owned(),
    };
    let header = format!("--- {}\n+++ {}\n", name(&change.old), name(&change.new));
    let (old, new) =
        (change.old.as_deref().unwrap_or_default(), change.new.as_deref().unwrap_or_default());
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    let hunks = diff.unified_diff().context_radius(CONTEXT_LINES).to_string();
    format!("{header}{hunks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: Option<&str>, new: Option<&str>) -> String {
        let text = |text: Option<&str>| text.map(str::to_owned);
        unified_diff(&SetupFileChange { path: "f".into(), old: text(old), new: text(new) })
    }

    #[test]
    fn hosts_2_3_a_diff_is_unified() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let new = "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\n12\n13\n";
        assert_eq!(
            diff(Some(old), Some(new)),
            "--- f\n+++ f\n@@ -2,11 +2,12 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n\
             \\ No newline at end of file\n+12\n+13\n"
        );
        assert_eq!(diff(None, Some("a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(diff(Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    }
}
