//! Structured results and the program itself, for every driver.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use omx_agents::results::ResultKind;
use omx_agents::{AgentLimits, AgentMessage, ConversationStart};
use omx_conductor::ask::{AskError, AskReply, AskRequest, AskSession};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::conversation::{DEADLINE, conversation_spec};
use super::play::{AgentPlay, PlayStep, cue};
use super::stage::{DriverStage, OMX};
use super::suite_failures::agent_processes;

fn verification() -> Value {
    let check = json!({"name": "looked", "command": "true", "exit_code": 0, "evidence": "seen"});
    json!({"passed": true, "checks": [check], "findings": []})
}

/// Requests a verification, as steps of a run do.
fn ask_agent<S: DriverStage>(stage: &S) -> Result<AskReply, AskError> {
    let wants = ResultKind::Verification;
    let message =
        AgentMessage { schema: Some(wants.schema()), ..AgentMessage::text(cue("verify")) };
    let spec = conversation_spec(stage, ConversationStart::New, AllowLevel::Commands);
    let question = AskRequest { opening: spec, message, wants: Some(wants) };
    let (agent_env, driver) = (stage.agent_env(), driver(S::KIND));
    let installation = driver.find(&agent_env).unwrap();
    let limits = AgentLimits::default();
    AskSession::default().ask(&question, driver, &installation, &agent_env, limits, |_| {})
}

pub fn a_valid_result_is_accepted<S: DriverStage>() {
    let stage = S::with(vec![AgentPlay::new("verify", [PlayStep::Answer(verification())])]);
    let reply = ask_agent(&stage).unwrap();
    assert_eq!(reply.result, Some(verification()));
    assert_eq!(stage.answers("verify"), 1);
}

pub fn an_invalid_result_is_requested_once_more<S: DriverStage>() {
    let steps = [PlayStep::Chatter, PlayStep::Answer(verification())];
    let stage = S::with(vec![AgentPlay::new("verify", steps)]);
    let reply = ask_agent(&stage).unwrap();
    assert_eq!(reply.result, Some(verification()));
    assert_eq!(stage.answers("verify"), S::CHATTER + 1);
    let history = stage.history("verify");
    assert!(history.contains("no object here"), "not the same conversation: {history}");
}

pub fn a_result_that_is_invalid_twice_fails<S: DriverStage>() {
    let steps = [PlayStep::Chatter, PlayStep::Chatter, PlayStep::Answer(verification())];
    let stage = S::with(vec![AgentPlay::new("verify", steps)]);
    let no_reply = ask_agent(&stage).unwrap_err();
    assert!(matches!(no_reply, AskError::WrongResult(_)), "{no_reply:?}");
    assert_eq!(stage.answers("verify"), 2 * S::CHATTER);
}

/// `omx ask` in the stage's environment.
pub fn omx_ask(stage: &impl DriverStage, kind: &str, args: &[&str]) -> Command {
    let agent_env = stage.agent_env();
    let mut command = Command::new(OMX);
    command
        .args(["ask", kind, "--allow", "commands"])
        .args(args)
        .env_clear()
        .envs(&agent_env.variables);
    if let Some(scenario) = &agent_env.scenario {
        command.arg("--scenario").arg(scenario);
    }
    command.current_dir(stage.root()).stdin(Stdio::null());
    command
}

/// Kills the process when the test ends, however it ends.
pub struct ChildGuard(pub Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `omx ask --json` and returns the id of its conversation.
pub fn start_omx_ask(stage: &impl DriverStage, kind: &str, prompt: &str) -> (ChildGuard, String) {
    let mut command = omx_ask(stage, kind, &["--json", prompt]);
    let mut running = ChildGuard(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let started: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(started["event"], "started", "{started}");
    // Keep reading, or the pipe fills up and blocks the program.
    std::thread::spawn(move || lines.count());
    (running, started["conversation"].as_str().unwrap().to_owned())
}

pub fn a_killed_omx_leaves_no_process_and_its_conversation_can_be_resumed<S: DriverStage>() {
    let first = AgentPlay::new("first", [PlayStep::SaySlowly]);
    let after = AgentPlay::new("after", [PlayStep::Say("back again")]);
    let stage = S::with(vec![first.clone(), after]);
    let kind = S::KIND.as_str();
    let (mut running, id) = start_omx_ask(&stage, kind, &first.cue("the word is plum"));
    await_condition("words are under way", DEADLINE, || stage.is_streaming("first"));
    await_condition("it is kept", DEADLINE, || stage.is_kept(&id));
    assert!(!agent_processes(&stage).is_empty());
    let pid = Pid::from_raw(i32::try_from(running.0.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    running.0.wait().unwrap();
    await_condition("nothing of it is left", Duration::from_secs(12), || {
        agent_processes(&stage).is_empty()
    });
    let answer = omx_ask(&stage, kind, &["--resume", &id, &cue("after")]).output().unwrap();
    let message = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert_eq!(message.trim(), "back again", "{}", String::from_utf8_lossy(&answer.stderr));
    let history = stage.history("after");
    assert!(history.contains("the word is plum"), "{history}");
}
