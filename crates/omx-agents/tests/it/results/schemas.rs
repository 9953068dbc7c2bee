//! The schemas: they satisfy every vendor's strict mode and match the published
//! files.

use std::collections::BTreeSet;
use std::path::Path;

use omx_agents::results::{ResultKind, published};
use serde_json::{Value, json};

use super::checker::misfit;
use super::samples::{good, with};

fn each_object<'a>(schema: &'a Value, see: &mut impl FnMut(&'a Value)) {
    if schema["type"] == "object" {
        see(schema);
    }
    for inner in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        each_object(inner.1, see);
    }
    if let Some(items) = schema.get("items") {
        each_object(items, see);
    }
}

#[test]
fn conductor_4_1_schemas_are_strict_and_explain_every_field() {
    for kind in ResultKind::ALL {
        let mut objects = 0;
        each_object(&kind.schema(), &mut |object| {
            objects += 1;
            let required = object["required"].as_array().unwrap();
            let required: BTreeSet<_> =
                required.iter().map(|name| name.as_str().unwrap()).collect();
            let properties = object["properties"].as_object().unwrap();
            assert_eq!(required, properties.keys().map(String::as_str).collect());
            assert_eq!(object["additionalProperties"], false);
            for (name, field) in properties {
                assert!(field["description"].as_str().is_some_and(|it| it.len() > 10), "{name}");
            }
        });
        assert_eq!(objects, 2 + usize::from(kind == ResultKind::Verification), "{kind:?}");
    }
}

#[test]
fn conductor_4_2_schemas_have_the_specified_fields() {
    let fields = |kind: ResultKind, pointer: &str| {
        let schema = kind.schema();
        let names = schema.pointer(&format!("{pointer}/required")).expect(pointer);
        names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let finding = "title file line severity detail";
    let review = ResultKind::ALL[1];
    for (kind, pointer, wanted) in [
        (ResultKind::Plan, "", "title summary plan_markdown test_spec_markdown subtasks"),
        (
            ResultKind::Plan,
            "/properties/subtasks/items",
            "id subject description role files blocked_by acceptance",
        ),
        (review, "", "lane verdict findings summary"),
        (review, "/properties/findings/items", finding),
        (ResultKind::Work, "", "summary changed_files commands done blocked_reason"),
        (ResultKind::Work, "/properties/commands/items", "command exit_code"),
        (ResultKind::Verification, "", "passed checks findings"),
        (ResultKind::Verification, "/properties/checks/items", "name command exit_code evidence"),
        (ResultKind::Verification, "/properties/findings/items", finding),
    ] {
        let names: Vec<String> = fields(kind, pointer);
        assert_eq!(names.join(" "), wanted);
    }
}

#[test]
fn conductor_4_2_a_review_schema_allows_only_the_words_of_its_lane() {
    let (_, general) = published().into_iter().find(|(name, _)| *name == "review").unwrap();
    for kind in ResultKind::ALL {
        let ResultKind::Review(review) = kind else { continue };
        let schema = kind.schema();
        let verdicts = review.verdicts().map(|verdict| verdict.as_str());
        assert_eq!(schema["properties"]["lane"]["enum"], json!([review.lane().as_str()]));
        assert_eq!(schema["properties"]["verdict"]["enum"], json!(verdicts));
        let widened = ["lane", "verdict"].into_iter().fold(schema.clone(), |schema, name| {
            let pointer = format!("/properties/{name}/enum");
            with(schema, &pointer, general.pointer(&pointer).cloned())
        });
        assert_eq!(widened, general, "nothing else differs");
        assert_eq!(misfit(&general, &good(kind)), None);
    }
}

/// To accept a change: `UPDATE_SCHEMAS=1 cargo test -p omx-agents published`.
#[test]
fn conductor_4_2_published_schemas_match_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for (name, schema) in published() {
        let file = folder.join(format!("{name}.json"));
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if update {
            std::fs::write(&file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&file).expect(name);
        assert_eq!(kept, text, "{} differs from the types", file.display());
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let names: BTreeSet<_> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    let wanted = published().map(|(name, _)| format!("{name}.json"));
    assert_eq!(names, wanted.into_iter().collect(), "no schema without a result");
}
