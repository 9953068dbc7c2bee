//! The stages of a pipeline, from a built-in preset or the person's TOML file.

use std::path::Path;

use omx_kernel::{Refusal, presets};
use toml_edit::{Document, Item, Table};

use omx_runs::spec::PipelineStage;

const KEYS: [&str; 4] = ["name", "role", "prompt", "model"];

/// The stages of a built-in preset; defaults to the default preset.
pub fn preset_stages(name: Option<&str>) -> Result<Vec<PipelineStage>, Refusal> {
    let name = name.unwrap_or(presets::DEFAULT);
    let stages = presets::stage_names(name)
        .ok_or_else(|| Refusal::invalid_input(format!("there is no preset {name:?}")))?;
    let stage = |name: &&str| PipelineStage {
        name: (*name).to_owned(),
        role: presets::stage_role(name).to_owned(),
        prompt: String::new(),
        model: None,
    };
    Ok(stages.iter().map(stage).collect())
}

/// Reads stages from a file.
pub fn read_stages(file: &Path) -> Result<Vec<PipelineStage>, Refusal> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Refusal::invalid_input(format!("{}: {error}", file.display())))?;
    parse_stages(&text, &file.display().to_string())
}

/// Parses stages. Messages name `file` and the line.
pub fn parse_stages(text: &str, file: &str) -> Result<Vec<PipelineStage>, Refusal> {
    let document = Document::parse(text).map_err(|error| {
        fail(text, file, error.span().map_or(0, |span| span.start), error.message())
    })?;
    let root = document.as_table();
    if let Some((key, _)) = root.iter().find(|(key, _)| *key != "stage") {
        return Err(fail(
            text,
            file,
            at(root, key),
            &format!("unknown key {key:?}; wanted [[stage]]"),
        ));
    }
    let tables = root.get("stage").and_then(Item::as_array_of_tables);
    let tables = tables.ok_or_else(|| fail(text, file, 0, "at least one [[stage]] is needed"))?;
    let mut stages: Vec<PipelineStage> = Vec::new();
    for table in tables {
        let stage = stage(table, text, file)?;
        if stages.iter().any(|known| known.name == stage.name) {
            let words = format!("there are two stages {:?}", stage.name);
            return Err(fail(text, file, at(table, "name"), &words));
        }
        stages.push(stage);
    }
    Ok(stages)
}

fn stage(table: &Table, text: &str, file: &str) -> Result<PipelineStage, Refusal> {
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
        let words = format!("unknown key {key:?}; a stage has {}", KEYS.join(", "));
        return Err(fail(text, file, at(table, key), &words));
    }
    let value = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => match item.as_str() {
            Some(words) if !words.trim().is_empty() => Ok(Some(words.to_owned())),
            _ => {
                Err(fail(text, file, at(table, key), &format!("{key} must be a non-empty string")))
            }
        },
    };
    let begin = table.span().map_or(0, |span| span.start);
    let needed = |key: &str| {
        value(key)?.ok_or_else(|| fail(text, file, begin, &format!("a stage needs a {key}")))
    };
    let name = needed("name")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !name.chars().all(plain) {
        return Err(fail(text, file, at(table, "name"), "a name is letters, digits, - and _"));
    }
    Ok(PipelineStage {
        name,
        role: needed("role")?,
        prompt: value("prompt")?.unwrap_or_default(),
        model: value("model")?,
    })
}

fn at(table: &Table, key: &str) -> usize {
    let key = table.key(key).and_then(toml_edit::Key::span);
    key.map_or(0, |span| span.start)
}

fn fail(text: &str, file: &str, at: usize, words: &str) -> Refusal {
    let line = text.get(..at).unwrap_or_default().lines().count().max(1);
    Refusal::invalid_input(format!("{file}:{line}: {words}"))
}
