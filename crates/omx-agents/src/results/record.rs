//! One declaration of a record gives its type, its schema and its reader, so
//! that what a program is told to answer with is what is accepted.

use serde_json::{Map, Value, json};

use super::place::Place;
use super::problem::{ResultProblem, shortened};

/// A type that can stand in a result.
pub trait Field: Sized {
    /// How its value is handed out.
    type Shown<'a>
    where
        Self: 'a;

    /// The JSON schema of its values. It uses only what every vendor's strict
    /// mode knows; finer rules are told in words and kept by the reader.
    fn schema() -> Value;

    /// Reads a value.
    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem>;

    /// What a field is that is not there.
    fn absent(place: &Place<'_>) -> Result<Self, ResultProblem> {
        Err(ResultProblem::Missing { place: place.words() })
    }

    /// Whether a value says no more than that there is none, where none may be.
    fn is_none(value: &Value) -> bool {
        value.is_null()
    }

    /// Hands the value out.
    fn shown(&self) -> Self::Shown<'_>;
}

/// The fields of an object that is being read.
pub(super) struct Fields<'a> {
    object: Map<String, Value>,
    place: &'a Place<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(
        value: Value,
        place: &'a Place<'a>,
        known: &[&str],
    ) -> Result<Self, ResultProblem> {
        let Value::Object(object) = value else {
            return Err(ResultProblem::wrong(place, "an object", &value));
        };
        match object.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(ResultProblem::Unknown {
                place: Place::Field(place, name).words(),
                known: known.join(", "),
            }),
            None => Ok(Self { object, place }),
        }
    }

    pub(super) fn take<T: Field>(&mut self, name: &str) -> Result<T, ResultProblem> {
        let place = Place::Field(self.place, name);
        match self.object.remove(name) {
            Some(value) => T::read(value, &place),
            None => T::absent(&place),
        }
    }
}

/// The schema of an object: every field required, no other allowed.
pub(super) fn object_schema(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields: Vec<_> = fields.into_iter().collect();
    let required: Vec<_> = fields.iter().map(|(name, _)| *name).collect();
    let properties: Map<_, _> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// A schema with the words that explain it.
pub(super) fn described(mut schema: Value, lines: &[&str]) -> Value {
    let words: Vec<_> = lines.iter().map(|line| line.trim()).collect();
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), words.join(" ").into());
    }
    schema
}

/// An enumeration whose values are words.
pub trait Word: Copy + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// The word of a value.
    fn word(self) -> &'static str;
}

impl<T: Word> Field for T {
    type Shown<'a> = Self;

    fn schema() -> Value {
        let words: Vec<_> = T::ALL.iter().map(|value| value.word()).collect();
        json!({"type": "string", "enum": words})
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        let word = value.as_str().unwrap_or_default();
        let found = T::ALL.iter().find(|known| known.word() == word);
        let wanted = || one_of(T::ALL.iter().map(|known| known.word()));
        found.copied().ok_or_else(|| ResultProblem::wrong(place, wanted(), &value))
    }

    fn shown(&self) -> Self {
        *self
    }
}

/// Words to choose from, for a sentence.
pub(super) fn one_of(words: impl IntoIterator<Item = &'static str>) -> String {
    let words: Vec<_> = words.into_iter().map(shortened).collect();
    match words.as_slice() {
        [word] => word.clone(),
        _ => format!("one of {}", words.join(", ")),
    }
}

/// Declares a record: `field: Type as what its getter gives`. The comments of
/// the fields are also what the schema tells the agent.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $($(#[doc = $line:literal])+ $field:ident: $type:ty as $shown:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
        pub struct $name {
            $($field: $type,)+
        }

        impl $name {
            $($(#[doc = $line])+
            pub fn $field(&self) -> $shown {
                $crate::results::record::Field::shown(&self.$field)
            })+
        }

        impl $crate::results::record::Field for $name {
            type Shown<'a> = &'a Self;

            fn schema() -> serde_json::Value {
                use $crate::results::record::{Field, described, object_schema};
                object_schema([
                    $((stringify!($field), described(<$type as Field>::schema(), &[$($line),+])),)+
                ])
            }

            fn read(
                value: serde_json::Value,
                place: &$crate::results::place::Place<'_>,
            ) -> Result<Self, $crate::results::problem::ResultProblem> {
                use $crate::results::record::Fields;
                let mut fields = Fields::of(value, place, &[$(stringify!($field)),+])?;
                Ok(Self { $($field: fields.take(stringify!($field))?,)+ })
            }

            fn shown(&self) -> &Self {
                self
            }
        }
    };
}

pub(super) use record;
