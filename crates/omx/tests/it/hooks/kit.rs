//! A host, as far as its hooks go: it calls `omx hook` with payloads of the
//! shape the real programs send, and reads what comes back.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use crate::project;

/// No hook takes longer, whatever happens. hosts.md says a second; the rest is slack
/// for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(4);

/// A host that runs hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookHost {
    Codex,
    Claude,
}

pub const BOTH: [HookHost; 2] = [HookHost::Codex, HookHost::Claude];

impl HookHost {
    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
        }
    }
}

/// One conversation of a host in a project.
pub struct HostConversation<'a> {
    pub project: &'a TestProject,
    pub host: HookHost,
    pub session: &'a str,
}

/// A project in use: omx has been called in it before.
pub fn used_project() -> TestProject {
    let project = project();
    project.git();
    project.omx(&["state", "write", "--mode", "team", "--input", r#"{"active":false}"#]);
    project
}

impl HostConversation<'_> {
    /// What both hosts put into every payload.
    pub fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": "/nowhere/transcript.jsonl",
            "cwd": self.project.root(),
            "hook_event_name": event,
            "permission_mode": "default",
        });
        if self.host == HookHost::Codex {
            payload["model"] = json!("gpt-5.5");
            payload["turn_id"] = json!("turn-1");
        }
        for (name, value) in more.as_object().unwrap() {
            payload[name] = value.clone();
        }
        payload
    }

    /// The hook, not yet started.
    pub fn command(&self) -> Command {
        self.project.omx_command(&["hook", "--host", self.host.name()])
    }

    /// The person presses Esc. Codex reports it; Claude Code only adds to its transcript,
    /// and returns what the payload of the next prompt has to say about it.
    pub fn interrupt(&self) -> (Value, Value) {
        if self.host == HookHost::Codex {
            return (self.event("Interrupt", json!({})), json!({}));
        }
        let entry = json!({"type": "user", "interruptedMessageId": "m1", "message": {
            "role": "user",
            "content": [{"type": "text", "text": "[Request interrupted by user]"}]}});
        let path = self.project.folder().join("transcript.jsonl");
        std::fs::write(&path, format!("{entry}\n{}\n", json!({"type": "mode"}))).unwrap();
        (json!({}), json!({"transcript_path": path}))
    }

    /// The person types the first prompt after an interrupt.
    #[track_caller]
    pub fn prompt_after(&self, interrupt: &Value, text: &str) -> Value {
        let mut more = interrupt.clone();
        more["prompt"] = json!(text);
        self.event("UserPromptSubmit", more)
    }

    /// An event and its answer.
    #[track_caller]
    pub fn event(&self, event: &str, more: Value) -> Value {
        answer(self.command(), self.payload(event, more).to_string().as_bytes())
    }

    /// The person types.
    #[track_caller]
    pub fn prompt(&self, text: &str) -> Value {
        self.event("UserPromptSubmit", json!({"prompt": text}))
    }

    /// The agent tries to stop.
    #[track_caller]
    pub fn stop(&self, last_words: &str) -> Value {
        let more = json!({"stop_hook_active": false, "last_assistant_message": last_words});
        self.event("Stop", more)
    }

    /// The agent uses a tool.
    #[track_caller]
    pub fn tool(&self, name: &str) {
        let input = json!({"tool_name": name, "tool_input": {}, "tool_use_id": "t1"});
        assert_eq!(self.event("PreToolUse", input.clone()), json!({}));
        assert_eq!(self.event("PostToolUse", input), json!({}));
    }

    /// A mode's document.
    #[track_caller]
    pub fn document(&self, mode: &str) -> Value {
        let path = self.project.session(self.session, &format!("{mode}-state.json"));
        serde_json::from_str(&self.project.read(path)).unwrap()
    }

    /// Writes state as the agent would.
    #[track_caller]
    pub fn write(&self, input: Value) {
        let mut input = input;
        input["session_id"] = json!(self.session);
        let outcome = self.project.omx(&["state", "write", "--input", &input.to_string()]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }
}

/// The text a host shows its agent, in answer to a start or a prompt.
#[track_caller]
pub fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_else(|| panic!("no context in {answer}"))
}

/// Why a stop is held.
#[track_caller]
pub fn held(answer: &Value) -> &str {
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().unwrap()
}

/// Asserts that at least one of a few attempts takes less than a second, as hosts.md
/// 1.4 demands: a busy machine may be slow, a hook may not. Returns the fastest time.
#[track_caller]
pub fn within_a_second(mut hook: impl FnMut()) -> Duration {
    let mut quickest = Duration::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        hook();
        quickest = quickest.min(begun.elapsed());
        if quickest < Duration::from_secs(1) {
            return quickest;
        }
    }
    panic!("the quickest took {quickest:?}");
}

/// Starts a hook and hands it its payload.
pub fn start(mut command: Command, payload: &[u8]) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A hook that needs only a part may close the pipe.
    let _ = child.stdin.take().unwrap().write_all(payload);
    child
}

/// What a hook answered, in time, as one line.
#[track_caller]
pub fn ended(child: Child, begun: Instant) -> Value {
    let outcome = CommandOutcome::from(child.wait_with_output().unwrap());
    assert!(begun.elapsed() < PATIENCE, "it took {:?}: {outcome:?}", begun.elapsed());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, "", "{outcome:?}");
    assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

/// Runs a hook to its answer.
#[track_caller]
pub fn answer(command: Command, payload: &[u8]) -> Value {
    let begun = Instant::now();
    ended(start(command, payload), begun)
}
