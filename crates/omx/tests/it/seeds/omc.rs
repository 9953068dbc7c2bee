//! Seed 001, on cancel in OMC: the same engine in its tree and with its names.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use crate::cancel_kit::{LEGACY, MODES, live_phase, plant, plant_stale};
use crate::hooks::kit::{answer, context, held};
use crate::project;

/// A project in the OMC tree, called as `omc`.
struct OmcProject {
    project: TestProject,
    binary: PathBuf,
}

impl OmcProject {
    /// With these documents: session, mode, more fields.
    fn with(documents: &[(Option<&str>, &str, Value)]) -> Self {
        let project = project();
        for (session, mode, more) in documents {
            plant(&project, *session, mode, more);
        }
        Self::in_project(project)
    }

    /// The tree of a planted project becomes OMC's.
    fn in_project(project: TestProject) -> Self {
        let root = project.root();
        if root.join(".omx").exists() {
            fs::rename(root.join(".omx"), root.join(".omc")).unwrap();
        }
        let binary = project.link_binary("omc");
        Self { project, binary }
    }

    fn omc(&self, args: &[&str]) -> CommandOutcome {
        self.project.command(&self.binary).args(args).output().unwrap().into()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.project.root().join(".omc/state").join(name)
    }

    fn document(&self, session: Option<&str>, mode: &str) -> Value {
        let folder = session.map_or(String::new(), |session| format!("sessions/{session}/"));
        let path = self.path(&format!("{folder}{mode}-state.json"));
        serde_json::from_str(&self.project.read(path)).unwrap()
    }

    /// The state without its lock and omx's own record.
    fn remaining(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = self.project.bytes(".omc/state");
        let own = [self.path(""), self.path(".lock"), self.path(".activity")];
        found.retain(|path, _| {
            !own.iter().any(|own| path.components().eq(own.components()))
                && !path.starts_with(&own[2])
        });
        found
    }

