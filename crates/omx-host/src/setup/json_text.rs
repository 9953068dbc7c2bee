//! Lays out omx's JSON like the text around it.

use serde_json::Value;

use super::json::JsonNode;

/// The layout at one position of a text.
pub(crate) struct JsonLayout {
    /// White space between a comma and the next child.
    pub between: String,
    /// White space before an only child.
    pub before_only: String,
    /// White space after an only child.
    pub after_only: String,
    /// The line ending; `None` for text on one line.
    newline: Option<String>,
    /// The indentation of the child.
    indent: String,
    /// One more level of indentation.
    step: String,
}

impl JsonLayout {
    /// The layout of a value that starts at `start`, `depth` levels deep.
    pub fn at(text: &str, start: usize, depth: usize, newline: &str, is_plain: bool) -> Self {
        let indent = indent_of(text, start).to_owned();
        Self {
            between: String::new(),
            before_only: String::new(),
            after_only: String::new(),
            newline: (!is_plain).then(|| newline.to_owned()),
            step: step_of(&indent, depth),
            indent,
        }
    }
}

/// The indentation of the line at a position.
fn indent_of(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let length = text[line..at].len() - text[line..at].trim_start().len();
    &text[line..line + length]
}

/// One level of indentation, derived from that of a value `depth` levels deep.
fn step_of(indent: &str, depth: usize) -> String {
    match indent.chars().next() {
        Some('\t') => "\t".to_owned(),
        Some(_) if depth > 0 && indent.len().is_multiple_of(depth) => {
            " ".repeat(indent.len() / depth)
        }
        _ => "  ".to_owned(),
    }
}

/// The layout of a new child of a container `depth` levels deep.
pub(crate) fn layout_for(
    text: &str,
    container: &JsonNode,
    depth: usize,
    newline: &str,
) -> JsonLayout {
    match container.children().last() {
        Some(last) => {
            let before = &text[..last.start];
            let gap = &before[before.trim_end().len()..];
            // Do not repeat the person's blank lines.
            let is_plain = !gap.contains('\n');
            let between = match gap.rfind('\n') {
                Some(at) => format!("{newline}{}", &gap[at + 1..]),
                None => gap.to_owned(),
            };
            JsonLayout { between, ..JsonLayout::at(text, last.start, depth + 1, newline, is_plain) }
        }
        None => {
            let close = container.span.end - 1;
            let outer = indent_of(text, container.span.start).to_owned();
            let step = step_of(&outer, depth);
            let indent = format!("{outer}{step}");
            let inner = &text[container.span.start + 1..close];
            // The closing bracket may be on a line of its own.
            let begun = inner.rfind('\n').map(|at| &inner[at + 1..]);
            let begun = begun.filter(|line| line.trim().is_empty());
            let before_only = match begun {
                Some(line) => indent.strip_prefix(line).unwrap_or_default().to_owned(),
                None => format!("{newline}{indent}"),
            };
            JsonLayout {
                between: String::new(),
                before_only,
                after_only: format!("{newline}{outer}"),
                newline: Some(newline.to_owned()),
                indent,
                step,
            }
        }
    }
}

/// Formats a child: a value, with its name if it is a member.
pub(crate) fn render(name: Option<&str>, value: &Value, style: &JsonLayout) -> String {
    let mut out = String::new();
    if let Some(name) = name {
        out.push_str(&quoted(name));
        out.push_str(if style.newline.is_some() { ": " } else { ":" });
    }
    write(&mut out, value, style, &style.indent);
    out
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn write(out: &mut String, value: &Value, style: &JsonLayout, indent: &str) {
    let Some(newline) = style.newline.as_deref() else {
        out.push_str(&value.to_string());
        return;
    };
    let deeper = format!("{indent}{}", style.step);
    let line = |out: &mut String, index: usize| {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str(newline);
        out.push_str(&deeper);
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (name, inner)) in members.iter().enumerate() {
                line(out, index);
                out.push_str(&quoted(name));
                out.push_str(": ");
                write(out, inner, style, &deeper);
            }
            out.push_str(newline);
            out.push_str(indent);
            out.push('}');
        }
        Value::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (index, inner) in elements.iter().enumerate() {
                line(out, index);
                write(out, inner, style, &deeper);
            }
            out.push_str(newline);
            out.push_str(indent);
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
