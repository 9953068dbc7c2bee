//! cancel.md, head and 3.7b: `omx cancel WHAT`, a mode, an id, the start of one, or `all`.

use serde_json::json;

use crate::cancel_kit::{is_active, plant};
use crate::project;

#[test]
fn cancel_0_what_names_a_mode_a_session_or_all_of_them() {
    for command in ["cancel", "stop"] {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        plant(&project, Some("s1"), "ultrawork", &json!({}));
        assert_eq!(project.omx(&[command, "ralph"]).code, Some(0));
        assert!(!is_active(&project, Some("s1"), "ralph"));
        assert!(is_active(&project, Some("s1"), "ultrawork"));
        plant(&project, Some("s2"), "ralph", &json!({}));
        assert_eq!(project.omx(&[command, "s2"]).code, Some(0));
        assert!(!is_active(&project, Some("s2"), "ralph"));
        assert!(is_active(&project, Some("s1"), "ultrawork"));
        plant(&project, None, "ultraqa", &json!({}));
        let outcome = project.omx(&[command, "all"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        // With several sessions each line names its session.
        assert!(outcome.stdout.contains("deactivated. (session s1)"), "{outcome:?}");
        assert!(outcome.stdout.contains("(outside any session)"), "{outcome:?}");
        assert!(!is_active(&project, Some("s1"), "ultrawork"));
        assert!(!is_active(&project, None, "ultraqa"));
    }
}

#[test]
fn cancel_3_7b_an_unknown_or_ambiguous_id_is_an_error_and_changes_nothing() {
    let project = project();
    for session in ["0199-a", "0199-b", "0200"] {
        plant(&project, Some(session), "ralph", &json!({}));
    }
    let before = project.bytes(".omx/state/sessions");
    for (what, code) in
        [("nope", "invalid_input"), ("0199", "ambiguous_session"), ("../x", "invalid_input")]
    {
        let outcome = project.omx(&["cancel", what, "--json"]);
        assert_eq!((outcome.code, outcome.refused().as_str()), (Some(1), code), "{outcome:?}");
        let (failed, _) = project.mcp().call("cancel", &json!({"what": what}));
        assert!(failed, "{what}");
    }
    let outcome = project.omx(&["cancel", "ralph", "--mode", "team", "--json"]);
    assert_eq!(outcome.refused(), "invalid_input");
    assert_eq!(project.bytes(".omx/state/sessions"), before);
    // A prefix that is unique, and a whole id that begins another.
    assert_eq!(project.omx(&["cancel", "02"]).code, Some(0));
    assert!(!is_active(&project, Some("0200"), "ralph"));
    plant(&project, Some("0199"), "ralph", &json!({}));
    assert_eq!(project.omx(&["cancel", "0199"]).code, Some(0));
    assert!(
        !is_active(&project, Some("0199"), "ralph") && is_active(&project, Some("0199-a"), "ralph")
    );
}

#[test]
fn cancel_3_7b_a_session_id_that_nobody_knows_is_an_error() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    let before = project.bytes(".omx/state/sessions");
    let outcome = project.omx(&["cancel", "--session-id", "s9", "--json"]);
    assert_eq!(outcome.refused(), "invalid_input", "{outcome:?}");
    let text = project.omx(&["cancel", "--session-id", "s9"]).stderr;
    assert!(
        text.contains("no session is called \"s9\" in this project; the status lists"),
        "{text}"
    );
    let (failed, answer) = project.mcp().call("cancel", &json!({"session_id": "s9"}));
    assert!(failed, "{answer}");
    assert_eq!(project.bytes(".omx/state/sessions"), before);
    // A conversation that has done nothing yet has nothing to cancel, and that is fine.
    let own = [("OMX_SESSION_ID", "s9")];
    for args in [&["cancel"][..], &["cancel", "--session-id", "s9"]] {
        let outcome = project.omx_env(args, &own);
        assert!(outcome.stdout.starts_with("No active OMX modes detected."), "{outcome:?}");
        assert_eq!(outcome.code, Some(0));
    }
    // So is a session that was cleared.
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    assert_eq!(project.omx(&["cancel", "--session-id", "s1"]).code, Some(0));
}

#[test]
fn cancel_5_1_force_and_all_may_be_given_together() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    for flags in [&["--force", "--all"][..], &["--all", "--force"], &["all", "--force"]] {
        let mut args = vec!["cancel"];
        args.extend(flags);
        assert_eq!(project.omx(&args).code, Some(0), "{flags:?}");
    }
    assert!(!project.state("sessions").exists());
}

#[test]
fn state_3_2c_commands_are_accepted_with_either_spelling() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    for name in ["list-active", "list_active"] {
        let outcome = project.omx(&["state", name, "--json"]);
        assert!(outcome.stdout.contains("ralph"), "{outcome:?}");
    }
    for name in ["get-status", "get_status"] {
        assert_eq!(project.omx(&["state", name, "--json"]).code, Some(0));
    }
    for tool in ["state_list_active", "state-list-active"] {
        let (failed, value) = project.mcp().call(tool, &json!({}));
        assert!(!failed && value["active_modes"] == json!(["ralph"]), "{tool}: {value}");
    }
    // Whatever the environment says, all sessions are looked at.
    let outcome = project.omx_env(&["state", "list-active", "--json"], &[("OMX_SESSION_ID", "s9")]);
    assert!(outcome.stdout.contains("ralph"), "{outcome:?}");
    let outcome = project.omx_env(&["state", "get-status", "--json"], &[("OMX_SESSION_ID", "s9")]);
    assert!(outcome.stdout.contains("\"s1\""), "{outcome:?}");
}

#[test]
fn cancel_1_4_the_plan_of_another_program_is_seen_by_status_and_ended_by_cancel() {
    let project = project();
    project.write(
        ".omx/state/plan-consensus.json",
        r#"{"active":true,"phase":"critic","plan_path":".omx/plans/a.md"}"#,
    );
    assert!(project.omx(&["status"]).stdout.contains("ralplan"));
    let active = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(active["active_modes"], json!(["ralplan"]), "{active}");
    let outcome = project.omx(&["cancel"]);
    assert!(outcome.stdout.contains("Plan Consensus cancelled."), "{outcome:?}");
    let document = project.document("ralplan");
    assert_eq!(
        (&document["active"], &document["plan_path"]),
        (&json!(false), &json!(".omx/plans/a.md"))
    );
    assert!(!project.state("plan-consensus.json").exists(), "it would still say that it is active");
    let active = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(active["active_modes"], json!([]), "{active}");
}
