//! Verifies that the demo ran every step in order, with its expected result.

use serde_json::Value;

/// Each step and its result. The text of plans and work is not compared.
const EXPECTED: &[(&str, &str)] = &[
    ("c1.plan.draft", ""),
    ("c1.plan.architect1", "APPROVE"),
    ("c1.plan.critic1", "REQUEST CHANGES"),
    ("c1.plan.keep1", ""),
    ("c1.plan.revise1", ""),
    ("c1.plan.architect2", "APPROVE"),
    ("c1.plan.critic2", "APPROVE"),
    ("c1.plan.keep2", ""),
    ("c1.build.work", "done"),
    ("c1.build.check1", "exit 1"),
    ("c1.build.fix1", "done"),
    ("c1.build.check2", "exit 0"),
    ("c1.build.verifier2", "passed"),
    ("c1.build.architect2", "passed"),
    ("c1.build.tidy2", "done"),
    ("c1.build.recheck2", "exit 0"),
    ("c1.review.architect", "CLEAR"),
    ("c1.review.code", "REQUEST CHANGES"),
    ("c2.plan.draft", ""),
    ("c2.plan.architect1", "APPROVE"),
    ("c2.plan.critic1", "APPROVE"),
    ("c2.plan.keep1", ""),
    ("c2.build.work", "done"),
    ("c2.build.check1", "exit 0"),
    ("c2.build.verifier1", "passed"),
    ("c2.build.architect1", "passed"),
    ("c2.build.tidy1", "done"),
    ("c2.build.recheck1", "exit 0"),
    ("c2.review.architect", "CLEAR"),
    ("c2.review.code", "APPROVE"),
];

/// Compares the run's journal with the expected steps.
pub(super) fn steps(shown: &str, code: Option<i32>) -> Result<(), String> {
    let run: Value = serde_json::from_str(shown)
        .map_err(|error| format!("`runs show --json` did not print an object: {error}"))?;
    if code != Some(0) || run["state"] != "complete" {
        return Err(format!("the autopilot is {} and exited with {code:?}", run["state"]));
    }
    let journal = run["journal"].as_array().cloned().unwrap_or_default();
    let mut steps: Vec<(String, String)> = journal
        .iter()
        .map(|entry| &entry["record"])
        .filter(|record| record["kind"] == "step_finished")
        .map(|record| {
            (record["step"].as_str().unwrap_or_default().to_owned(), describe(&record["result"]))
        })
        .collect();
    // Both lanes of a review run concurrently, so either may finish first.
    for pair in
        steps.chunk_by_mut(|(one, _), (other, _)| lane(one).is_some() && lane(one) == lane(other))
    {
        pair.sort();
    }
    for (index, (step, expected)) in EXPECTED.iter().enumerate() {
        let Some((found, result)) = steps.get(index) else {
            return Err(format!("step {step} is missing"));
        };
        if found != step || (!expected.is_empty() && result != expected) {
            return Err(format!("expected step {step} ({expected:?}), found {found} ({result:?})"));
        }
    }
    match steps.get(EXPECTED.len()) {
        Some((step, _)) => Err(format!("step {step} was not expected")),
        None => Ok(()),
    }
}

/// The review a lane belongs to.
fn lane(step: &str) -> Option<&str> {
    step.split_once(".review.").map(|(cycle, _)| cycle)
}

fn describe(result: &Value) -> String {
    if let Some(verdict) = result["verdict"].as_str() {
        return verdict.to_owned();
    }
    match (&result["passed"], &result["done"], &result["exit_code"]) {
        (Value::Bool(passed), ..) => if *passed { "passed" } else { "not passed" }.to_owned(),
        (_, Value::Bool(done), _) => if *done { "done" } else { "not done" }.to_owned(),
        (.., Value::Number(code)) => format!("exit {code}"),
        _ => String::new(),
    }
}
