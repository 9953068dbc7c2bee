//! The JSON object of a request, from the command line or MCP. Both parse it here and
//! turn it into a typed request (`request.rs`); no operation sees the object itself.

use std::path::PathBuf;

use omx_kernel::fields::type_mismatch;
use omx_kernel::{Mode, Refusal, RefusalCode, SessionId, Value};
use omx_store::{MAX_DEPTH, MAX_DOCUMENT_BYTES, json};

/// The fields of a request, each name at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestFields {
    fields: Vec<(String, Value)>,
}

/// How many levels a request adds around a document: `state`, and the request itself.
const WRAPPING: usize = 2;

/// Parses the text of a request.
pub fn parse_fields(text: &str) -> Result<RequestFields, Refusal> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            format!("the input has more than {MAX_DOCUMENT_BYTES} bytes"),
        ));
    }
    let depth = json::nesting_depth(text);
    if depth > MAX_DEPTH + WRAPPING {
        return Err(Refusal::new(
            RefusalCode::TooLarge,
            format!("the input is nested {depth} levels deep; the limit is {MAX_DEPTH}"),
        ));
    }
    let value = json::parse(text.trim_start_matches('\u{feff}'))
        .map_err(|error| Refusal::invalid_input(format!("the input is not valid JSON: {error}")))?;
    let fields =
        value.into_object().map_err(|value| type_mismatch("the input", "a JSON object", &value))?;
    let mut input = RequestFields::default();
    for (name, value) in fields {
        input.set(&name, value)?;
    }
    Ok(input)
}

impl RequestFields {
    /// Adds a field. A flag may repeat a field, but not contradict it.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), Refusal> {
        match self.get(name) {
            None => self.fields.push((name.to_owned(), value)),
            Some(other) if *other == value => {}
            Some(_) => {
                return Err(Refusal::invalid_input(format!(
                    "{name} is given twice, with different values"
                )));
            }
        }
        Ok(())
    }

    /// The field with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All fields.
    pub fn into_fields(self) -> Vec<(String, Value)> {
        self.fields
    }

    /// The string in this field; `null` counts as absent.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.is_null() => Ok(None),
            Some(value) => {
                value.as_str().map(Some).ok_or_else(|| type_mismatch(name, "a string", value))
            }
        }
    }

    /// Whether this field is true; absent and `null` count as false.
    pub fn flag(&self, name: &str) -> Result<bool, Refusal> {
        match self.get(name) {
            None => Ok(false),
            Some(value) if value.is_null() => Ok(false),
            Some(value) => {
                value.as_bool().ok_or_else(|| type_mismatch(name, "true or false", value))
            }
        }
    }

    /// The mode, if one is named.
    pub fn mode(&self) -> Result<Option<Mode>, Refusal> {
        self.text("mode")?.map(Mode::parse).transpose()
    }

    /// The mode, which must be named.
    pub fn needed_mode(&self) -> Result<Mode, Refusal> {
        self.mode()?.ok_or_else(|| {
            let names: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
            Refusal::invalid_input(format!("mode is missing; use one of {}", names.join(", ")))
        })
    }

    /// The session, if one is named.
    pub fn session(&self) -> Result<Option<SessionId>, Refusal> {
        match self.text("session_id") {
            Ok(text) => text.map(SessionId::new).transpose(),
            Err(refusal) => Err(Refusal::new(RefusalCode::InvalidSessionId, refusal.message)),
        }
    }

    /// The project's folder, if one is named.
    pub fn project(&self) -> Result<Option<PathBuf>, Refusal> {
        Ok(self.text("workingDirectory")?.map(PathBuf::from))
    }

    /// The positive integer in this field, if there is one.
    pub fn count(&self, name: &str) -> Result<Option<u64>, Refusal> {
        match self.get(name) {
            None => Ok(None),
            Some(value) if value.is_null() => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if number > 0 => Ok(Some(number)),
                _ => Err(type_mismatch(name, "a positive whole number", value)),
            },
        }
    }

    /// Refuses fields that are not in `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => Err(Refusal::invalid_input(format!(
                "unknown field {:?}; known are {}",
                name.chars().take(60).collect::<String>(),
                known.join(", ")
            ))),
        }
    }
}
