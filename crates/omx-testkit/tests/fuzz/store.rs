//! JSON text, and scopes whose files hold anything.

use std::fmt;

use omx_kernel::{Scope, SessionId};
use omx_store::{Project, Store, StoreError, json};
use omx_testkit::fuzz::{Random, fuzz, json_text};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::place::{FuzzProject, fields};

#[test]
fn fuzz_json_text() {
    fuzz("fuzz_json_text", |rng| {
        let text = json_text(rng);
        let depth = json::nesting_depth(&text);
        let compact = json::compact(&text);
        let pretty = json::pretty(&text);
        let parsed = json::parse(&text);
        let object = json::parse_object(&text, |_| true);
        if serde_json::from_str::<IgnoredAny>(&text).is_err() {
            assert!(parsed.is_err(), "{text:?} is not JSON");
            return;
        }
        let trimmed = text.trim_matches([' ', '\t', '\r', '\n']);
        assert_eq!(parsed.unwrap().as_json(), trimmed, "the text is kept");
        assert_eq!(json::compact(&pretty), compact, "{text:?}");
        assert_eq!(json::compact(&compact), compact, "{text:?}");
        assert_eq!(json::pretty(&pretty), pretty, "{text:?}");
        serde_json::from_str::<IgnoredAny>(&pretty).unwrap();
        serde_json::from_str::<IgnoredAny>(&compact).unwrap();
        // Numbers beyond a float and lone surrogates are beyond this judge.
        let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) else { return };
        assert_eq!(serde_json::from_str::<serde_json::Value>(&pretty).unwrap(), value);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&compact).unwrap(), value);
        let Depth(wanted) = serde_json::from_str(&text).unwrap();
        assert_eq!(depth, wanted, "{text:?}");
        assert_eq!(object.is_ok(), value.is_object(), "{text:?}");
    });
}

/// How deeply a text is nested, as the parser meets it.
struct Depth(usize);

impl<'de> Deserialize<'de> for Depth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Levels)
    }
}

struct Levels;

impl<'de> Visitor<'de> for Levels {
    type Value = Depth;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_str<E>(self, _: &str) -> Result<Depth, E> {
        Ok(Depth(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Depth, A::Error> {
        let mut deepest = 0;
        while let Some(Depth(item)) = items.next_element()? {
            deepest = deepest.max(item);
        }
        Ok(Depth(deepest + 1))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Depth, A::Error> {
        let mut deepest = 0;
        while let Some((_, Depth(value))) = fields.next_entry::<String, Depth>()? {
            deepest = deepest.max(value);
        }
        Ok(Depth(deepest + 1))
    }
}

#[test]
fn fuzz_state_files() {
    fuzz("fuzz_state_files", |rng: &mut Random| {
        let place = FuzzProject::new(rng);
        let before = place.bytes();
        let store = Store::new(Project { root: place.root(), tree: place.root().join(".omx") });
        let state = store.read().unwrap().unwrap();
        let mut read = 0;
        for scope in [None, Some("s1"), Some("s2")] {
            let scope = Scope::from(scope.map(|id| SessionId::new(id).unwrap()));
            let Ok(found) = state.scope(&scope) else { continue };
            for (mode, document) in &found.snapshot.documents {
                let path = state.document_path(&scope, *mode);
                let stored = fields(&before[&path]).unwrap();
                let held = document.fields().iter();
                assert!(
                    held.map(|(name, value)| (name.clone(), value.as_json().to_owned())).eq(stored)
                );
                read += 1;
            }
            for unreadable in &found.unreadable {
                let bytes = &before[&unreadable.path];
                let is_document = serde_json::from_slice::<serde_json::Value>(bytes)
                    .is_ok_and(|value| value.is_object());
                let is_corrupt = matches!(unreadable.error, StoreError::Corrupt { .. });
                assert!(!(is_document && is_corrupt), "{}", unreadable.error);
                read += 1;
            }
        }
        let documents = place.documents(&before);
        assert_eq!(read, documents.len(), "every file is a document or unreadable");
        state.for_each_session(drop).unwrap();
        assert!(place.bytes() == before, "reading changes nothing");
    });
}
