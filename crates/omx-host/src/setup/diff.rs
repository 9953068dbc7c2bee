//! A change as a unified diff, for a person who wants to see it first.

use super::planner::FileChange;

/// Unchanged lines around a change.
const AROUND: usize = 3;

/// Beyond this many lines the middle of a file is shown as replaced whole.
const MOST: usize = 2000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The diff of one file.
pub fn unified_diff(change: &FileChange) -> String {
    let path = change.path.display();
    let name = |text: &Option<String>| match text {
        Some(_) => path.to_string(),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!("--- {}\n+++ {}\n", name(&change.old), name(&change.new));
    let old: Vec<&str> = change.old.as_deref().unwrap_or_default().split_inclusive('\n').collect();
    let new: Vec<&str> = change.new.as_deref().unwrap_or_default().split_inclusive('\n').collect();
    let lines = compare(&old, &new);
    let changed: Vec<usize> =
        (0..lines.len()).filter(|&at| !matches!(lines[at], Line::Same(_))).collect();
    let mut next = 0;
    while let Some(&first) = changed.get(next) {
        let start = first.saturating_sub(AROUND);
        let mut last = first;
        while let Some(&more) = changed.get(next).filter(|&&more| more <= last + 2 * AROUND + 1) {
            last = more;
            next += 1;
        }
        let end = (last + AROUND + 1).min(lines.len());
        hunk(&mut out, &lines, start, end);
    }
    out
}

fn hunk(out: &mut String, lines: &[Line<'_>], start: usize, end: usize) {
    let olds = |part: &[Line<'_>]| part.iter().filter(|l| !matches!(l, Line::New(_))).count();
    let news = |part: &[Line<'_>]| part.iter().filter(|l| !matches!(l, Line::Old(_))).count();
    let range = |before: usize, count: usize| {
        // A range of no lines is named by the line before it.
        format!("{},{count}", if count == 0 { before } else { before + 1 })
    };
    let (before, part) = (&lines[..start], &lines[start..end]);
    let old = range(olds(before), olds(part));
    let new = range(news(before), news(part));
    out.push_str(&format!("@@ -{old} +{new} @@\n"));
    for line in part {
        let (sign, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Old(text) => ('-', text),
            Line::New(text) => ('+', text),
        };
        out.push(sign);
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(|(one, other)| one == other).count();
    let old_middle = &old_rest[..old_rest.len() - tail];
    let new_middle = &new_rest[..new_rest.len() - tail];
    let mut lines: Vec<Line<'a>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    if old_middle.len() > MOST || new_middle.len() > MOST {
        lines.extend(old_middle.iter().map(|line| Line::Old(line)));
        lines.extend(new_middle.iter().map(|line| Line::New(line)));
    } else {
        lines.extend(longest(old_middle, new_middle));
    }
    lines.extend(old_rest[old_rest.len() - tail..].iter().map(|line| Line::Same(line)));
    lines
}

/// By the longest common subsequence.
fn longest<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    let mut table = vec![0u32; (old.len() + 1) * width];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            table[row * width + column] = if old[row] == new[column] {
                table[(row + 1) * width + column + 1] + 1
            } else {
                table[(row + 1) * width + column].max(table[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push(Line::Same(old[row]));
            (row, column) = (row + 1, column + 1);
        } else if row < old.len()
            && (column == new.len()
                || table[(row + 1) * width + column] >= table[row * width + column + 1])
        {
            lines.push(Line::Old(old[row]));
            row += 1;
        } else {
            lines.push(Line::New(new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: Option<&str>, new: Option<&str>) -> String {
        let text = |text: Option<&str>| text.map(str::to_owned);
        unified_diff(&FileChange { path: "f".into(), old: text(old), new: text(new) })
    }

    #[test]
    fn hosts_2_3_a_diff_is_unified() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let new = "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\n12\n13\n";
        assert_eq!(
            shown(Some(old), Some(new)),
            "--- f\n+++ f\n@@ -2,11 +2,12 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n 9\n 10\n 11\n-12\n\
             \\ No newline at end of file\n+12\n+13\n"
        );
        assert_eq!(shown(None, Some("a\n")), "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(shown(Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
    }
}
