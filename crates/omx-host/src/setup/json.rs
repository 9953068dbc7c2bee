//! Edits JSON in place, with or without comments. The text is parsed into a tree with
//! the position of every node, and an edit inserts or removes one piece of text. The
//! rest of the file is never printed again, so its bytes stay as they are.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::EditError;
use super::fragment::{Fragment, FragmentSlot};
use super::json_text::{JsonLayout, layout_for, render};
use super::text::TextForm;

/// A value with its position in the text.
pub(crate) struct JsonNode {
    pub span: Range<usize>,
    pub value: Value,
    pub inside: NodeContent,
}

/// The content of a value.
pub(crate) enum NodeContent {
    Members(Vec<Member>),
    Elements(Vec<JsonNode>),
    Nothing,
}

/// A member of an object, from its name to the end of its value.
pub(crate) struct Member {
    pub span: Range<usize>,
    pub name: String,
    pub node: JsonNode,
}

impl JsonNode {
    pub fn member(&self, name: &str) -> Option<&Member> {
        match &self.inside {
            NodeContent::Members(members) => members.iter().find(|member| member.name == name),
            _ => None,
        }
    }

    /// The nodes along a path from the root, as far as they exist.
    fn walk(&self, path: &[String]) -> Vec<&JsonNode> {
        let mut nodes = vec![self];
        for name in path {
            match nodes.last().and_then(|node| node.member(name)) {
                Some(member) => nodes.push(&member.node),
                None => break,
            }
        }
        nodes
    }

    pub fn at(&self, path: &[String]) -> Option<&JsonNode> {
        self.walk(path).get(path.len()).copied()
    }

    fn elements(&self) -> &[JsonNode] {
        match &self.inside {
            NodeContent::Elements(elements) => elements,
            _ => &[],
        }
    }

    /// The positions of the children, in order.
    pub fn children(&self) -> Vec<Range<usize>> {
        match &self.inside {
            NodeContent::Members(members) => members.iter().map(|m| m.span.clone()).collect(),
            NodeContent::Elements(elements) => elements.iter().map(|e| e.span.clone()).collect(),
            NodeContent::Nothing => Vec::new(),
        }
    }
}

/// Parses a file that must hold an object.
pub(crate) fn read(text: &str) -> Result<JsonNode, EditError> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| EditError(format!("it is not JSON: {error}")))?;
    let root = parsed.value.ok_or_else(|| EditError("it is not JSON: it is empty".to_owned()))?;
    let root = node(&root)?;
    match root.inside {
        NodeContent::Members(_) => Ok(root),
        _ => Err(EditError("it is not a JSON object".to_owned())),
    }
}

/// Parses a host's settings file as the host does: with a byte-order mark and comments.
/// `None` if it is no JSON object.
pub(crate) fn parse_settings(text: &str) -> Option<Value> {
    let (_, body) = TextForm::split(text);
    read(body).ok().map(|root| root.value)
}

fn node(value: &ast::Value<'_>) -> Result<JsonNode, EditError> {
    let span = value.range().start..value.range().end;
    let (value, inside) = match value {
        ast::Value::Object(object) => {
            let mut members: Vec<Member> = Vec::new();
            let mut map = serde_json::Map::new();
            for property in &object.properties {
                let name = property.name.as_str().to_owned();
                let inner = node(&property.value)?;
                if map.insert(name.clone(), inner.value.clone()).is_some() {
                    return Err(EditError(format!("{name:?} appears twice")));
                }
                let span = property.range.start..property.range.end;
                members.push(Member { span, name, node: inner });
            }
            (Value::Object(map), NodeContent::Members(members))
        }
        ast::Value::Array(array) => {
            let elements = array.elements.iter().map(node).collect::<Result<Vec<_>, _>>()?;
            let values = elements.iter().map(|element| element.value.clone()).collect();
            (Value::Array(values), NodeContent::Elements(elements))
        }
        ast::Value::StringLit(text) => {
            (Value::String(text.value.clone().into_owned()), NodeContent::Nothing)
        }
        ast::Value::NumberLit(number) => {
            let value = serde_json::from_str(number.value)
                .unwrap_or_else(|_| Value::String(number.value.to_owned()));
            (value, NodeContent::Nothing)
        }
        ast::Value::BooleanLit(boolean) => (Value::Bool(boolean.value), NodeContent::Nothing),
        ast::Value::NullKeyword(_) => (Value::Null, NodeContent::Nothing),
    };
    Ok(JsonNode { span, value, inside })
}

