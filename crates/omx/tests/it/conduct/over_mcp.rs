//! Everything the command line can do to a run, over MCP: the same objects, and
//! the same effect on the run's process.

use omx_testkit::{McpClient, await_condition};
use serde_json::{Value, json};

use super::kit::{DEADLINE, Repository, asking_scenario};

fn client(repository: &Repository) -> McpClient {
    McpClient::start(repository.project.omx_command(&["mcp"]))
}

#[track_caller]
fn call(client: &mut McpClient, tool: &str, arguments: &Value) -> Value {
    let (is_error, answer) = client.call(tool, arguments);
    assert!(!is_error, "{tool}: {answer}");
    answer
}

/// A call that is refused: its message.
#[track_caller]
fn refused(client: &mut McpClient, tool: &str, arguments: &Value) -> String {
    let (is_error, answer) = client.call(tool, arguments);
    assert!(is_error, "{tool}: {answer}");
    answer["error"].as_str().unwrap().to_owned()
}

/// Starts a ralph over MCP that asks a question, and waits until it asks.
fn asking() -> (Repository, McpClient, Value) {
    let repository = Repository::playing(&asking_scenario());
    let mut client = client(&repository);
    let scenario = repository.project.folder().join("scenario.toml");
    let started = call(
        &mut client,
        "run_start",
        &json!({
            "mode": "ralph", "task": "make work.txt", "agent": "rehearsal",
            "scenario": scenario, "check": "true", "allow": "edits",
        }),
    );
    await_condition("the run asks", DEADLINE, || {
        let (_, seen) = client.call("run_status", &json!({}));
        seen["questions"].as_array().is_some_and(|questions| !questions.is_empty())
    });
    (repository, client, started)
}

#[test]
fn cancel_over_mcp_ends_the_process_of_a_live_run() {
    let (repository, mut client, started) = asking();
    let id = started["id"].as_str().unwrap();
    let report = call(&mut client, "cancel", &json!({"session_id": id}));
    assert_eq!(report["runs"], json!([{"id": id, "process": "exited"}]), "{report}");
    assert_eq!(report["cancelled"][0]["mode"], "ralph", "{report}");
    let seen = call(&mut client, "run_status", &json!({"id": id}));
    assert_eq!(seen["state"], "cancelled", "{seen}");
    client.close();
    repository.await_nobody();
}

#[test]
fn run_cancel_ends_documents_and_process() {
    let (repository, mut client, started) = asking();
    let id = started["id"].as_str().unwrap();
    let report = call(&mut client, "run_cancel", &json!({"id": &id[..13]}));
    assert_eq!(report["runs"][0]["process"], "exited", "{report}");
    assert_eq!(repository.document("ralph")["run_outcome"], "cancelled");
    client.close();
    repository.await_nobody();
}

#[test]
fn a_run_is_started_watched_answered_and_merged_over_mcp() {
    let (repository, mut client, started) = asking();
    let id = started["id"].as_str().unwrap().to_owned();
    let project = &repository.project;
    // What is read is the same through both doors.
    let seen = call(&mut client, "run_status", &json!({"id": id}));
    let listed = call(&mut client, "run_list", &json!({}));
    assert_eq!(listed["runs"], json!([seen]));
    assert_eq!(listed, project.omx(&["runs", "--json"]).ok());
    assert_eq!(
        call(&mut client, "run_show", &json!({"id": id})),
        project.omx(&["runs", "show", &id, "--json"]).ok()
    );
    assert_eq!(seen["questions"][0]["what"], "run echo done > work.txt");
    // A run in progress is limited at once, but not merged or discarded.
    let limited = call(&mut client, "run_limit", &json!({"id": id, "max_iterations": 9}));
    assert_eq!(limited["takes_effect"], "now", "{limited}");
    assert_eq!(repository.document("ralph")["max_iterations"], 9);
    for (tool, arguments) in [
        ("run_integrate", json!({"id": id})),
        ("run_discard", json!({"id": id, "force": true})),
        ("run_resume", json!({"id": id})),
    ] {
        let why = refused(&mut client, tool, &arguments);
        assert!(why.contains("is in progress"), "{tool}: {why}");
    }
    let answered = call(&mut client, "run_answer", &json!({"id": id, "answer": "yes"}));
    let wanted = json!({
        "id": id, "question": 1, "step": "work", "what": "run echo done > work.txt",
        "answer": "yes",
    });
    assert_eq!(answered, wanted);
    await_condition("the run completes", DEADLINE, || {
        client.call("run_status", &json!({"id": id})).1["state"] == "complete"
    });
    let merged = call(&mut client, "run_integrate", &json!({"id": id}));
    assert_ne!(merged["before"], merged["after"], "{merged}");
    assert_eq!(project.read("work.txt"), "done\n");
    // Once more through the other door: nothing is left to merge.
    let again = project.omx(&["runs", "integrate", &id, "--json"]).ok();
    assert_eq!(again["before"], merged["after"], "{again}");
    assert_eq!(call(&mut client, "run_integrate", &json!({"id": id})), again);
    let discarded = call(&mut client, "run_discard", &json!({"id": id}));
    assert_eq!(discarded["branch"], format!("omx-run/{id}"), "{discarded}");
    assert_eq!(call(&mut client, "run_list", &json!({})), json!({"runs": []}));
    client.close();
    repository.await_nobody();
}

