//! What a transition must show before it is allowed.
//!
//! Whether a file exists is a fact from outside. The rules first say which
//! paths they care for ([`Questions`]), the edge answers with [`Facts`].

use std::collections::BTreeSet;

use crate::document::Document;
use crate::review::ReviewVerdict;
use crate::value::Value;

/// What a step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// Nothing.
    Nothing,
    /// An approved plan and test specification.
    PlanHandoff,
    /// Changed files and evidence of the implementation.
    WorkHandoff,
    /// A clean review.
    CleanReview,
    /// A review that is not clean, handed back with its reason.
    OpenReview,
    /// An audit that passed.
    CompletionAudit,
    /// Architect and critic approve a plan that exists.
    Consensus,
    /// A verdict of both lanes.
    BothLanes,
    /// A check that passed.
    PassingCheck,
    /// A check or an audit that passed.
    CheckOrAudit,
    /// The result of the stage that is left.
    StageResult,
    /// A verification that passed, with its checks.
    CheckedVerification,
    /// A verification that passed.
    Verification,
    /// No task pending or in progress.
    TasksEnded,
}

/// Answers about the world outside the document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileFacts {
    /// Those of the paths asked about that exist in the project.
    pub existing: BTreeSet<String>,
    /// The content of the file at `completion_audit_path`, if it could be read.
    pub audit: Option<Value>,
}

/// What the rules want to know of the world outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FactQuery {
    /// Do these exist?
    pub paths: Vec<String>,
    /// What does the audit in this file say?
    pub audit_path: Option<String>,
}

impl FactQuery {
    /// All a document could be asked about.
    pub fn for_document(document: &Document) -> Self {
        let mut paths: Vec<String> = ["plan_path", "test_spec_path"]
            .iter()
            .filter_map(|name| document.get_str(name))
            .map(str::to_owned)
            .collect();
        if let Some(handoff) = handoff(document, "ralplan") {
            paths.extend(handoff_path(handoff, PLAN_NAMES).map(str::to_owned));
            paths.extend(handoff_path(handoff, TEST_SPEC_NAMES).map(str::to_owned));
        }
        paths.extend(document.get("completion_audit").into_iter().flat_map(evidence_paths));
        Self { paths, audit_path: document.get_str("completion_audit_path").map(str::to_owned) }
    }
}

/// The paths an audit names as evidence.
pub fn evidence_paths(audit: &Value) -> Vec<String> {
    let evidence = audit.get("evidence").and_then(Value::as_array).unwrap_or_default();
    evidence.iter().filter_map(|item| item.get("path")?.as_str()).map(str::to_owned).collect()
}

/// What is missing, in words; empty when the step may be taken.
pub fn missing_evidence(
    needs: Requirement,
    document: &Document,
    from: &str,
    facts: &FileFacts,
) -> Vec<String> {
    let mut missing = Vec::new();
    let mut want = |is_there: bool, what: &str| {
        if !is_there {
            missing.push(what.to_owned());
        }
    };
    match needs {
        Requirement::Nothing => {}
        Requirement::PlanHandoff => {
            let handoff = handoff(document, "ralplan");
            let exists = |names: &[&str]| {
                handoff
                    .and_then(|handoff| handoff_path(handoff, names))
                    .is_some_and(|path| facts.existing.contains(path))
            };
            want(exists(PLAN_NAMES), "handoff_artifacts.ralplan.plan_path of a file that exists");
            want(
                exists(TEST_SPEC_NAMES),
                "handoff_artifacts.ralplan.test_spec_path of a file that exists",
            );
        }
        Requirement::WorkHandoff => {
            let handoff = handoff(document, "ralph");
            let has =
                |name: &str| handoff.and_then(|handoff| handoff.get(name)).is_some_and(is_filled);
            want(has("changed_files"), "handoff_artifacts.ralph.changed_files");
            want(has("evidence"), "handoff_artifacts.ralph.evidence");
        }
        Requirement::CleanReview => {
            let verdict = ReviewVerdict::from_value(document.get("review_verdict"));
            want(
                verdict.is_some_and(|v| v.is_clean() && v.says_clean() == Some(true)),
                "review_verdict {recommendation:\"APPROVE\", architectural_status:\"CLEAR\", clean:true} without open findings",
            );
            want(
                document.get("return_to_ralplan_reason").is_none_or(Value::is_null),
                "return_to_ralplan_reason null",
            );
        }
        Requirement::OpenReview => {
            let verdict = ReviewVerdict::from_value(document.get("review_verdict"));
            want(verdict.is_some_and(|v| !v.is_clean()), "review_verdict that is not clean");
            want(
                document
                    .get("handoff_artifacts")
                    .and_then(|handoffs| handoffs.get("code_review"))
                    .is_some_and(is_filled),
                "handoff_artifacts.code_review",
            );
            want(
                document
                    .get_str("return_to_ralplan_reason")
                    .is_some_and(|text| !text.trim().is_empty()),
                "return_to_ralplan_reason that is not empty",
            );
        }
        Requirement::CompletionAudit => missing.extend(missing_audit(document, facts)),
        Requirement::Consensus => {
            let approves = |lane: &str| {
                document.get("consensus").and_then(|value| value.get(lane)).and_then(Value::as_str)
                    == Some("APPROVE")
            };
            want(approves("critic"), "consensus.critic \"APPROVE\"");
            want(approves("architect"), "consensus.architect \"APPROVE\"");
            for name in ["plan_path", "test_spec_path"] {
                let exists =
                    document.get_str(name).is_some_and(|path| facts.existing.contains(path));
                want(exists, &format!("{name} of a file that exists"));
            }
        }
        Requirement::BothLanes => want(
            ReviewVerdict::from_value(document.get("review_verdict"))
                .is_some_and(ReviewVerdict::has_both_lanes),
            "review_verdict with recommendation (APPROVE, COMMENT or REQUEST CHANGES) and architectural_status (CLEAR, WATCH or BLOCK)",
        ),
        Requirement::PassingCheck => {
            want(check_passed(document), "last_check {command, exit_code: 0}")
        }
        Requirement::CheckOrAudit => {
            if !check_passed(document) && !missing_audit(document, facts).is_empty() {
                missing.push(
                    "last_check {command, exit_code: 0} or a passing completion_audit".into(),
                );
            }
        }
        Requirement::StageResult => {
            let name = from.strip_prefix("stage:").unwrap_or(from);
            let result = document
                .get("stage_results")
                .and_then(|results| results.get(name).or_else(|| results.get(from)));
            let passed = result.is_some_and(|result| {
                is_filled(result) && result.get("status").and_then(Value::as_str) != Some("failed")
            });
            want(passed, &format!("stage_results.{name}"));
        }
        Requirement::CheckedVerification => {
            want(verified(document), "verification.passed true");
            let checks = document.get("verification").and_then(|value| value.get("checks"));
            want(checks.is_some_and(is_filled), "verification.checks");
        }
        Requirement::Verification => want(verified(document), "verification.passed true"),
        Requirement::TasksEnded => {
            let open = |name: &str| {
                document.get("tasks").and_then(|tasks| tasks.get(name)).and_then(Value::as_u64)
            };
            want(open("pending") == Some(0), "tasks.pending 0");
            want(open("in_progress") == Some(0), "tasks.in_progress 0");
        }
    }
    missing
}

