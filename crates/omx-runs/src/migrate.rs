//! Reading what earlier versions wrote.
//!
//! `run.json` carries the number of its format. A file without one is format 1,
//! in which `workspace` was called `ground` and `verification` was called
//! `rigour`. A journal mixes records of several versions when a newer omx
//! resumes an older run, so each record is read on its own: `record.rs` accepts
//! the old kinds as aliases.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::spec::RunSpec;

/// The format of `run.json` that this version writes.
const FORMAT: u64 = 2;

/// A spec as `run.json` stores it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(crate) struct StoredSpec {
    format: u64,
    #[serde(flatten)]
    spec: RunSpec,
}

impl StoredSpec {
    /// A spec in the current format.
    pub(crate) fn current(spec: RunSpec) -> Self {
        Self { format: FORMAT, spec }
    }

    pub(crate) fn into_spec(self) -> RunSpec {
        self.spec
    }
}

impl TryFrom<Map<String, Value>> for StoredSpec {
    type Error = String;

    fn try_from(mut object: Map<String, Value>) -> Result<Self, String> {
        match object.remove("format").map(|format| format.as_u64()) {
            None => from_format_1(&mut object),
            Some(Some(FORMAT)) => {}
            Some(Some(newer)) if newer > FORMAT => {
                return Err(format!(
                    "format {newer} was written by a newer version; this one reads up to {FORMAT}"
                ));
            }
            Some(_) => return Err("its format is not a known number".to_owned()),
        }
        let spec = serde_json::from_value(Value::Object(object));
        spec.map(Self::current).map_err(|error| error.to_string())
    }
}

fn from_format_1(object: &mut Map<String, Value>) {
    for (old, new) in [("ground", "workspace"), ("rigour", "verification")] {
        if let Some(value) = object.remove(old) {
            object.insert(new.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use omx_kernel::{CloseReason, Mode};

    use super::*;
    use crate::record::Record;
    use crate::spec::{Budget, VerificationLevel, Workspace};
    use crate::usage::Usage;

    /// Written by omx 0.1.0, before formats had numbers.
    const FORMAT_1: &str = r#"{
        "mode": "ralph", "task": "add a greeting", "slug": "add-a-greeting",
        "started_at": "2026-11-15T12:00:00.000Z", "agent": "codex", "model": null,
        "allow": "commands", "check": "cargo test", "rigour": "standard",
        "max_iterations": null,
        "budget": {"tokens": 1000, "micro_usd": null, "seconds": null},
        "ground": {"kind": "worktree", "path": "/p/.omx/worktrees/run/x",
                   "branch": "omx-run/x", "base": "0123"},
        "stages": [], "scenario": null
    }"#;

    #[test]
    fn a_spec_of_format_1_is_read() {
        let spec = serde_json::from_str::<StoredSpec>(FORMAT_1).unwrap().into_spec();
        assert_eq!(spec.mode, Mode::Ralph);
        assert_eq!(spec.verification, VerificationLevel::Standard);
        assert_eq!(spec.budget, Budget { tokens: Some(1000), ..Budget::default() });
        let Workspace::Worktree { branch, .. } = &spec.workspace else { unreachable!() };
        assert_eq!(branch, "omx-run/x");
    }

    #[test]
    fn a_spec_is_read_back_as_it_was_written() {
        let spec = serde_json::from_str::<StoredSpec>(FORMAT_1).unwrap().into_spec();
        let text = serde_json::to_string(&spec.stored()).unwrap();
        assert!(text.contains(r#""format":2"#) && text.contains(r#""workspace""#), "{text}");
        assert!(!text.contains("ground") && !text.contains("rigour"), "{text}");
        assert_eq!(serde_json::from_str::<StoredSpec>(&text).unwrap().into_spec(), spec);
    }

    #[test]
    fn a_newer_format_is_refused_by_name() {
        let error = serde_json::from_str::<StoredSpec>(r#"{"format": 3}"#).unwrap_err();
        assert!(error.to_string().contains("format 3 was written by a newer version"), "{error}");
    }

    #[test]
    fn a_missing_field_is_named() {
        let error = serde_json::from_str::<StoredSpec>("{}").unwrap_err();
        assert!(error.to_string().contains("missing field"), "{error}");
    }

    #[test]
    fn old_journal_lines_are_read() {
        let read = |line: &str| serde_json::from_str::<Record>(line).unwrap();
        let step = crate::StepKey::new("c1.plan.draft".to_owned());
        assert_eq!(
            read(r#"{"kind":"spent","step":"c1.plan.draft","input":12,"output":3,"micro_usd":5}"#),
            Record::Usage {
                step: step.clone(),
                usage: Usage { input: 12, output: 3, micro_usd: Some(5) },
            }
        );
        assert_eq!(
            read(r#"{"kind":"heard","step":"c1.plan.draft"}"#),
            Record::Delivered { step: step.clone() }
        );
        assert_eq!(
            read(r#"{"kind":"step_forgotten","step":"c1.plan.draft","why":"w"}"#),
            Record::StepDiscarded { step: step.clone(), why: "w".to_owned() }
        );
        assert_eq!(
            read(r#"{"kind":"waiting","step":"c1.plan.draft","for":"rate_limit"}"#),
            Record::Waiting { step, what: "rate_limit".to_owned(), until: None }
        );
        assert_eq!(
            read(r#"{"kind":"closed","outcome":"limit","worked_ms":7}"#),
            Record::Closed { outcome: CloseReason::Limit, why: String::new(), worked_ms: 7 }
        );
    }
}
