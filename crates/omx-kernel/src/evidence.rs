//! The evidence that a transition requires.
//!
//! Rules cannot look at files. They first name the paths they need to know about
//! ([`FactQuery`]); the shell looks them up and returns [`FileFacts`].

use std::collections::BTreeMap;

use crate::document::Document;
use crate::review::ReviewVerdict;
use crate::value::Value;

/// What a transition requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// Nothing.
    Nothing,
    /// An approved plan and test specification.
    PlanHandoff,
    /// Changed files and evidence that the implementation works.
    WorkHandoff,
    /// A clean review.
    CleanReview,
    /// A review that is not clean, with the reason for returning to the plan.
    OpenReview,
    /// A completion audit that passed.
    CompletionAudit,
    /// An existing plan that architect and critic approve.
    Consensus,
    /// A verdict of both review lanes.
    BothLanes,
    /// A check that passed.
    PassingCheck,
    /// A check or an audit that passed.
    CheckOrAudit,
    /// The result of the current pipeline stage.
    StageResult,
    /// The result of the review stage, and a clean review.
    ReviewedStage,
    /// A verification that passed, with its list of checks.
    CheckedVerification,
    /// A verification that passed.
    Verification,
    /// No task that is pending or in progress.
    TasksEnded,
}

/// What the shell found out about files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileFacts {
    /// The queried paths that name a regular file with content inside the project, each
    /// with the identity of that file: two paths may name one file.
    pub files: BTreeMap<String, String>,
    /// The content of the file at `completion_audit_path`, if it is readable.
    pub audit: Option<Value>,
}

impl FileFacts {
    /// Assumes that every path names a file of its own.
    pub fn assume(paths: impl IntoIterator<Item = String>) -> Self {
        Self { files: paths.into_iter().map(|path| (path.clone(), path)).collect(), audit: None }
    }

    fn has(&self, path: Option<&str>) -> bool {
        path.is_some_and(|path| self.files.contains_key(path))
    }

    fn are_one_file(&self, one: Option<&str>, other: Option<&str>) -> bool {
        let file = |path: Option<&str>| self.files.get(path?);
        file(one).is_some() && file(one) == file(other)
    }
}

/// What a rule needs to know about files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FactQuery {
    /// Paths that may or may not name usable files.
    pub paths: Vec<String>,
    /// The file whose audit the rule needs to read.
    pub audit_path: Option<String>,
}

impl FactQuery {
    /// Returns everything that the rules could need to know about a document's files.
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
        paths.extend(handoff(document, "ralph").into_iter().flat_map(evidence_paths));
        paths.extend(document.get("completion_audit").into_iter().flat_map(evidence_paths));
        Self { paths, audit_path: document.get_str("completion_audit_path").map(str::to_owned) }
    }
}

/// Returns the paths that an audit or a hand-off names as evidence.
pub fn evidence_paths(audit: &Value) -> Vec<String> {
    evidence_items(audit)
        .iter()
        .filter_map(|item| item.get("path")?.as_str())
        .map(str::to_owned)
        .collect()
}