#[test]
fn a_stopped_run_is_limited_and_resumed_over_mcp() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--max-iterations", "1", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let id = repository.id();
    let mut client = client(&repository);
    let limited = call(&mut client, "run_limit", &json!({"id": id, "max_iterations": 5}));
    let raised = json!({"kind": "limit_raised", "max_iterations": 5});
    let wanted = json!({"id": id, "records": [raised], "takes_effect": "on_resume"});
    assert_eq!(limited, wanted);
    let same = repository.project.omx(&["runs", "limit", &id, "5", "--json"]).ok();
    assert_eq!(same, limited);
    let resumed = call(&mut client, "run_resume", &json!({"id": id}));
    assert_eq!(resumed["id"], id, "{resumed}");
    await_condition("the run completes", DEADLINE, || {
        client.call("run_status", &json!({"id": id})).1["state"] == "complete"
    });
    // Nothing is old enough to go, and both doors say so.
    let swept = call(&mut client, "run_gc", &json!({}));
    assert_eq!(swept["removed"], json!([]), "{swept}");
    assert_eq!(repository.project.omx(&["runs", "gc", "--json"]).ok(), swept);
    client.close();
    repository.await_nobody();
}

#[test]
fn runs_discard_refuses_to_lose_work_until_it_is_forced() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    let id = repository.id();
    let project = &repository.project;
    let refused = project.omx(&["runs", "discard", &id]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("would lose work"), "{refused:?}");
    let worktree = project.root().join(".omx/worktrees/run").join(&id);
    assert!(worktree.is_dir());
    let discarded = project.omx(&["runs", "discard", &id, "--force"]);
    assert_eq!(discarded.code, Some(0), "{discarded:?}");
    assert!(discarded.stdout.contains(&format!("Discarded run {id}.")), "{discarded:?}");
    assert!(discarded.stdout.contains("(was at "), "{discarded:?}");
    assert!(!worktree.exists());
    let branches = project.run_git(&["branch", "--list", "omx-run/*"]).stdout;
    assert_eq!(branches, "");
    assert_eq!(project.omx(&["runs", "--json"]).ok(), json!({"runs": []}));
}

#[test]
fn an_agent_of_a_run_cannot_answer_for_the_person() {
    let (repository, mut client, started) = asking();
    let id = started["id"].as_str().unwrap().to_owned();
    let mut command = repository.project.omx_command(&["mcp"]);
    command.env("OMX_SESSION_ID", &id);
    let mut agent = McpClient::start(command);
    for (tool, arguments) in [
        ("run_answer", json!({"id": id, "answer": "yes"})),
        ("run_limit", json!({"id": id, "max_iterations": 9})),
        ("run_start", json!({"mode": "ralph", "task": "more"})),
    ] {
        let why = refused(&mut agent, tool, &arguments);
        assert!(why.contains("the person does that"), "{tool}: {why}");
    }
    agent.close();
    call(&mut client, "run_cancel", &json!({"id": id}));
    client.close();
    repository.await_nobody();
}
