//! Each cycle of plan, implementation and review has its own evidence. A review that is not
//! clean closes the cycle: its hand-offs move to `history`, and the next cycle starts
//! without them.

use crate::document::Document;
use crate::request::WriteRequest;
use crate::value::Value;

/// The hand-offs that belong to one cycle and open its gates.
const CYCLE_HANDOFFS: [&str; 2] = ["ralplan", "ralph"];

/// Moves what belongs to the cycle to `history`. The review stays, as the input of the
/// next plan.
pub(crate) fn close_cycle(document: &mut Document, base: &Document) {
    let mut entry = Vec::new();
    let mut keep = |name: &str, value: Option<&Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            entry.push((name.to_owned(), value.clone()));
        }
    };
    for name in ["iteration", "review_cycle"] {
        keep(name, base.get(name));
    }
    for name in ["handoff_artifacts", "stage_results", "review_verdict", "return_to_ralplan_reason"]
    {
        keep(name, document.get(name));
    }
    let mut history = match document.get("history") {
        None => Vec::new(),
        Some(value) => match value.as_array() {
            Some(entries) => entries.to_vec(),
            // Written by another program.
            None => vec![value.clone()],
        },
    };
    history.push(Value::object(entry));
    document.set("history", Value::array(history));
    if let Some(handoffs) = document.get("handoff_artifacts") {
        let used = CYCLE_HANDOFFS.map(|name| (name.to_owned(), Value::null()));
        let handoffs = handoffs.merged(&used);
        document.set("handoff_artifacts", handoffs);
    }
    if document.get("stage_results").is_some() {
        document.set("stage_results", Value::object(Vec::new()));
    }
}

/// Forgets the review of an earlier cycle when the next one begins: its verdict and its
/// hand-off do not count again.
pub(crate) fn open_review(document: &mut Document, request: &WriteRequest) {
    let verdict = request.get("review_verdict").cloned().unwrap_or_else(Value::null);
    document.set("review_verdict", verdict);
    if let Some(handoffs) = document.get("handoff_artifacts") {
        let given = request.get("handoff_artifacts").and_then(|given| given.get("code_review"));
        let review = given.cloned().unwrap_or_else(Value::null);
        let handoffs = handoffs.merged(&[("code_review".to_owned(), review)]);
        document.set("handoff_artifacts", handoffs);
    }
}
