//! The JSON schema of the configuration, generated from the table of keys.

use omx_kernel::config_keys::{KEYS, Kind};
use omx_kernel::{AgentKind, Dialect, Mode, Value};

/// The schema of a project's configuration file.
pub fn schema(dialect: Dialect) -> Value {
    let mut root = SchemaSection::default();
    for row in KEYS {
        let leaf = leaf(row.kind, row.default, row.meaning);
        let wildcard: Vec<&str> = match row.name {
            name if name.starts_with("tiers") => AgentKind::NAMES.to_vec(),
            name if name.starts_with("limits") => {
                Mode::ALL.iter().map(|mode| mode.name()).collect()
            }
            _ => vec!["*"],
        };
        if row.name == "notify.*" {
            root.put(&["notify"], leaf);
            continue;
        }
        let count = if row.name.contains('*') { wildcard.len() } else { 1 };
        for word in &wildcard[..count] {
            let name = row.name.replace('*', word);
            root.put(&name.split('.').collect::<Vec<_>>(), leaf.clone());
        }
    }
    let mut fields = vec![
        field("$schema", Value::string("https://json-schema.org/draft/2020-12/schema")),
        field("title", Value::string(&format!("{} configuration", dialect.name))),
    ];
    fields.extend(root.object());
    Value::object(fields)
}

fn field(name: &str, value: Value) -> (String, Value) {
    (name.to_owned(), value)
}

fn leaf(kind: Kind, default: Option<&str>, meaning: &str) -> Value {
    let mut fields = vec![field("description", Value::string(meaning))];
    let kind_name = match kind {
        Kind::Choice(_) | Kind::Text | Kind::Span | Kind::Store => "string",
        Kind::Count => "integer",
        Kind::Amount => "number",
        Kind::Any => "object",
        Kind::Paths => "array",
    };
    fields.push(field("type", Value::string(kind_name)));
    match kind {
        Kind::Choice(words) => fields.push(field("enum", Value::strings(words))),
        Kind::Count => fields.push(field("minimum", Value::integer(1))),
        Kind::Amount => fields.push(field("minimum", Value::integer(0))),
        _ => {}
    }
    if let Some(default) = default {
        let number = default.parse().ok().filter(|_| kind == Kind::Count).map(Value::integer);
        fields.push(field("default", number.unwrap_or_else(|| Value::string(default))));
    }
    Value::object(fields)
}

/// A section of the schema.
#[derive(Default)]
struct SchemaSection {
    children: Vec<(String, SchemaSection)>,
    leaf: Option<Value>,
}

impl SchemaSection {
    fn put(&mut self, path: &[&str], leaf: Value) {
        let [first, rest @ ..] = path else {
            self.leaf = Some(leaf);
            return;
        };
        let place = match self.children.iter().position(|(name, _)| name == first) {
            Some(place) => place,
            None => {
                self.children.push(((*first).to_owned(), SchemaSection::default()));
                self.children.len() - 1
            }
        };
        self.children[place].1.put(rest, leaf);
    }

    fn object(self) -> Vec<(String, Value)> {
        let (mut properties, mut others) = (Vec::new(), Value::bool(false));
        for (name, node) in self.children {
            let value = match node.leaf {
                Some(leaf) => leaf,
                None => Value::object(node.object()),
            };
            // A section whose names nobody can list, such as those of models.
            match name.as_str() {
                "*" => others = value,
                _ => properties.push((name, value)),
            }
        }
        vec![
            field("type", Value::string("object")),
            field("properties", Value::object(properties)),
            field("additionalProperties", others),
        ]
    }
}
