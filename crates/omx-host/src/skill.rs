//! A skill: front matter for a host, and instructions for its agent.

use std::path::PathBuf;

use crate::front_matter::{AllowedKeys, CatalogError, FrontMatter};

/// A skill of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is also the name of its folder.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// The instructions for the agent.
    pub prompt: String,
    /// The whole file.
    pub text: String,
    /// The project's file; `None` for a built-in skill.
    pub file: Option<PathBuf>,
}

const KEYS: [&str; 2] = ["name", "description"];

/// Hosts reject longer names.
const MAX_NAME_CHARS: usize = 64;

/// Hosts cut or reject longer descriptions.
const MAX_DESCRIPTION_CHARS: usize = 500;

impl Skill {
    /// Parses a skill. `file` appears only in messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, CatalogError> {
        let matter = FrontMatter::parse(text, "skill", file, AllowedKeys::Among(&KEYS))?;
        let (name, name_line) = matter.get("name")?;
        let (description, line) = matter.get("description")?;
        let fits = |name: &str| {
            let is_part = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            };
            name.len() <= MAX_NAME_CHARS && name.split('-').all(is_part)
        };
        let name = unquoted(name);
        if !fits(name) {
            let why = format!(
                "{name:?} is not a valid name; use lowercase letters, digits and single hyphens, at most {MAX_NAME_CHARS} characters"
            );
            return Err(matter.fail(name_line, why));
        }
        if description.starts_with(['>', '|']) {
            return Err(matter.fail(line, "description must be on one line".to_owned()));
        }
        let description = unquoted(description);
        if description.chars().count() > MAX_DESCRIPTION_CHARS {
            let why = format!("description has more than {MAX_DESCRIPTION_CHARS} characters");
            return Err(matter.fail(line, why));
        }
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            prompt: matter.body,
            text: text.to_owned(),
            file: None,
        })
    }
}

/// Removes the quotation marks around a value.
fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|mark| value.strip_prefix(mark)?.strip_suffix(mark))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "---\nname: x-1\ndescription: \"d e\"\nallowed-tools:\n  - Read\n---\n\nDo it.\n";

    #[test]
    fn hosts_5_3_a_skill_is_read_whole_and_keys_of_its_host_stay() {
        let skill = Skill::parse(GOOD, "x/SKILL.md").unwrap();
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("x-1", "d e"));
        assert_eq!((skill.prompt.as_str(), skill.text.as_str()), ("Do it.", GOOD));
    }

    #[test]
    fn hosts_5_3_what_is_wrong_with_a_skill_is_named_with_its_line() {
        let long = format!("description: {}", "x".repeat(501));
        for (from, to, line, word) in [
            ("---\nname", "name", 1, "skill"),
            ("name: x-1", "name: X", 2, "lowercase letters"),
            ("name: x-1", "name: ../x", 2, "lowercase letters"),
            ("name: x-1", "name: x--1", 2, "hyphens"),
            ("name: x-1", "", 1, "name is missing"),
            ("description: \"d e\"", "description: >", 3, "one line"),
            ("description: \"d e\"", &long, 3, "500"),
            ("description: \"d e\"", "name: y", 3, "twice"),
            ("Do it.", "", 6, "prompt"),
        ] {
            let error = Skill::parse(&GOOD.replacen(from, to, 1), "x/SKILL.md").unwrap_err();
            assert!(error.why.contains(word), "{error}");
            assert_eq!(error.line, line, "{error}");
        }
    }
}