    /// A hook event of Claude Code.
    fn event(&self, session: &str, event: &str, more: &Value) -> Value {
        let mut payload = json!({"session_id": session, "cwd": self.project.root(),
            "hook_event_name": event, "transcript_path": "/nowhere/transcript.jsonl"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut command = self.project.command(&self.binary);
        command.args(["hook", "--host", "claude"]);
        answer(command, payload.to_string().as_bytes())
    }
}

fn modes(answer: &Value) -> Vec<(&str, Option<&str>)> {
    let entries = answer["cancelled"].as_array().unwrap().iter();
    entries.map(|entry| (entry["mode"].as_str().unwrap(), entry["linked_to"].as_str())).collect()
}

#[test]
fn seed_001_the_active_session_is_found_and_no_other_changes() {
    let ended = json!({"active": false, "run_outcome": "finish"});
    let omc = OmcProject::with(&[
        (Some("s1"), "ralph", ended),
        (Some("s2"), "ultraqa", json!({})),
        (None, "autopilot", json!({})),
    ]);
    let listed = omc.omc(&["state", "list-active", "--session-id", "s2", "--json"]).ok();
    assert_eq!(listed["active_modes"], json!(["ultraqa"]));
    let others = || {
        [omc.document(Some("s1"), "ralph"), omc.document(None, "autopilot")].map(|d| d.to_string())
    };
    let before = others();
    let answer = omc.omc(&["cancel", "--json"]).ok();
    assert_eq!(modes(&answer), [("ultraqa", None)]);
    assert_eq!(answer["cancelled"][0]["session_id"], "s2");
    assert_eq!(omc.document(Some("s2"), "ultraqa")["run_outcome"], "cancelled");
    assert_eq!(others(), before);
    assert!(!omc.project.root().join(".omx").exists(), "the other family's tree");
}

#[test]
fn seed_001_a_named_session_decides_alone_and_files_outside_are_a_fallback() {
    let omc = OmcProject::with(&[(Some("s1"), "ralph", json!({})), (None, "ralph", json!({}))]);
    let outside = omc.document(None, "ralph");
    let mut by_variable = omc.project.command(&omc.binary);
    by_variable.args(["cancel", "--json"]).env("OMC_SESSION_ID", "s1");
    let answer = CommandOutcome::from(by_variable.output().unwrap()).ok();
    assert_eq!(answer["cancelled"][0]["session_id"], "s1");
    let again = omc.omc(&["cancel", "--session-id", "s1"]);
    assert!(again.stdout.starts_with("No active OMC modes detected.\n"), "{again:?}");
    assert_eq!(omc.document(None, "ralph"), outside);
    let answer = omc.omc(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["session_id"], Value::Null);
    assert_eq!(omc.document(None, "ralph")["active"], false);
}

#[test]
fn seed_001_modes_end_in_the_order_of_the_document() {
    let all: Vec<_> = MODES.iter().map(|mode| (Some("s"), *mode, json!({}))).collect();
    let answer = OmcProject::with(&all).omc(&["cancel", "--json"]).ok();
    let order: Vec<&str> = modes(&answer).into_iter().map(|(mode, _)| mode).collect();
    assert_eq!(order, MODES);
    let linked = OmcProject::with(&[
        (Some("s"), "autopilot", json!({})),
        (Some("s"), "ralph", json!({"linked_to": "autopilot"})),
        (Some("s"), "ultraqa", json!({"linked_to": "autopilot"})),
        (Some("s"), "ultrawork", json!({"linked_to_ralph": true})),
        (Some("s"), "ecomode", json!({"linked_to_ralph": true})),
    ]);
    let answer = linked.omc(&["cancel", "--json"]).ok();
    let wanted = [
        ("ultrawork", Some("ralph")),
        ("ecomode", Some("ralph")),
        ("ralph", Some("autopilot")),
        ("ultraqa", Some("autopilot")),
        ("autopilot", None),
    ];
    assert_eq!(modes(&answer), wanted);
}

#[test]
fn seed_001_every_mode_but_autopilot_and_ralplan_ends_for_good() {
    for mode in MODES {
        let plan = json!({"plan_path": "p.md", "handoff_artifacts": {"ralplan": {"plan": 1}},
            "review_verdict": {"recommendation": "COMMENT"}});
        let omc = OmcProject::with(&[(Some("s"), mode, plan)]);
        omc.omc(&["cancel", "--json"]).ok();
        let document = omc.document(Some("s"), mode);
        assert_eq!(document["active"], false, "{mode}");
        assert!(document["completed_at"].as_str().unwrap().ends_with('Z'), "{mode}");
        let phase = if mode == "autopilot" { live_phase(mode) } else { "cancelled" };
        assert_eq!(document["current_phase"], phase, "{mode}");
        assert_eq!(document["plan_path"], "p.md", "{mode}");
        assert_eq!(document["handoff_artifacts"], json!({"ralplan": {"plan": 1}}), "{mode}");
        let resume = json!({"mode": mode, "session_id": "s", "resume": true}).to_string();
        let outcome = omc.omc(&["state", "write", "--input", &resume, "--json"]);
        let is_kept = ["autopilot", "ralplan"].contains(&mode);
        assert_eq!(outcome.code == Some(0), is_kept, "{mode}: {outcome:?}");
    }
}

#[test]
fn seed_001_a_linked_ultrawork_is_not_cancelled_alone_and_an_unlinked_one_is_spared() {
    let linked = json!({"linked_to_ralph": true});
    let omc =
        OmcProject::with(&[(Some("s"), "ralph", json!({})), (Some("s"), "ultrawork", linked)]);
    let refused = omc.omc(&["cancel", "--mode", "ultrawork", "--json"]);
    assert_eq!(refused.refused(), "linked_mode");
    let sentence = "Ultrawork is linked to Ralph. Use /oh-my-claudecode:cancel to cancel both.";
    assert_eq!(refused.json()["error"], sentence);
    assert_eq!(omc.document(Some("s"), "ultrawork")["active"], true);
    let answer = omc.omc(&["cancel", "--mode", "ralph", "--json"]).ok();
    assert_eq!(modes(&answer), [("ultrawork", Some("ralph")), ("ralph", None)]);
    let omc =
        OmcProject::with(&[(Some("s"), "ralph", json!({})), (Some("s"), "ultrawork", json!({}))]);
    omc.omc(&["cancel", "--mode", "ralph", "--json"]).ok();
    assert_eq!(omc.document(Some("s"), "ultrawork")["active"], true);
    let alone = omc.omc(&["cancel", "--mode", "ultrawork"]);
    assert_eq!(alone.stdout, "Ultrawork cancelled. Parallel execution mode deactivated.\n");
}

#[test]
fn seed_001_force_and_all_clear_every_session_and_the_legacy_list() {
    for flag in ["--force", "--all"] {
        let omc = OmcProject::with(&[
            (Some("s1"), "ralph", json!({})),
            (Some("s2"), "autopilot", json!({})),
            (None, "ultrawork", json!({})),
        ]);
        for name in LEGACY.split_whitespace().filter(|name| !name.ends_with("-state.json")) {
            omc.project.write(&format!(".omc/state/{name}"), "x");
        }
        for name in LEGACY.split_whitespace().filter(|name| name.ends_with("-state.json")) {
            if !omc.path(name).exists() {
                omc.project.write(&format!(".omc/state/{name}"), r#"{"active":false}"#);
            }
        }
        omc.project.write(".omc/state/checkpoints/one.json", "x");
        omc.project.write(".omc/plans/mine.md", "kept");
        // A plain cancel removes nothing.
        let before: Vec<PathBuf> = omc.remaining().into_keys().collect();
        omc.omc(&["cancel", "--session-id", "s1", "--json"]).ok();
        assert_eq!(omc.remaining().into_keys().collect::<Vec<_>>(), before);
        let outcome = omc.omc(&["cancel", flag]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let last = outcome.stdout.lines().last();
        assert_eq!(last, Some("All OMC modes cleared. You are free to start fresh."));
        assert_eq!(
            omc.remaining().into_keys().collect::<Vec<_>>(),
            Vec::<PathBuf>::new(),
            "{flag}"
        );
        assert_eq!(omc.project.read(".omc/plans/mine.md"), "kept");
    }
}

#[test]
fn seed_001_the_state_tools_keep_their_documents_in_the_omc_tree() {
    let omc = OmcProject::with(&[]);
    let mut server = omc.project.command(&omc.binary);
    server.arg("mcp");
    let mut tools = omx_testkit::McpClient::start(server);
    let mut call = |tool: &str, input: Value| {
        let (is_error, answer) = tools.call(tool, &input);
        assert!(!is_error, "{tool}: {answer}");
        answer
    };
    for session in ["s1", "s2"] {
        call("state_write", json!({"mode": "ralph", "active": true, "session_id": session}));
        assert!(omc.path(&format!("sessions/{session}/ralph-state.json")).is_file());
    }
    let listed = call("state_list_active", json!({}));
    assert_eq!(listed["entries"].as_array().unwrap().len(), 2, "{listed}");
    let status = call("state_get_status", json!({"session_id": "s1"}));
    assert_eq!(status["statuses"]["ralph"]["active"], true);
    // A clear with a session removes that session's file and no other.
    call("cancel", json!({"session_id": "s1"}));
    let cleared = call("state_clear", json!({"mode": "ralph", "session_id": "s1"}));
    assert_eq!(cleared["removed"], 1);
    assert!(!omc.path("sessions/s1/ralph-state.json").exists());
    assert_eq!(omc.document(Some("s2"), "ralph")["active"], true);
}

#[test]
fn seed_001_the_words_of_omc_cancel_in_a_conversation() {
    for words in ["cancelomc", "stopomc", "/oh-my-claudecode:cancel", "/cancel"] {
        let omc = OmcProject::with(&[(Some("s2"), "ultraqa", json!({}))]);
        let prompt = |text: &str| omc.event("s1", "UserPromptSubmit", &json!({"prompt": text}));
        prompt("/oh-my-claudecode:ralph repair the parser");
        let stop = json!({"stop_hook_active": false, "last_assistant_message": "done?"});
        held(&omc.event("s1", "Stop", &stop));
        let other = omc.document(Some("s2"), "ultraqa");
        let answer = prompt(words);
        assert!(context(&answer).contains("Ralph cancelled."), "{words}: {answer}");
        assert_eq!(omc.document(Some("s1"), "ralph")["active"], false, "{words}");
        assert_eq!(omc.event("s1", "Stop", &stop), json!({}), "{words}");
        assert_eq!(omc.document(Some("s2"), "ultraqa"), other, "{words}");
    }
}

#[test]
fn seed_001_a_mode_without_activity_for_two_hours_holds_nothing_and_is_cancelled() {
    let project = project();
    plant_stale(&project, Some("s1"), "ralph");
    let omc = OmcProject::in_project(project);
    let stop = json!({"stop_hook_active": false, "last_assistant_message": "done?"});
    assert_eq!(omc.event("s1", "Stop", &stop), json!({}));
    let answer = omc.omc(&["cancel", "--json"]).ok();
    assert_eq!(modes(&answer), [("ralph", None)]);
}

#[test]
fn seed_001_force_and_all_in_a_prompt_clear_every_session() {
    for words in ["/oh-my-claudecode:cancel --force", "/oh-my-claudecode:cancel --all"] {
        let omc = OmcProject::with(&[
            (Some("s1"), "ralph", json!({})),
            (Some("s2"), "ultraqa", json!({})),
            (None, "ultrawork", json!({})),
        ]);
        let answer = omc.event("s1", "UserPromptSubmit", &json!({"prompt": words}));
        assert!(context(&answer).contains("All OMC modes cleared."), "{words}: {answer}");
        let left = omc.omc(&["state", "get-status", "--json"]).ok();
        assert_eq!(left, json!({"statuses": {}, "sessions": {}}), "{words}");
    }
}

#[test]
fn seed_001_one_clear_drops_a_whole_session_or_what_is_outside() {
    let omc = OmcProject::with(&[
        (Some("s1"), "ralph", json!({})),
        (Some("s1"), "ultrawork", json!({})),
        (Some("s2"), "ultraqa", json!({})),
        (None, "ecomode", json!({})),
    ]);
    let other = omc.document(Some("s2"), "ultraqa");
    let one = omc.omc(&["state", "clear", "--session-id", "s1", "--json"]).ok();
    assert_eq!(one["removed"], 2, "{one}");
    assert_eq!(omc.document(None, "ecomode")["active"], true);
    let outside = omc.omc(&["state", "clear", "--json"]).ok();
    assert_eq!(outside["removed"], 1, "{outside}");
    assert!(!omc.path("ecomode-state.json").exists());
    assert_eq!(omc.document(Some("s2"), "ultraqa"), other);
}
