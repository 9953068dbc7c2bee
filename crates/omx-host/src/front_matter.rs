//! Front matter: the lines between two `---` lines at the start of a catalog file.
//!
//! The format is `KEY: VALUE` lines, a small subset of YAML. A role's front matter is
//! only for omx, so unknown keys are errors. A skill's is for its host as well, so
//! unknown keys are ignored.

/// An error in a catalog file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}")]
pub struct CatalogError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// The keys that a front matter may have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AllowedKeys<'a> {
    /// Only these.
    Only(&'a [&'a str]),
    /// Any; only these are read.
    Among(&'a [&'a str]),
}

/// A file's front matter and body.
#[derive(Debug)]
pub(crate) struct FrontMatter<'a> {
    file: &'a str,
    found: Vec<(&'a str, &'a str, usize)>,
    /// The text after the front matter, trimmed.
    pub body: String,
}

impl<'a> FrontMatter<'a> {
    /// Parses a file. `what` and `file` appear only in messages.
    pub fn parse(
        text: &'a str,
        what: &str,
        file: &'a str,
        keys: AllowedKeys<'_>,
    ) -> Result<Self, CatalogError> {
        let fail = |line: usize, why: String| CatalogError { file: file.to_owned(), line, why };
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line.trim_end()) != Some("---") {
            return Err(fail(1, format!("a {what} starts with front matter between --- lines")));
        }
        let mut found: Vec<(&str, &str, usize)> = Vec::new();
        let mut end = None;
        for (index, line) in lines.by_ref() {
            if line.trim_end() == "---" {
                end = Some(index);
                break;
            }
            let pair = line.split_once(':').map(|(key, value)| (key.trim_end(), value.trim()));
            let (key, value) = match (pair, keys) {
                (Some((key, value)), AllowedKeys::Only(known)) => {
                    let key = key.trim_start();
                    if !known.contains(&key) {
                        let why = format!("unknown key {key:?}; the keys are {}", known.join(", "));
                        return Err(fail(index + 1, why));
                    }
                    (key, value)
                }
                (None, AllowedKeys::Only(_)) => {
                    return Err(fail(index + 1, "expected KEY: VALUE".to_owned()));
                }
                (Some((key, value)), AllowedKeys::Among(known)) if known.contains(&key) => {
                    (key, value)
                }
                (_, AllowedKeys::Among(_)) => continue,
            };
            if found.iter().any(|(known, ..)| *known == key) {
                return Err(fail(index + 1, format!("{key} is given twice")));
            }
            found.push((key, value, index + 1));
        }
        let end = end.ok_or_else(|| fail(1, "the front matter is not closed".to_owned()))?;
        let body = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
        if body.is_empty() {
            return Err(fail(end + 1, "the prompt is missing".to_owned()));
        }
        Ok(Self { file, found, body })
    }

    /// The value of a required key, and its line.
    pub fn get(&self, key: &str) -> Result<(&'a str, usize), CatalogError> {
        let found = self.found.iter().find(|(known, value, _)| *known == key && !value.is_empty());
        match found {
            Some((_, value, line)) => Ok((value, *line)),
            None => Err(self.fail(1, format!("{key} is missing"))),
        }
    }

    /// An error at a line.
    pub fn fail(&self, line: usize, why: String) -> CatalogError {
        CatalogError { file: self.file.to_owned(), line, why }
    }
}
