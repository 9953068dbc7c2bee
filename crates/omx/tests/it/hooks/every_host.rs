//! What a conversation promises, for either host and in either dialect. State is written
//! through MCP, after the host's hook has filled in the session.

use omx_testkit::{McpClient, TestProject};
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, answer, context, held};
use crate::project;

/// A project, as one host and one dialect see it.
struct HostedProject {
    project: TestProject,
    host: HookHost,
    dialect: &'static str,
}

fn everywhere() -> Vec<HostedProject> {
    let mut all = Vec::new();
    for host in BOTH {
        for dialect in ["omx", "omc"] {
            let project = project();
            project.git();
            for name in ["plan.md", "tests.md"] {
                project.write(name, "content\n");
            }
            all.push(HostedProject { project, host, dialect });
        }
    }
    all
}

impl HostedProject {
    fn omx(&self, args: &[&str]) -> String {
        let args = [&["--dialect", self.dialect], args].concat();
        let outcome = self.project.omx(&args);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout
    }

    #[track_caller]
    fn event(&self, session: &str, event: &str, more: &Value) -> Value {
        let mut payload = json!({"session_id": session, "cwd": self.project.root(),
            "hook_event_name": event, "transcript_path": "/nowhere/transcript.jsonl"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let args = ["--dialect", self.dialect, "hook", "--host", self.host.name()];
        answer(self.project.omx_command(&args), payload.to_string().as_bytes())
    }

    #[track_caller]
    fn prompt(&self, session: &str, text: &str) -> Value {
        self.event(session, "UserPromptSubmit", &json!({"prompt": text}))
    }

    #[track_caller]
    fn stop(&self, session: &str, words: &str) -> Value {
        let more = json!({"stop_hook_active": false, "last_assistant_message": words});
        self.event(session, "Stop", &more)
    }

    /// Works and stops this many times; each stop is held.
    #[track_caller]
    fn work(&self, session: &str, stops: usize) {
        let tool = json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t"});
        for turn in 0..stops {
            self.event(session, "PreToolUse", &tool);
            self.event(session, "PostToolUse", &tool);
            held(&self.stop(session, &format!("part {turn} is done")));
        }
    }

    /// A call of the agent: whether it fails, and the answer.
    #[track_caller]
    fn call(&self, session: &str, tool: &str, input: &Value) -> (bool, Value) {
        let name = format!("mcp__{}__{tool}", self.dialect);
        let more = json!({"tool_name": name, "tool_input": input, "tool_use_id": "t"});
        let seen = self.event(session, "PreToolUse", &more);
        let input = seen["hookSpecificOutput"].get("updatedInput").unwrap_or(input);
        let mut client =
            McpClient::start(self.project.omx_command(&["--dialect", self.dialect, "mcp"]));
        client.call(tool, input)
    }

    #[track_caller]
    fn write(&self, session: &str, input: Value) {
        let (failed, answer) = self.call(session, "state_write", &input);
        assert!(!failed, "{input}: {answer}");
    }

    #[track_caller]
    fn refused(&self, session: &str, input: Value, code: &str) -> String {
        let (failed, answer) = self.call(session, "state_write", &input);
        assert!(failed && answer["code"] == code, "{input}: {answer}");
        answer["error"].as_str().unwrap().to_owned()
    }

    fn path(&self, session: &str, mode: &str) -> std::path::PathBuf {
        let tree = format!(".{}/state/sessions/{session}/{mode}-state.json", self.dialect);
        self.project.root().join(tree)
    }

    #[track_caller]
    fn document(&self, session: &str, mode: &str) -> Value {
        serde_json::from_str(&self.project.read(self.path(session, mode))).unwrap()
    }
}

fn plan() -> Value {
    json!({"mode": "autopilot", "current_phase": "ralph", "handoff_artifacts": {
        "ralplan": {"plan_path": "plan.md", "test_spec_path": "tests.md"}}})
}

fn work() -> Value {
    json!({"mode": "autopilot", "current_phase": "code-review", "handoff_artifacts": {
        "ralph": {"changed_files": ["a.rs"], "evidence": [{"command": "make", "exit_code": 0}]}}})
}

fn not_clean() -> Value {
    json!({"mode": "autopilot", "current_phase": "ralplan", "iteration": 2, "review_cycle": 1,
        "review_verdict": {"recommendation": "COMMENT", "architectural_status": "CLEAR",
            "clean": false},
        "return_to_ralplan_reason": "a leak",
        "handoff_artifacts": {"code_review": {"findings": ["a leak"]}}})
}

#[test]
fn modes_4_3_holds_are_not_rounds_and_each_cycle_has_its_evidence_everywhere() {
    for here in everywhere() {
        here.prompt("s1", "$autopilot mend the parser");
        here.work("s1", 11);
        here.refused(
            "s1",
            json!({"mode": "autopilot", "current_phase": "ralph"}),
            "illegal_transition",
        );
        here.write("s1", plan());
        for bad in [
            json!(["x"]),
            json!([{"command": "make", "exit_code": 1}]),
            json!([{"path": "/etc/hostname"}]),
            json!([{"path": "../x"}]),
        ] {
            let mut input = work();
            input["handoff_artifacts"]["ralph"]["evidence"] = bad;
            here.refused("s1", input, "illegal_transition");
        }
        here.write("s1", work());
        here.work("s1", 3);
        // As the document asks, whatever was held before.
        here.write("s1", not_clean());
        let document = here.document("s1", "autopilot");
        let counters = (&document["iteration"], &document["review_cycle"]);
        assert_eq!(counters, (&json!(2), &json!(1)), "{document}");
        let bare = json!({"mode": "autopilot", "current_phase": "ralph"});
        here.refused("s1", bare, "illegal_transition");
        here.write("s1", plan());
        here.omx(&["limit", "s1", "20"]);
        assert_eq!(here.document("s1", "autopilot")["max_iterations"], 20);
    }
}

#[test]
fn modes_5_3b_a_bare_call_continues_in_a_new_conversation_everywhere() {
    for here in everywhere() {
        here.prompt("s1", "$autopilot mend the parser");
        here.write("s1", plan());
        let answer = here.prompt("s1", &format!("cancel{}", here.dialect));
        assert!(context(&answer).contains("Autopilot cancelled at phase: ralph."), "{answer}");
        let refusal = here.refused("s1", work(), "illegal_transition");
        let (resume, start) = (refusal.find("\"resume\": true"), refusal.find("\"start\": true"));
        assert!(resume.unwrap() < start.unwrap(), "{refusal}");
        let answer = here.prompt("s2", "$autopilot");
        assert!(context(&answer).contains("mend the parser"), "{answer}");
        let document = here.document("s2", "autopilot");
        assert_eq!(document["current_phase"], "ralph", "{document}");
        assert_eq!(document["handoff_artifacts"]["ralplan"]["plan_path"], "plan.md");
        held(&here.stop("s2", "where was I?"));
        let answer = here.prompt("s2", "continue");
        assert!(context(&answer).contains("ralph"), "{answer}");
    }
}

#[test]
fn modes_5_3a_force_reaches_every_conversation_everywhere() {
    for by_mcp in [false, true] {
        for here in everywhere() {
            here.prompt("s2", "$ralph mend the parser");
            let (_, active) = here.call("s1", "state_list_active", &json!({}));
            assert_eq!(active["active_modes"], json!(["ralph"]), "{active}");
            if by_mcp {
                let (failed, report) = here.call("s1", "cancel", &json!({"force": true}));
                assert!(!failed, "{report}");
                assert_eq!(report["cancelled"][0]["preserved"], false, "{report}");
            } else {
                let answer = here.prompt("s1", "/cancel --force");
                let cleared = format!("All {} modes cleared.", here.dialect.to_uppercase());
                assert!(context(&answer).contains(&cleared), "{answer}");
            }
            assert!(!here.path("s2", "ralph").exists());
            assert_eq!(here.stop("s2", "done?"), json!({}));
        }
    }
}

#[test]
fn cancel_1_4_a_run_that_waits_is_shown_and_cancelled_everywhere() {
    for by_mcp in [false, true] {
        for here in everywhere() {
            here.prompt("s1", "$ralph mend the parser");
            let waits = json!({"mode": "ralph", "run_outcome": "blocked_on_user",
                "error": "the token is missing"});
            here.write("s1", waits);
            let status = here.omx(&["status"]);
            assert!(status.contains("ralph") && status.contains("the token is missing"));
            if by_mcp {
                let (_, report) = here.call("s1", "cancel", &json!({}));
                assert_eq!(report["cancelled"][0]["mode"], "ralph", "{report}");
            } else {
                here.prompt("s1", "cancel");
            }
            let document = here.document("s1", "ralph");
            assert_eq!(document["run_outcome"], "cancelled", "{document}");
            here.prompt("s1", "continue");
            assert_eq!(here.document("s1", "ralph"), document);
        }
    }
}

#[test]
fn modes_3_2_stages_link_inside_autopilot_everywhere() {
    for here in everywhere() {
        for stage in ["ralplan", "ralph", "code-review", "ultraqa"] {
            here.prompt("s1", "$autopilot mend the parser");
            here.write("s1", json!({"mode": stage, "active": true, "start": true}));
            assert_eq!(here.document("s1", stage)["linked_to"], "autopilot", "{stage}");
            let answer = here.prompt("s1", &format!("stop{}", here.dialect)).to_string();
            assert!(answer.contains(&format!("{stage} (linked to autopilot)")), "{answer}");
        }
    }
}

#[test]
fn state_3_2c_the_words_people_use_are_understood_everywhere() {
    for here in everywhere() {
        here.prompt("s1", "$ralph mend the parser");
        for (wrong, right) in [
            ("phase", "current_phase"),
            ("maxIterations", "max_iterations"),
            ("currentPhase", "current_phase"),
            ("sessionId", "session_id"),
        ] {
            let mut input = json!({"mode": "ralph"});
            input[wrong] = json!("x");
            let refusal = here.refused("s1", input, "invalid_input");
            assert!(refusal.contains(right), "{refusal}");
        }
        let (failed, active) = here.call("s1", "state-list-active", &json!({}));
        assert!(!failed && active["active_modes"] == json!(["ralph"]), "{active}");
        let (_, report) = here.call("s1", "cancel", &json!({"what": "ralph"}));
        assert_eq!(report["cancelled"][0]["mode"], "ralph", "{report}");
        let (failed, answer) = here.call("s1", "cancel", &json!({"what": "nope"}));
        assert!(failed, "{answer}");
        // A document that says both holds nothing.
        let both = json!({"mode": "ralph", "active": true, "current_phase": "complete"});
        put(&here, "s3", &both);
        assert_eq!(here.stop("s3", "done"), json!({}));
    }
}

/// A document of another program.
fn put(here: &HostedProject, session: &str, document: &Value) {
    let path = here.path(session, document["mode"].as_str().unwrap());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, document.to_string()).unwrap();
}
