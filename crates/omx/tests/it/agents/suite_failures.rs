//! What every driver reports when something fails.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use omx_agents::failure::FailureCause;
use omx_agents::{Agent, AgentEvent, AgentLimits, AgentMessage, ConversationId, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::conversation::{DEADLINE, TestConversation, conversation_spec, start};
use super::play::{AgentPlay, PlayFailure, PlayStep, cue};
use super::stage::{DriverStage, WORKER};

/// Processes whose environment has this home and the marker of a worker, by
/// command line; the guard is not one of them.
pub fn agent_processes(stage: &impl DriverStage) -> BTreeMap<i32, String> {
    let mut found = BTreeMap::new();
    let folder = stage.root().parent().unwrap().to_str().unwrap().to_owned();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let guard = line.split(' ').nth(1) == Some("guard");
        if environment.contains(&folder)
            && environment.contains(WORKER)
            && !guard
            && !line.is_empty()
        {
            found.insert(pid, line);
        }
    }
    found
}

pub fn a_killed_agent_is_reported_and_its_conversation_can_be_resumed<S: DriverStage>() {
    let first = AgentPlay::new("first", [PlayStep::Say("remembered")]);
    let slow = AgentPlay::new("slow", [PlayStep::SaySlowly]);
    let after = AgentPlay::new("after", [PlayStep::Say("back again")]);
    let stage = S::with(vec![first.clone(), slow, after]);
    let mut chat = TestConversation::new(&stage);
    assert_eq!(chat.turn(&first.cue("the word is plum")).text(), "remembered");
    chat.agent.send(AgentMessage::text(cue("slow")));
    await_condition("words are under way", DEADLINE, || stage.is_streaming("slow"));
    await_condition("it is kept", DEADLINE, || stage.is_kept(chat.id.as_str()));
    let processes = agent_processes(&stage);
    assert!(!processes.is_empty());
    for pid in processes.keys() {
        let _ = kill_process(Pid::from_raw(*pid).unwrap(), Signal::KILL);
    }
    let failure = chat.turn_end().failure();
    assert_eq!(failure.kind(), "crashed", "{failure}");
    assert_eq!(chat.over().map(|failure| failure.kind()), Some("crashed"));
    assert_eq!(agent_processes(&stage), BTreeMap::new());

    let mut chat = TestConversation::resume(&stage, &chat.id);
    assert_eq!(chat.turn(&cue("after")).text(), "back again");
    let history = stage.history("after");
    assert!(history.contains("the word is plum"), "{history}");
    assert_eq!(chat.end(), None);
}

/// A turn that fails in this way, and then one that does not: the conversation
/// survives the failure.
fn fails<S: DriverStage>(failing: PlayFailure) -> FailureCause {
    let fail = AgentPlay::new("fail", [PlayStep::Fail(failing)]);
    let after = AgentPlay::new("after", [PlayStep::Say("better now")]);
    let stage = S::with(vec![fail, after]);
    let mut chat = TestConversation::new(&stage);
    let failure = chat.turn(&cue("fail")).failure();
    assert_eq!(failure.agent, S::KIND);
    assert!(stage.answers("fail") >= 1);
    assert_eq!(chat.turn(&cue("after")).text(), "better now");
    assert_eq!(chat.end(), None);
    failure.cause
}

pub fn a_limit_with_an_end_is_reported<S: DriverStage>() {
    // A time that no clock reaches during this test.
    let cause = fails::<S>(PlayFailure::LimitedUntil(1_900_000_000));
    let FailureCause::RateLimited { until: Some(until), .. } = cause else { panic!("{cause:?}") };
    // A vendor that gives a delay from now is precise to the minute.
    let seconds = until.millis() / 1000;
    assert!((1_899_999_940..=1_900_000_060).contains(&seconds), "{until}");
}

pub fn a_limit_without_an_end_is_reported<S: DriverStage>() {
    let cause = fails::<S>(PlayFailure::Limited);
    assert!(matches!(cause, FailureCause::RateLimited { until: None, .. }), "{cause:?}");
}

pub fn a_rejected_account_is_reported<S: DriverStage>() {
    let cause = fails::<S>(PlayFailure::Unauthorised);
    assert!(matches!(cause, FailureCause::NotLoggedIn { .. }), "{cause:?}");
}

pub fn a_failing_service_is_reported<S: DriverStage>() {
    let cause = fails::<S>(PlayFailure::Service);
    assert!(matches!(cause, FailureCause::Service { .. }), "{cause:?}");
}

pub fn a_truncated_answer_is_reported<S: DriverStage>() {
    let cause = fails::<S>(PlayFailure::Cut);
    assert!(matches!(cause, FailureCause::CutOff { .. }), "{cause:?}");
}

pub fn an_unknown_model_is_reported<S: DriverStage>() {
    let cause = fails::<S>(PlayFailure::UnknownModel);
    assert!(matches!(cause, FailureCause::UnknownModel { .. }), "{cause:?}");
}

pub fn an_unreachable_vendor_is_reported<S: DriverStage>() {
    let stage = S::without_vendor();
    let mut chat = TestConversation::new(&stage);
    let failure = chat.turn("anybody there?").failure();
    assert_eq!(failure.kind(), "network", "{failure}");
    assert!(failure.remedy().is_some());
    assert_eq!(chat.end(), None);
}

pub fn an_unknown_conversation_is_reported<S: DriverStage>() {
    let stage = S::with(vec![]);
    let id = ConversationId::new("0192d5a4-7c1e-7abc-8def-0123456789ab").unwrap();
    let spec = conversation_spec(&stage, ConversationStart::Resume(id), AllowLevel::Commands);
    let (_agent, events) = start::<S>(&stage, &spec, AgentLimits::default());
    loop {
        match events.recv_timeout(DEADLINE).expect("it ends in time") {
            AgentEvent::Ended(Some(failure)) => {
                break assert_eq!(failure.kind(), "unknown_conversation", "{failure}");
            }
            AgentEvent::Started { .. } | AgentEvent::Ended(None) => {
                panic!("a conversation nobody began")
            }
            _ => {}
        }
    }
}

pub fn a_missing_program_is_reported<S: DriverStage>() {
    let stage = S::with(vec![]);
    let mut agent_env = stage.agent_env();
    agent_env.variables.insert("PATH".into(), "/nonexistent".into());
    let found = driver(S::KIND).find(&agent_env);
    if S::KIND.install_command().is_none() {
        // The built-in agent.
        return drop(found.unwrap());
    }
    let failure = found.unwrap_err();
    assert_eq!(failure.kind(), "not_installed");
    assert!(failure.remedy().unwrap().contains("npm install"));
}

pub fn a_missing_account_is_reported<S: DriverStage>() {
    let stage = S::with(vec![]);
    driver(S::KIND).find(&stage.agent_env()).unwrap();
    let Some(agent_env) = stage.logged_out() else { return };
    assert!(agent_env.variables.contains_key(OsStr::new("PATH")));
    let failure = driver(S::KIND).find(&agent_env).unwrap_err();
    assert_eq!(failure.kind(), "not_logged_in", "{failure}");
    assert!(failure.remedy().is_some());
}

pub fn has_the_tested_version<P: super::cli_stage::CliProgram>() {
    let stage = super::cli_stage::CliStage::<P>::with(vec![]);
    let agent_env = stage.agent_env();
    let installation = driver(P::KIND).find(&agent_env).unwrap();
    let version = omx_agents::version::version(&installation, &agent_env, DEADLINE).unwrap();
    assert_eq!(version, P::CLI.version());
}