const PLAN_NAMES: &[&str] = &["plan_path", "plan", "prd_path", "prd"];
const TEST_SPEC_NAMES: &[&str] = &["test_spec_path", "test_spec"];

fn handoff<'a>(document: &'a Document, from: &str) -> Option<&'a Value> {
    document.get("handoff_artifacts")?.get(from)
}

fn handoff_path<'a>(handoff: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| handoff.get(name)?.as_str())
}

/// Something is there: not `null`, `false` or empty.
fn is_filled(value: &Value) -> bool {
    match (value.as_str(), value.as_array(), value.as_object()) {
        (Some(text), _, _) => !text.trim().is_empty(),
        (_, Some(items), _) => !items.is_empty(),
        (_, _, Some(fields)) => !fields.is_empty(),
        _ => !value.is_null() && value.as_bool() != Some(false),
    }
}

fn check_passed(document: &Document) -> bool {
    document.get("last_check").is_some_and(|check| {
        check.get("command").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
            && check.get("exit_code").and_then(Value::as_u64) == Some(0)
    })
}

fn verified(document: &Document) -> bool {
    document.get("verification").and_then(|value| value.get("passed")).and_then(Value::as_bool)
        == Some(true)
}

fn missing_audit(document: &Document, facts: &FileFacts) -> Vec<String> {
    let own = document.get("completion_audit").filter(|value| !value.is_null());
    let Some(audit) = own.or(facts.audit.as_ref()) else {
        return vec![
            "completion_audit, or completion_audit_path to a JSON file inside the project".into(),
        ];
    };
    let list = |name: &str| audit.get(name).and_then(Value::as_array).unwrap_or_default();
    let is_done = |item: &Value| match item.as_str() {
        Some(text) => !text.trim().is_empty(),
        None => {
            item.get("item").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
                && item.get("done").and_then(Value::as_bool) == Some(true)
        }
    };
    let is_shown = |item: &Value| {
        let ran = item.get("command").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
            && item.get("exit_code").and_then(Value::as_u64) == Some(0);
        let exists = item
            .get("path")
            .and_then(Value::as_str)
            .is_some_and(|path| facts.existing.contains(path));
        ran || exists
    };
    let mut missing = Vec::new();
    if audit.get("passed").and_then(Value::as_bool) != Some(true) {
        missing.push("completion_audit.passed true".to_owned());
    }
    let checklist = list("checklist");
    if checklist.is_empty() || !checklist.iter().all(is_done) {
        missing.push("completion_audit.checklist with every item done".to_owned());
    }
    let evidence = list("evidence");
    if evidence.is_empty() || !evidence.iter().all(is_shown) {
        missing.push(
            "completion_audit.evidence of {command, exit_code: 0} or {path} that exists".to_owned(),
        );
    }
    missing
}
