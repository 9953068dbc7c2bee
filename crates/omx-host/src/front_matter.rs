//! The lines between two `---` at the head of a file of the catalogue.
//!
//! `KEY: VALUE` lines, a small part of YAML. A role's front matter is ours and
//! closed; a skill's belongs to its host as well, so what is not understood
//! there is passed over.

/// What is wrong with a file of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}")]
pub struct CatalogueError {
    /// Which file.
    pub file: String,
    /// Which line.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// Which keys a front matter takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keys<'a> {
    /// These and no other.
    Only(&'a [&'a str]),
    /// These matter, others are passed over whatever they hold.
    Among(&'a [&'a str]),
}

/// A front matter and what follows it.
#[derive(Debug)]
pub(crate) struct FrontMatter<'a> {
    file: &'a str,
    found: Vec<(&'a str, &'a str, usize)>,
    /// The rest, without white space around it.
    pub body: String,
}

impl<'a> FrontMatter<'a> {
    /// Reads a text. `what` and `file` are only for messages.
    pub fn parse(
        text: &'a str,
        what: &str,
        file: &'a str,
        keys: Keys<'_>,
    ) -> Result<Self, CatalogueError> {
        let fail = |line: usize, why: String| CatalogueError { file: file.to_owned(), line, why };
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line.trim_end()) != Some("---") {
            return Err(fail(1, format!("a {what} begins with front matter between --- lines")));
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
                (Some((key, value)), Keys::Only(known)) => {
                    let key = key.trim_start();
                    if !known.contains(&key) {
                        let why = format!("unknown key {key:?}; known are {}", known.join(", "));
                        return Err(fail(index + 1, why));
                    }
                    (key, value)
                }
                (None, Keys::Only(_)) => {
                    return Err(fail(index + 1, "wanted KEY: VALUE".to_owned()));
                }
                (Some((key, value)), Keys::Among(known)) if known.contains(&key) => (key, value),
                (_, Keys::Among(_)) => continue,
            };
            if found.iter().any(|(known, ..)| *known == key) {
                return Err(fail(index + 1, format!("{key} stands there twice")));
            }
            found.push((key, value, index + 1));
        }
        let end = end.ok_or_else(|| fail(1, "the front matter has no end".to_owned()))?;
        let body = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n").trim().to_owned();
        if body.is_empty() {
            return Err(fail(end + 1, "the prompt is missing".to_owned()));
        }
        Ok(Self { file, found, body })
    }

    /// The value of a key that must be there, and its line.
    pub fn get(&self, key: &str) -> Result<(&'a str, usize), CatalogueError> {
        let found = self.found.iter().find(|(known, value, _)| *known == key && !value.is_empty());
        match found {
            Some((_, value, line)) => Ok((value, *line)),
            None => Err(self.fail(1, format!("{key} is missing"))),
        }
    }

    /// The complaint about a line.
    pub fn fail(&self, line: usize, why: String) -> CatalogueError {
        CatalogueError { file: self.file.to_owned(), line, why }
    }
}
