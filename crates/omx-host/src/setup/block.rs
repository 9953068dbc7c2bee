//! The marked block in a Markdown file.

use std::ops::Range;

use omx_kernel::Dialect;
use serde_json::Value;

use super::EditError;
use super::fragment::{Fragment, FragmentSlot};

/// The lines that start and end the block of a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockMarks {
    /// The dialect's name in sentences, which is also in the marks.
    label: &'static str,
}

impl BlockMarks {
    /// The marks of a dialect.
    pub(crate) fn for_dialect(dialect: &Dialect) -> Self {
        Self { label: dialect.label }
    }

    /// The marks that enclose this block.
    pub(crate) fn around(block: &Value) -> Self {
        let text = block.as_str().unwrap_or_default();
        let encloses = |marks: &Self| text.starts_with(&marks.lines()[0]);
        let mut all = Dialect::ALL.iter().map(Self::for_dialect);
        all.find(encloses).unwrap_or(Self::for_dialect(&Dialect::OMX))
    }

    fn lines(self) -> [String; 2] {
        ["START", "END"].map(|word| format!("<!-- {}:{word} -->", self.label))
    }
}

/// A block as the manifest keeps it: trimmed, with `\n` as line ending.
pub(crate) fn normalize(block: &str) -> String {
    block.trim().replace("\r\n", "\n")
}

/// Finds the block.
fn find(text: &str, marks: BlockMarks) -> Result<Option<Range<usize>>, EditError> {
    let [first, last] = marks.lines();
    let starts: Vec<usize> = text.match_indices(&first).map(|(at, _)| at).collect();
    let ends: Vec<usize> = text.match_indices(&last).map(|(at, _)| at).collect();
    match (&starts[..], &ends[..]) {
        ([], []) => Ok(None),
        ([start], [end]) if start < end => Ok(Some(*start..end + last.len())),
        _ => Err(EditError(format!("{first} and {last} must appear once each, in this order"))),
    }
}

/// The block that the manifest records.
fn find_own(text: &str, part: &Fragment) -> Result<Range<usize>, EditError> {
    let marks = BlockMarks::around(&part.value);
    let missing = || EditError(format!("the block of {} is missing", marks.label));
    find(text, marks)?.ok_or_else(missing)
}

/// Reads the block, marks included.
pub(crate) fn read_values(text: &str, marks: BlockMarks) -> Result<Vec<Value>, EditError> {
    let block = find(text, marks)?.map(|range| text[range].replace("\r\n", "\n"));
    Ok(block.map(Value::String).into_iter().collect())
}

/// Appends the block.
pub(crate) fn insert(text: &str, value: &Value, newline: &str) -> (String, Fragment) {
    let block = value.as_str().unwrap_or_default().replace('\n', newline);
    let lead = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let piece = format!("{lead}{block}{newline}");
    let part = Fragment::written(&FragmentSlot::Block, value, piece.clone(), lead.len(), 0);
    (format!("{text}{piece}"), part)
}

/// Replaces the block's text.
pub(crate) fn replace(
    text: &str,
    old: &Fragment,
    value: &Value,
    newline: &str,
) -> Result<(String, Fragment), EditError> {
    let range = find_own(text, old)?;
    let block = value.as_str().unwrap_or_default().replace('\n', newline);
    let mut piece = String::new();
    if let Some(whole) = find_inserted(text, old, &range) {
        piece =
            format!("{}{block}{}", &text[whole.start..range.start], &text[range.end..whole.end]);
    }
    let lead = if piece.is_empty() { 0 } else { old.lead };
    let part = Fragment::written(&FragmentSlot::Block, value, piece, lead, 0);
    Ok((format!("{}{block}{}", &text[..range.start], &text[range.end..]), part))
}

fn find_inserted(text: &str, part: &Fragment, block: &Range<usize>) -> Option<Range<usize>> {
    let start = block.start.checked_sub(part.lead)?;
    let range = start..start + part.text.len();
    (!part.text.is_empty() && text.get(range.clone())? == part.text).then_some(range)
}

/// Removes the block.
pub(crate) fn remove(text: &str, part: &Fragment) -> Result<String, EditError> {
    let block = find_own(text, part)?;
    let mut range = find_inserted(text, part, &block);
    if range.is_none() {
        // The line ending after the block is ours in any case.
        let rest = &text[block.end..];
        let line_end = rest.len() - rest.trim_start_matches(['\r', '\n']).len();
        range = Some(block.start..block.end + line_end.min(rest.find('\n').map_or(0, |at| at + 1)));
    }
    let range = range.unwrap_or(block);
    Ok(format!("{}{}", &text[..range.start], &text[range.end..]))
}
