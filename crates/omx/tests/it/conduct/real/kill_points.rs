//! A run that is killed again and again: omx, the agent or both, at moments that do
//! not depend on the machine's speed; it is resumed each time.

use std::fs;

use omx_testkit::model::ReplyProgress;
use omx_testkit::real_cli::AgentCli;
use omx_testkit::{CommandOutcome, await_condition};
use rustix::process::{Signal, kill_process};

use super::project::{DEADLINE, DrivenOmx, RealProject};

/// Who is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KillVictim {
    Omx,
    Agent,
    Both,
}

/// When the victim is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KillTime {
    /// While the model holds the answer: in the middle of a turn.
    Asked,
    /// The same, after this step has finished.
    AskedAfter(&'static str),
    /// Just after the conversation of this step was recorded.
    Named(&'static str),
    /// Between this step and the next.
    Finished(&'static str),
    /// While the check runs.
    Checking,
}

/// One kill.
#[derive(Clone, Copy, Debug)]
pub struct KillPoint {
    pub victim: KillVictim,
    pub when: KillTime,
    /// The turn that the model does not answer until the victim is dead.
    pub held: (&'static str, usize),
}

impl KillPoint {
    pub const fn new(
        victim: KillVictim,
        when: KillTime,
        script: &'static str,
        turn: usize,
    ) -> Self {
        Self { victim, when, held: (script, turn) }
    }
}

/// A check that waits until it is released. It is confined, so it leaves no mark outside.
pub fn check(project: &RealProject) -> String {
    let folder = project.home.folder();
    let folder = folder.display();
    format!("while [ -e {folder}/held ]; do sleep 0.02; done; sh check.sh")
}

/// Runs a mode through all of these kills to its end.
pub fn run(
    project: &RealProject,
    mode: &str,
    args: &[&str],
    kills: &[KillPoint],
) -> CommandOutcome {
    for blow in kills.iter().filter(|blow| blow.when != KillTime::Checking) {
        project.server.hold(blow.held.0, blow.held.1);
    }
    let held = project.home.folder().join("held");
    if kills.iter().any(|blow| blow.when == KillTime::Checking) {
        fs::write(&held, "").unwrap();
    }
    let mut driven = project.start(mode, args);
    for (number, blow) in kills.iter().enumerate() {
        await_moment(project, &mut driven, blow);
        let unanswered = unanswered(project);
        strike(project, &driven, blow.victim);
        if blow.victim != KillVictim::Agent {
            let outcome = driven.outcome();
            assert_eq!(outcome.code, None, "{blow:?} came too late: {outcome:#?}");
            // The guard notices and ends it.
            project.await_nobody();
        }
        // A dead process gets no answer.
        await_condition("the dead are noticed", DEADLINE, || {
            let requests = project.server.requests();
            unanswered.iter().all(|at| requests[*at].progress == ReplyProgress::Broken)
        });
        let is_last = |later: &KillPoint| later.held != blow.held;
        if kills[number + 1..].iter().all(is_last) {
            project.server.release(blow.held.0, blow.held.1);
        }
        if blow.when == KillTime::Checking {
            fs::remove_file(&held).unwrap();
        }
        if blow.victim != KillVictim::Agent {
            driven = project.start_resume();
        }
    }
    driven.outcome()
}

/// Runs a mode until this kill, which ends all processes, and does not resume it.
pub fn kill_once(project: &RealProject, mode: &str, args: &[&str], blow: &KillPoint) {
    project.server.hold(blow.held.0, blow.held.1);
    let mut driven = project.start(mode, args);
    await_moment(project, &mut driven, blow);
    let unanswered = unanswered(project);
    strike(project, &driven, blow.victim);
    let outcome = driven.outcome();
    assert_eq!(outcome.code, None, "{blow:?} came too late: {outcome:#?}");
    project.await_nobody();
    await_condition("the dead are noticed", DEADLINE, || {
        let requests = project.server.requests();
        unanswered.iter().all(|at| requests[*at].progress == ReplyProgress::Broken)
    });
    project.server.release(blow.held.0, blow.held.1);
}

fn await_moment(project: &RealProject, driven: &mut DrivenOmx, blow: &KillPoint) {
    let what = format!("{blow:?}");
    let is_asked = || {
        let turns = project.server.turns(blow.held.0);
        let requested = turns.iter().filter(|turn| turn.progress == ReplyProgress::Waiting);
        let requested = requested.filter(|turn| turn.to_string().starts_with(&turn_name(blow)));
        let ids: Vec<String> = requested.filter_map(RealProject::conversation).collect();
        !ids.is_empty() && ids.iter().all(|id| is_kept(project, id, blow.held.1))
    };
    let has = |kind: &str, step: &str| project.steps(kind).iter().any(|known| known == step);
    await_condition(&what, DEADLINE, || {
        assert!(!driven.is_over(), "{what}: {:#?} {:#?}", project.journal(), project.server.seen());
        match blow.when {
            KillTime::Asked => is_asked(),
            KillTime::AskedAfter(step) => has("step_finished", step) && is_asked(),
            KillTime::Named(step) => has("conversation", step),
            KillTime::Finished(step) => has("step_finished", step),
            KillTime::Checking => {
                let mut lines = project.processes().into_values();
                lines.any(|line| line.starts_with("/bin/sh") && line.contains("/held ]"))
            }
        }
    });
}

/// The unanswered requests.
fn unanswered(project: &RealProject) -> Vec<usize> {
    let requests = project.server.requests();
    let waiting = |at: &usize| requests[*at].progress == ReplyProgress::Waiting;
    (0..requests.len()).filter(waiting).collect()
}

fn turn_name(blow: &KillPoint) -> String {
    format!("{}/{} ", blow.held.0, blow.held.1)
}

fn strike(project: &RealProject, driven: &DrivenOmx, victim: KillVictim) {
    let agents = if victim == KillVictim::Omx { Vec::new() } else { project.agents() };
    if victim != KillVictim::Agent {
        driven.kill();
    }
    for agent in agents {
        let _ = kill_process(agent, Signal::KILL);
    }
}

/// Whether the program has saved the conversation up to this turn. One that is
/// killed before that cannot resume it.
fn is_kept(project: &RealProject, conversation: &str, turn: usize) -> bool {
    let (folder, results) = match project.cli {
        AgentCli::Codex => (".codex/sessions", "function_call_output"),
        AgentCli::Claude | AgentCli::Gemini => (".claude/projects", "\"tool_result\""),
    };
    let mut folders = vec![project.home.home().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(conversation) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                return text.contains("## Your part") && text.matches(results).count() >= turn;
            }
        }
    }
    false
}
