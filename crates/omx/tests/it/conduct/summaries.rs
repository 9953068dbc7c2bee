//! The summary at the end of a run.

use super::kit::{Repository, quick_scenario};

#[test]
fn conductor_a_complete_run_reports_its_result_and_the_merge_command() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    let id = repository.id();
    let tail: Vec<&str> = outcome.stdout.lines().rev().take(6).collect();
    let expected = [
        format!("on branch omx-run/{id} (2 files, +3 -1); merge it: omx runs integrate {id}"),
        "53,030 tokens".to_owned(),
        "  review    APPROVE, CLEAR".to_owned(),
        "  verified  sh check.sh".to_owned(),
        "  plan      .omx/plans/prd-greet-people-by-name.md".to_owned(),
        "complete: greet.sh greets by name, and the README says how.".to_owned(),
    ];
    assert_eq!(tail, expected);
    let merged = repository.project.omx(&["runs", "integrate", &id]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let changed = repository.project.run_git(&["diff", "--shortstat", ":/^start", "HEAD"]).stdout;
    assert!(changed.contains("2 files changed, 3 insertions(+), 1 deletion(-)"), "{changed}");
}

#[test]
fn conductor_5_2_an_exhausted_budget_reports_usage_and_how_to_raise_it() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--budget-tokens", "9000", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let id = repository.id();
    let text = &outcome.stdout;
    assert!(text.contains("stopped: the budget of 9000 tokens is used up"), "{text}");
    // The largest first.
    let usage: Vec<&str> =
        text.lines().filter(|line| line.starts_with("  rehearsal c1.")).collect();
    assert_eq!(usage.first(), Some(&"  rehearsal c1.plan.revise1: 2,980 tokens"), "{text}");
    assert_eq!(usage.len(), 5, "{text}");
    let next = format!("omx runs limit {id} --budget-tokens N && omx runs resume {id}");
    assert!(text.contains(&next), "{text}");
    // Resuming without a larger budget stops at once and uses nothing.
    let plays = repository.plays();
    let again = repository.resume(&[]);
    assert_eq!(again.code, Some(5), "{again:?}");
    assert_eq!(repository.plays(), plays);
    let refused = repository.project.omx(&["runs", "limit", &id]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let raised = repository.project.omx(&["runs", "limit", &id, "--budget-tokens", "60000"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn conductor_6_1_unplayed_entries_are_errors_with_file_and_line() {
    let unplayed = "\n[[entry]]\nrole = \"nobody\"\nrequired = true\ndo = [{ say = \"Never.\" }]\n";
    let scenario = quick_scenario();
    let line = scenario.lines().count() + 2;
    let repository = Repository::playing(&format!("{scenario}\n{unplayed}"));
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    let words =
        format!("scenario.toml:{line}: this entry must be played once; it was played 0 times");
    assert!(outcome.stderr.contains(&words), "{outcome:#?}");
    assert!(outcome.stdout.contains("complete: "), "{outcome:#?}");
    // The demo reports its own the same way.
    let demo = Repository::playing(&format!("{scenario}\n{unplayed}"));
    let file = demo.project.folder().join("scenario.toml");
    let outcome = demo.project.omx(&["demo", "--scenario", file.to_str().unwrap()]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.contains("this entry must be played once"), "{outcome:#?}");
}