/// Reads the values in a slot: a member's value, or all elements of an array.
pub(crate) fn read_values(text: &str, slot: &FragmentSlot) -> Result<Vec<Value>, EditError> {
    let root = read(text)?;
    let Some(node) = root.at(slot.path()) else { return Ok(Vec::new()) };
    Ok(match slot {
        FragmentSlot::Element(_) => {
            node.elements().iter().map(|element| element.value.clone()).collect()
        }
        _ => vec![node.value.clone()],
    })
}

/// Inserts a value into an empty slot, along with missing containers.
pub(crate) fn insert(
    text: &str,
    slot: &FragmentSlot,
    value: &Value,
    newline: &str,
) -> Result<(String, Fragment), EditError> {
    let root = read(text)?;
    let path = slot.path();
    let walked = root.walk(path);
    let (container, there) = match walked.last() {
        Some(node) if walked.len() <= path.len() || matches!(slot, FragmentSlot::Element(_)) => {
            (*node, walked.len() - 1)
        }
        _ => return Err(EditError(format!("{} exists already", path.join(".")))),
    };
    let fits = matches!(
        (&container.inside, there == path.len()),
        (NodeContent::Members(_), false) | (NodeContent::Elements(_), true)
    );
    if !fits {
        let name = path[..there].join(".");
        return Err(EditError(format!(
            "{name} has an unexpected type, so setup cannot add its entry to it"
        )));
    }
    let missing = &path[there..];
    let mut inner = match slot {
        FragmentSlot::Element(_) if !missing.is_empty() => Value::Array(vec![value.clone()]),
        _ => value.clone(),
    };
    for name in missing.iter().skip(1).rev() {
        inner = Value::Object([(name.clone(), inner)].into_iter().collect());
    }
    let made = match slot {
        FragmentSlot::Element(_) => missing.len(),
        _ => missing.len() - 1,
    };
    let style = layout_for(text, container, there, newline);
    let body = render(missing.first().map(String::as_str), &inner, &style);
    let (at, piece, lead) = piece(container, &body, &style);
    let part = Fragment::written(slot, value, piece.clone(), lead, made);
    Ok((format!("{}{piece}{}", &text[..at], &text[at..]), part))
}

/// Where to insert, the text, and how many bytes of it precede the child.
fn piece(container: &JsonNode, body: &str, style: &JsonLayout) -> (usize, String, usize) {
    match container.children().last() {
        Some(last) => {
            let before = format!(",{}", style.between);
            (last.end, format!("{before}{body}"), before.len())
        }
        None => (
            container.span.end - 1,
            format!("{}{body}{}", style.before_only, style.after_only),
            style.before_only.len(),
        ),
    }
}

/// Replaces a fragment's value where it is.
pub(crate) fn replace(
    text: &str,
    old: &Fragment,
    value: &Value,
    newline: &str,
) -> Result<(String, Fragment), EditError> {
    let root = read(text)?;
    let Some((span, depth, is_plain)) = find_value(&root, text, old) else {
        return Err(EditError("the entry is missing".to_owned()));
    };
    let style = JsonLayout::at(text, span.start, depth, newline, is_plain);
    let body = render(None, value, &style);
    let new = format!("{}{body}{}", &text[..span.start], &text[span.end..]);
    // Other fragments may be inside containers that came with this one, so the
    // inserted text is derived from the old one, not from the file.
    let before = &text[span];
    let is_known = old.text.matches(before).count() == 1;
    let piece = if is_known { old.text.replace(before, &body) } else { String::new() };
    Ok((new, Fragment { value: value.clone(), text: piece, ..old.clone() }))
}

/// The position of a fragment's value, its depth, and whether it is on one line.
fn find_value(root: &JsonNode, text: &str, part: &Fragment) -> Option<(Range<usize>, usize, bool)> {
    let path = part.slot.path();
    let node = root.at(path)?;
    let (found, depth) = match part.slot {
        FragmentSlot::Element(_) => {
            (node.elements().iter().find(|element| element.value == part.value)?, path.len() + 1)
        }
        _ => (node, path.len()),
    };
    let is_plain = !text[found.span.clone()].contains('\n');
    Some((found.span.clone(), depth, is_plain))
}

/// The outermost member or element that came with a fragment.
fn find_outermost(root: &JsonNode, part: &Fragment) -> Option<Range<usize>> {
    let path = part.slot.path();
    let inner = matches!(part.slot, FragmentSlot::Element(_)) && part.made == 0;
    if inner {
        let elements = root.at(path)?.elements();
        return Some(elements.iter().find(|e| e.value == part.value)?.span.clone());
    }
    let up = if matches!(part.slot, FragmentSlot::Element(_)) { part.made - 1 } else { part.made };
    let (name, above) = path.get(..path.len().checked_sub(up)?)?.split_last()?;
    Some(root.at(above)?.member(name)?.span.clone())
}

