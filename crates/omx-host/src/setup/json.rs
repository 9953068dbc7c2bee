//! Changing JSON, with or without comments, byte for byte: the text is read
//! into a tree that knows where everything stands, and a change is one piece
//! of text put in or cut out. Nothing is ever printed anew.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::EditError;
use super::fragment::{Fragment, FragmentSlot};
use super::json_text::{JsonLayout, render, style_of};

/// A value with its place in the text.
pub(crate) struct JsonNode {
    pub span: Range<usize>,
    pub value: Value,
    pub inside: NodeContent,
}

/// What a value holds.
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

    /// The nodes below a path, from the root on, as far as they are there.
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

    /// Where the children stand, first to last.
    pub fn children(&self) -> Vec<Range<usize>> {
        match &self.inside {
            NodeContent::Members(members) => members.iter().map(|m| m.span.clone()).collect(),
            NodeContent::Elements(elements) => elements.iter().map(|e| e.span.clone()).collect(),
            NodeContent::Nothing => Vec::new(),
        }
    }
}

/// Reads a file whose content is an object.
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
        _ => Err(EditError("it holds no JSON object".to_owned())),
    }
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
                    return Err(EditError(format!("{name:?} stands there twice")));
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

/// What stands in a slot: a member's value, or all elements of an array.
pub(crate) fn standing(text: &str, slot: &FragmentSlot) -> Result<Vec<Value>, EditError> {
    let root = read(text)?;
    let Some(node) = root.at(slot.path()) else { return Ok(Vec::new()) };
    Ok(match slot {
        FragmentSlot::Element(_) => {
            node.elements().iter().map(|element| element.value.clone()).collect()
        }
        _ => vec![node.value.clone()],
    })
}

/// Puts a value into an empty slot, with the containers that are missing.
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
        _ => return Err(EditError(format!("{} stands there already", path.join(".")))),
    };
    let fits = matches!(
        (&container.inside, there == path.len()),
        (NodeContent::Members(_), false) | (NodeContent::Elements(_), true)
    );
    if !fits {
        let name = path[..there].join(".");
        return Err(EditError(format!("{name} is not what omx would put its part into")));
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
    let style = style_of(text, container, there, newline);
    let body = render(missing.first().map(String::as_str), &inner, &style);
    let (at, piece, lead) = piece(container, &body, &style);
    let part = Fragment::written(slot, value, piece.clone(), lead, made);
    Ok((format!("{}{piece}{}", &text[..at], &text[at..]), part))
}

/// The text to put in, where, and how many bytes of it come before the child.
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

/// Gives a part another value, in its place.
pub(crate) fn replace(
    text: &str,
    old: &Fragment,
    value: &Value,
    newline: &str,
) -> Result<(String, Fragment), EditError> {
    let root = read(text)?;
    let Some((span, depth, is_plain)) = place_of(&root, text, old) else {
        return Err(EditError("omx's part is not there".to_owned()));
    };
    let style = JsonLayout::at(text, span.start, depth, newline, is_plain);
    let body = render(None, value, &style);
    let new = format!("{}{body}{}", &text[..span.start], &text[span.end..]);
    // Other parts may stand inside what came with this one, so the text that
    // was put in is known by itself, not by what is in the file now.
    let before = &text[span];
    let is_known = old.text.matches(before).count() == 1;
    let piece = if is_known { old.text.replace(before, &body) } else { String::new() };
    Ok((new, Fragment { value: value.clone(), text: piece, ..old.clone() }))
}

/// Where a part's own value stands, how deep, and whether on one line.
fn place_of(root: &JsonNode, text: &str, part: &Fragment) -> Option<(Range<usize>, usize, bool)> {
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

/// The outermost thing that came with a part: a member or an element.
fn outer(root: &JsonNode, part: &Fragment) -> Option<Range<usize>> {
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

/// Where the very text that was put in still stands.
fn exact(root: &JsonNode, text: &str, part: &Fragment) -> Option<Range<usize>> {
    if part.text.is_empty() {
        return None;
    }
    let start = outer(root, part)?.start.checked_sub(part.lead)?;
    let range = start..start + part.text.len();
    (text.get(range.clone())? == part.text).then_some(range)
}

/// Takes a part out: the very text that was put in where it still stands as
/// it was, else the value with its comma and containers left empty.
pub(crate) fn remove(text: &str, part: &Fragment) -> Result<String, EditError> {
    let root = read(text)?;
    if let Some(range) = exact(&root, text, part) {
        let rest = format!("{}{}", &text[..range.start], &text[range.end..]);
        // Something may have been added on our comma.
        if read(&rest).is_ok() {
            return Ok(rest);
        }
    }
    let path = part.slot.path();
    let node = root.at(path).ok_or_else(|| EditError("omx's part is not there".to_owned()))?;
    let mut rest;
    let mut up = path.len();
    if let FragmentSlot::Element(_) = part.slot {
        let index = node.elements().iter().position(|element| element.value == part.value);
        let index = index.ok_or_else(|| EditError("omx's part is not there".to_owned()))?;
        rest = without(text, node, index);
    } else {
        rest = without_member(text, &root, path)?;
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
        rest = without_member(&rest, &root, &path[..up])?;
        up -= 1;
    }
    Ok(rest)
}

fn without_member(text: &str, root: &JsonNode, path: &[String]) -> Result<String, EditError> {
    let missing = || EditError("omx's part is not there".to_owned());
    let (name, above) = path.split_last().ok_or_else(missing)?;
    let container = root.at(above).ok_or_else(missing)?;
    let NodeContent::Members(members) = &container.inside else { return Err(missing()) };
    let index = members.iter().position(|member| member.name == *name).ok_or_else(missing)?;
    Ok(without(text, container, index))
}

/// The text without a container's child and one of the commas beside it.
/// Comments stay.
fn without(text: &str, container: &JsonNode, index: usize) -> String {
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
        // A comment stands in the way: only the comma nearest to us goes.
        (Some(end), _) => {
            let gap = &text[end..child.start];
            let comma = end + comma_of(gap).unwrap_or(0);
            let kept = &text[comma + 1..child.start];
            format!("{}{kept}{}", &text[..comma], &text[child.end..])
        }
        (None, Some(next)) => {
            let comma = child.end + comma_of(&text[child.end..next]).unwrap_or(0);
            let kept = &text[child.end..comma];
            format!("{}{kept}{}", &text[..child.start], &text[comma + 1..])
        }
    }
}

/// Where the comma between two children is; one in a comment does not count.
fn comma_of(gap: &str) -> Option<usize> {
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
