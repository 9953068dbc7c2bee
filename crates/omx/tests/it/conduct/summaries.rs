//! The summary at the end of a run.

use super::kit::{Repository, quick_scenario};
use super::scenario::{ralph_scenario, write};

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
        format!("  plan      .omx/plans/prd-greet-people-by-name-{id}.md"),
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

#[test]
fn trust_5_1a_verified_is_what_omx_ran_and_what_an_agent_says_is_a_claim() {
    let claim = "checks = [{ name = \"e2e\", command = \"make e2e-never-run\", exit_code = 0, \
                 evidence = \"it passed\" }]";
    let scenario = ralph_scenario(&write("work.txt", "done\n"))
        .replace("checks = [{ name = \"read\", evidence = \"read it\" }]", claim);
    let mut repository = Repository::playing(&scenario);
    repository.check = "test -e work.txt".to_owned();
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let line = |name: &str| outcome.stdout.lines().find(|line| line.trim().starts_with(name));
    assert_eq!(line("verified"), Some("  verified  test -e work.txt"), "{outcome:#?}");
    let claimed = line("claimed").unwrap_or_else(|| panic!("{outcome:#?}"));
    assert!(claimed.contains("make e2e-never-run") && claimed.contains("says so"), "{claimed}");
    let audit = &repository.document("ralph")["completion_audit"];
    assert!(!audit["evidence"].to_string().contains("e2e-never-run"), "{audit}");
    assert_eq!(audit["claims"][0]["claimed_by"], "verifier", "{audit}");
}

#[test]
fn trust_5_1a_an_autopilot_hands_claims_over_as_claims() {
    let (old, new) =
        ("command = \"sh check.sh\", exit_code = 0", "command = \"make e2e\", exit_code = 0");
    let scenario = quick_scenario();
    let verifies = scenario.find("passed = true").unwrap();
    let (before, after) = scenario.split_at(verifies);
    let repository = Repository::playing(&format!("{before}{}", after.replace(old, new)));
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("  verified  sh check.sh\n"), "{outcome:#?}");
    assert!(outcome.stdout.contains("  claimed   make e2e"), "{outcome:#?}");
}

#[test]
fn trust_5_1a_the_summary_is_that_of_the_attempt_that_passed() {
    let work = |summary: &str| {
        format!(
            "{{ result = {{ summary = \"{summary}\", changed_files = [\"work.txt\"], \
             commands = [], done = true }} }}"
        )
    };
    let scenario = format!(
        "[[entry]]\nrole = \"executor\"\nphase = \"executing\"\ntimes = 1\ndo = [{}{}]\n\n\
         [[entry]]\nrole = \"debugger\"\ndo = [{}{}]\n\n\
         [[entry]]\nrole = \"executor\"\ndo = [{}]\n\n\
         [[entry]]\ndo = [{{ result = {{ passed = true, findings = [], \
         checks = [{{ name = \"read\", evidence = \"read it\" }}] }} }}]\n",
        write("work.txt", "bad\n"),
        work("FIRST TRY"),
        write("work.txt", "good\n"),
        work("SECOND TRY"),
        work("tidy"),
    );
    let mut repository = Repository::playing(&scenario);
    repository.check = "grep -q good work.txt".to_owned();
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("complete: SECOND TRY\n"), "{outcome:#?}");
    assert!(!outcome.stdout.contains("complete: FIRST TRY"), "{outcome:#?}");
}

#[test]
fn trust_5_1a_two_runs_of_one_task_write_different_files() {
    let repository = Repository::new();
    for _ in 0..2 {
        let outcome = repository.run("ralplan", &["greet people by name"]);
        assert!(outcome.stdout.contains("complete: "), "{outcome:#?}");
    }
    let runs = std::fs::read_dir(repository.project.root().join(".omx/runs")).unwrap();
    let names = runs.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned());
    let ids: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    assert_eq!(ids.len(), 2);
    for id in ids {
        for folder in ["plans", "context"] {
            let files = std::fs::read_dir(repository.project.root().join(".omx").join(folder));
            let names = files.unwrap().map(|file| file.unwrap().file_name());
            let own = names.filter(|name| name.to_string_lossy().contains(&id)).count();
            assert_eq!(own, if folder == "plans" { 2 } else { 1 }, "{folder} {id}");
        }
    }
}