/// Where the inserted text still is, byte for byte.
fn find_inserted(root: &JsonNode, text: &str, part: &Fragment) -> Option<Range<usize>> {
    if part.text.is_empty() {
        return None;
    }
    let start = find_outermost(root, part)?.start.checked_sub(part.lead)?;
    let range = start..start + part.text.len();
    (text.get(range.clone())? == part.text).then_some(range)
}

/// Removes a fragment: exactly the inserted text if it is unchanged, else the value
/// with its comma and the containers that are empty then.
pub(crate) fn remove(text: &str, part: &Fragment) -> Result<String, EditError> {
    let root = read(text)?;
    if let Some(range) = find_inserted(&root, text, part) {
        let rest = format!("{}{}", &text[..range.start], &text[range.end..]);
        // Something that was added later may need our comma.
        if read(&rest).is_ok() {
            return Ok(rest);
        }
    }
    let path = part.slot.path();
    let node = root.at(path).ok_or_else(|| EditError("the entry is missing".to_owned()))?;
    let mut rest;
    let mut up = path.len();
    if let FragmentSlot::Element(_) = part.slot {
        let index = node.elements().iter().position(|element| element.value == part.value);
        let index = index.ok_or_else(|| EditError("the entry is missing".to_owned()))?;
        rest = remove_child(text, node, index);
    } else {
        rest = remove_member(text, &root, path)?;
        up -= 1;
    }
    for _ in 0..part.made {
        let root = read(&rest)?;
        let is_empty = root.at(&path[..up]).is_some_and(|node| {
            let inner = &rest[node.span.start + 1..node.span.end - 1];
            node.children().is_empty() && inner.trim().is_empty()
        });
        if !is_empty || up == 0 {
            break;
        }
        rest = remove_member(&rest, &root, &path[..up])?;
        up -= 1;
    }
    Ok(rest)
}

fn remove_member(text: &str, root: &JsonNode, path: &[String]) -> Result<String, EditError> {
    let missing = || EditError("the entry is missing".to_owned());
    let (name, above) = path.split_last().ok_or_else(missing)?;
    let container = root.at(above).ok_or_else(missing)?;
    let NodeContent::Members(members) = &container.inside else { return Err(missing()) };
    let index = members.iter().position(|member| member.name == *name).ok_or_else(missing)?;
    Ok(remove_child(text, container, index))
}

/// Removes a container's child and one of the commas beside it. Comments stay.
fn remove_child(text: &str, container: &JsonNode, index: usize) -> String {
    let children = container.children();
    let child = &children[index];
    let is_bare = |gap: &str| gap.chars().all(|c| c.is_whitespace() || c == ',');
    let cut = |range: Range<usize>| format!("{}{}", &text[..range.start], &text[range.end..]);
    let before = index.checked_sub(1).map(|index| children[index].end);
    let after = children.get(index + 1).map(|next| next.start);
    match (before, after) {
        (Some(end), _) if is_bare(&text[end..child.start]) => cut(end..child.end),
        (_, Some(next)) if is_bare(&text[child.end..next]) => cut(child.start..next),
        (None, None) => {
            let (open, close) = (container.span.start + 1, container.span.end - 1);
            let is_alone = is_bare(&text[open..child.start]) && is_bare(&text[child.end..close]);
            cut(if is_alone { open..close } else { child.clone() })
        }
        // A comment is in the way: remove only the nearest comma.
        (Some(end), _) => {
            let gap = &text[end..child.start];
            let comma = end + find_comma(gap).unwrap_or(0);
            let kept = &text[comma + 1..child.start];
            format!("{}{kept}{}", &text[..comma], &text[child.end..])
        }
        (None, Some(next)) => {
            let comma = child.end + find_comma(&text[child.end..next]).unwrap_or(0);
            let kept = &text[child.end..comma];
            format!("{}{kept}{}", &text[..child.start], &text[comma + 1..])
        }
    }
}

/// Finds the comma between two children, ignoring commas in comments.
fn find_comma(gap: &str) -> Option<usize> {
    let mut rest = 0;
    while let Some(next) = gap.get(rest..) {
        let comma = next.find(',');
        let comment = next.find("//").into_iter().chain(next.find("/*")).min();
        match (comma, comment) {
            (Some(comma), Some(comment)) if comment < comma => {
                let end = if next[comment..].starts_with("//") { "\n" } else { "*/" };
                let length = next[comment + 2..].find(end)?;
                rest += comment + 2 + length + end.len();
            }
            (Some(comma), _) => return Some(rest + comma),
            (None, _) => return None,
        }
    }
    None
}