/// Describes the missing evidence. Empty if the requirement is met.
pub fn missing_evidence(
    requirement: Requirement,
    document: &Document,
    from: &str,
    facts: &FileFacts,
) -> Vec<String> {
    let mut missing = Vec::new();
    let mut require = |is_there: bool, what: &str| {
        if !is_there {
            missing.push(what.to_owned());
        }
    };
    match requirement {
        Requirement::Nothing => {}
        Requirement::PlanHandoff => {
            let handoff = handoff(document, "ralplan");
            let path = |names| handoff.and_then(|handoff| handoff_path(handoff, names));
            let (plan, test_spec) = (path(PLAN_NAMES), path(TEST_SPEC_NAMES));
            require(
                facts.has(plan),
                "handoff_artifacts.ralplan.plan_path naming a non-empty file inside the project",
            );
            require(
                facts.has(test_spec),
                "handoff_artifacts.ralplan.test_spec_path naming a non-empty file inside the project",
            );
            require(
                !facts.are_one_file(plan, test_spec),
                "a test specification that is another file than the plan",
            );
        }
        Requirement::WorkHandoff => {
            let handoff = handoff(document, "ralph");
            let has =
                |name: &str| handoff.and_then(|handoff| handoff.get(name)).is_some_and(is_filled);
            require(has("changed_files"), "handoff_artifacts.ralph.changed_files");
            require(
                handoff.is_some_and(|handoff| has_evidence(handoff, facts)),
                "handoff_artifacts.ralph.evidence: each item {command, exit_code: 0} or {path} naming a non-empty file inside the project",
            );
        }
        Requirement::CleanReview => {
            let verdict = ReviewVerdict::from_value(document.get("review_verdict"));
            require(
                verdict.is_some_and(|v| v.is_clean() && v.says_clean() == Some(true)),
                "review_verdict {recommendation:\"APPROVE\", architectural_status:\"CLEAR\", clean:true} without open findings",
            );
            require(
                document.get("return_to_ralplan_reason").is_none_or(Value::is_null),
                "return_to_ralplan_reason set to null",
            );
        }
        Requirement::OpenReview => {
            let verdict = ReviewVerdict::from_value(document.get("review_verdict"));
            require(verdict.is_some_and(|v| !v.is_clean()), "a review_verdict that is not clean");
            require(
                document
                    .get("handoff_artifacts")
                    .and_then(|handoffs| handoffs.get("code_review"))
                    .is_some_and(is_filled),
                "handoff_artifacts.code_review",
            );
            require(
                document
                    .get_str("return_to_ralplan_reason")
                    .is_some_and(|text| !text.trim().is_empty()),
                "a non-empty return_to_ralplan_reason",
            );
        }
        Requirement::CompletionAudit => missing.extend(missing_audit(document, facts)),
        Requirement::Consensus => {
            let approves = |lane: &str| {
                document.get("consensus").and_then(|value| value.get(lane)).and_then(Value::as_str)
                    == Some("APPROVE")
            };
            require(approves("critic"), "consensus.critic \"APPROVE\"");
            require(approves("architect"), "consensus.architect \"APPROVE\"");
            let [plan, test_spec] =
                ["plan_path", "test_spec_path"].map(|name| (name, document.get_str(name)));
            for (name, path) in [plan, test_spec] {
                let what = format!("{name} naming a non-empty file inside the project");
                require(facts.has(path), &what);
            }
            require(
                !facts.are_one_file(plan.1, test_spec.1),
                "a test_spec_path that is another file than the plan_path",
            );
        }
        Requirement::BothLanes => require(
            ReviewVerdict::from_value(document.get("review_verdict"))
                .is_some_and(ReviewVerdict::has_both_lanes),
            "review_verdict with recommendation (APPROVE, COMMENT or REQUEST CHANGES) and architectural_status (CLEAR, WATCH or BLOCK)",
        ),
        Requirement::PassingCheck => {
            require(has_passing_check(document), "last_check {command, exit_code: 0}")
        }
        Requirement::CheckOrAudit => {
            if !has_passing_check(document) && !missing_audit(document, facts).is_empty() {
                missing.push(
                    "last_check {command, exit_code: 0} or a passing completion_audit".into(),
                );
            }
        }
        Requirement::StageResult | Requirement::ReviewedStage => {
            let name = from.strip_prefix("stage:").unwrap_or(from);
            let result = document
                .get("stage_results")
                .and_then(|results| results.get(name).or_else(|| results.get(from)));
            let passed = result.is_some_and(|result| {
                is_filled(result) && result.get("status").and_then(Value::as_str) != Some("failed")
            });
            require(passed, &format!("stage_results.{name}"));
            if requirement == Requirement::ReviewedStage {
                missing.extend(missing_evidence(Requirement::CleanReview, document, from, facts));
            }
        }
        Requirement::CheckedVerification => {
            require(is_verified(document), "verification.passed true");
            let checks = document.get("verification").and_then(|value| value.get("checks"));
            require(checks.is_some_and(is_filled), "verification.checks");
        }
        Requirement::Verification => require(is_verified(document), "verification.passed true"),
        Requirement::TasksEnded => {
            let open = |name: &str| {
                document.get("tasks").and_then(|tasks| tasks.get(name)).and_then(Value::as_u64)
            };
            require(open("pending") == Some(0), "tasks.pending 0");
            require(open("in_progress") == Some(0), "tasks.in_progress 0");
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

/// Whether a value is anything but `null`, `false` or empty.
fn is_filled(value: &Value) -> bool {
    match (value.as_str(), value.as_array(), value.as_object()) {
        (Some(text), _, _) => !text.trim().is_empty(),
        (_, Some(items), _) => !items.is_empty(),
        (_, _, Some(fields)) => !fields.is_empty(),
        _ => !value.is_null() && value.as_bool() != Some(false),
    }
}

fn has_passing_check(document: &Document) -> bool {
    document.get("last_check").is_some_and(|check| {
        check.get("command").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
            && check.get("exit_code").and_then(Value::as_u64) == Some(0)
    })
}

fn is_verified(document: &Document) -> bool {
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
    let mut missing = Vec::new();
    if audit.get("passed").and_then(Value::as_bool) != Some(true) {
        missing.push("completion_audit.passed true".to_owned());
    }
    let checklist = list("checklist");
    if checklist.is_empty() || !checklist.iter().all(is_done) {
        missing.push("completion_audit.checklist with every item done".to_owned());
    }
    if !has_evidence(audit, facts) {
        missing.push(
            "completion_audit.evidence: each item {command, exit_code: 0} or {path} naming a non-empty file inside the project".to_owned(),
        );
    }
    missing
}

/// The items of the field `evidence`: a list, or one item by itself.
fn evidence_items(holder: &Value) -> &[Value] {
    match holder.get("evidence") {
        Some(one) if one.as_object().is_some() => std::slice::from_ref(one),
        Some(list) => list.as_array().unwrap_or_default(),
        None => &[],
    }
}

/// Whether there is evidence, and all of it counts: commands that succeeded, and files.
fn has_evidence(holder: &Value, facts: &FileFacts) -> bool {
    let counts = |item: &Value| {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        match item.get("exit_code").filter(|code| !code.is_null()) {
            Some(code) => {
                code.as_u64() == Some(0) && text("command").is_some_and(|it| !it.trim().is_empty())
            }
            None => facts.has(text("path")),
        }
    };
    let items = evidence_items(holder);
    !items.is_empty() && items.iter().all(counts)
}
