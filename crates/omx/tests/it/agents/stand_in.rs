//! A program of the test behind the real loop and the real guard: it speaks a
//! minimal protocol and can misbehave in every way.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use omx_agents::event::{ApprovalId, ApprovalRequest, Delivery, TurnAnswer};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::protocol::{AgentExit, Confinement, Launch, ProtocolEffect, ProtocolEvent};
use omx_agents::{
    AgentCommand, AgentEnv, AgentEvent, AgentInstallation, AgentKind, AgentLimits, Conversation,
    ConversationId, ConversationSpec, ConversationStart, Driver, Protocol, conversation,
};
use omx_kernel::approval::AllowLevel;
use omx_testkit::CommandOutcome;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::stage::{OMX, WORKER};

/// Nothing here takes longer.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// A driver for one program in one folder.
#[derive(Clone)]
pub struct StandIn {
    pub launch: Launch,
    /// The program that runs the guard.
    pub omx: PathBuf,
    pub limits: AgentLimits,
    pub after_exit: AfterExit,
}

/// What the protocol does after an unexpected exit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AfterExit {
    Fail,
    /// Nothing: it waits forever.
    Wait,
}

impl StandIn {
    /// A shell that runs these lines in this folder.
    pub fn shell(folder: &Path, script: &str) -> Self {
        let mark = ConversationId::random();
        let environment =
            [("PATH", std::env::var_os("PATH").unwrap()), (WORKER, mark.as_str().into())];
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            environment: environment.map(|(name, value)| (name.into(), value)).into(),
            folder: folder.to_owned(),
            confinement: Confinement::Unconfined,
        };
        Self {
            launch,
            omx: OMX.into(),
            limits: AgentLimits::default(),
            after_exit: AfterExit::Fail,
        }
    }

    pub fn limits(mut self, limits: AgentLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens a conversation.
    pub fn open(&self) -> StandInConversation {
        let agent_env = AgentEnv {
            variables: BTreeMap::new(),
            omx: self.omx.clone(),
            worker_variable: WORKER.to_owned(),
            child_variables: Default::default(),
            scenario: None,
            rehearsal_folder: self.launch.folder.clone(),
            clock: || omx_kernel::Timestamp::from_millis(0),
        };
        let spec = ConversationSpec {
            start: ConversationStart::New,
            folder: self.launch.folder.clone(),
            role: None,
            model: None,
            allow: AllowLevel::Commands,
            servers: Vec::new(),
            max_micro_usd: None,
            schema: None,
            sandbox: omx_agents::sandbox::AgentSandbox::default(),
        };
        let installation = self.find(&agent_env).unwrap();
        let (sender, events) = channel();
        let on_event = move |event| {
            let _ = sender.send(event);
        };
        let limits = self.limits;
        let agent =
            conversation::open(self, &installation, &spec, &agent_env, limits, on_event).unwrap();
        StandInConversation { agent, events, seen: Vec::new() }
    }
}

impl Driver for StandIn {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
    }

    fn find(&self, _: &AgentEnv) -> Result<AgentInstallation, Failure> {
        Ok(AgentInstallation { kind: self.kind(), program: self.launch.program.clone() })
    }

    fn state_folders(&self, _: &AgentEnv) -> Vec<PathBuf> {
        Vec::new()
    }

    fn protocol(
        &self,
        _: &ConversationSpec,
        _: &AgentInstallation,
        _: &AgentEnv,
        _: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        Ok(Box::new(Plain {
            launch: self.launch.clone(),
            after_exit: self.after_exit,
            is_busy: false,
            queue: VecDeque::new(),
        }))
    }
}

/// The protocol: `{"say": …}` and `{"interrupt": true}` go in, and what comes
/// out is `started`, `text`, `ask`, `answer`, `stopped` or `again`, the last
/// for a program that wants to be replaced by a new one.
struct Plain {
    launch: Launch,
    after_exit: AfterExit,
    is_busy: bool,
    queue: VecDeque<String>,
}

impl Protocol for Plain {
    fn start(&mut self, _: Instant) -> Vec<ProtocolEffect> {
        vec![ProtocolEffect::Launch(self.launch.clone())]
    }

    fn handle(&mut self, input: ProtocolEvent, _: Instant) -> Vec<ProtocolEffect> {
        match input {
            ProtocolEvent::Command(AgentCommand::Send(message)) => self.say(message.text),
            ProtocolEvent::Command(AgentCommand::Steer(text)) => self.say(text),
            ProtocolEvent::Command(AgentCommand::Interrupt) => {
                vec![ProtocolEffect::Write(json!({"interrupt": true}))]
            }
            ProtocolEvent::Command(AgentCommand::Answer(..) | AgentCommand::End)
            | ProtocolEvent::Tick => Vec::new(),
            ProtocolEvent::Line(line) => self.line(&line),
            ProtocolEvent::Exited(_) if self.after_exit == AfterExit::Wait => Vec::new(),
            ProtocolEvent::Exited(AgentExit { code, stderr }) => {
                let cause = FailureCause::Crashed { code, stderr };
                vec![ProtocolEffect::Fail(Failure::new(AgentKind::Rehearsal, cause))]
            }
        }
    }

    fn has_pending_turn(&self) -> bool {
        self.is_busy
    }

    fn next_tick(&self) -> Option<Instant> {
        None
    }
}

impl Plain {
    /// Sends a message, or queues it until the turn ends.
    fn say(&mut self, text: String) -> Vec<ProtocolEffect> {
        if std::mem::replace(&mut self.is_busy, true) {
            self.queue.push_back(text);
            return vec![ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Queued))];
        }
        vec![ProtocolEffect::Write(json!({"say": text}))]
    }

    /// Reports the end of the turn, and starts the next one if it is queued.
    fn turned(&mut self, event: AgentEvent) -> Vec<ProtocolEffect> {
        self.is_busy = false;
        let mut effects = vec![ProtocolEffect::Emit(event)];
        if let Some(next) = self.queue.pop_front() {
            effects.extend(self.say(next));
        }
        effects
    }

    fn line(&mut self, line: &Value) -> Vec<ProtocolEffect> {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let event = if line["started"] == true {
            AgentEvent::Started { conversation: ConversationId::random(), model: None }
        } else if let Some(text) = text("text") {
            AgentEvent::Text(text)
        } else if let Some(what) = text("ask") {
            AgentEvent::ApprovalNeeded {
                approval: ApprovalId(what.clone()),
                ask: ApprovalRequest::Other { what },
            }
        } else if let Some(text) = text("answer") {
            return self.turned(AgentEvent::TurnFinished(TurnAnswer { text, structured: None }));
        } else if line["stopped"] == true {
            return self.turned(AgentEvent::TurnInterrupted);
        } else if line["again"] == true {
            return vec![ProtocolEffect::Launch(self.launch.clone())];
        } else {
            return Vec::new();
        };
        vec![ProtocolEffect::Emit(event)]
    }
}

/// An open conversation and its events.
pub struct StandInConversation {
    pub agent: Conversation,
    pub events: Receiver<AgentEvent>,
    pub seen: Vec<AgentEvent>,
}

impl StandInConversation {
    /// Waits for the next matching event; earlier ones are kept.
    #[track_caller]
    pub fn until(&mut self, what: &str, fits: impl Fn(&AgentEvent) -> bool) -> AgentEvent {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if fits(&event) {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("not in time: {what}; {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("over before {what}: {:#?}", self.seen)
                }
            }
        }
    }

    #[track_caller]
    pub fn started(&mut self) {
        self.until("the conversation is open", |event| matches!(event, AgentEvent::Started { .. }));
    }

    /// Waits until it is over, and checks that no event follows.
    #[track_caller]
    pub fn over(&mut self) -> Option<Failure> {
        let over = self.until("the end", |event| matches!(event, AgentEvent::Ended(_)));
        let AgentEvent::Ended(why) = over else { unreachable!() };
        let after = self.events.recv_timeout(DEADLINE);
        assert_eq!(after, Err(RecvTimeoutError::Disconnected), "something after the end");
        why
    }
}

/// A folder for a stand-in. Its processes are found by their working directory,
/// whatever else they change.
pub struct StandInFolder(TempDir);

impl StandInFolder {
    pub fn new() -> Self {
        Self(tempfile::Builder::new().prefix("omx-stand-in-").tempdir().unwrap())
    }

    pub fn folder(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    pub fn shell(&self, script: &str) -> StandIn {
        StandIn::shell(&self.folder(), script)
    }

    /// The processes here, by command line.
    pub fn processes(&self) -> BTreeMap<i32, String> {
        processes_in(&self.folder())
    }

    /// The guard that works here.
    #[track_caller]
    pub fn guard(&self) -> i32 {
        let processes = self.processes();
        let mut guards = processes
            .iter()
            .filter(|(_, line)| line.starts_with(OMX) && line.split(' ').nth(1) == Some("guard"));
        match (guards.next(), guards.next()) {
            (Some((pid, _)), None) => *pid,
            _ => panic!("not one guard: {processes:#?}"),
        }
    }

    /// The agent that works here: the guard's oldest child.
    #[track_caller]
    pub fn agent(&self) -> i32 {
        let guard = self.guard();
        let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap();
        children.split_whitespace().next().expect("a child").parse().unwrap()
    }
}

/// The live processes of a folder, by command line.
pub fn processes_in(folder: &Path) -> BTreeMap<i32, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A dead process has no working directory.
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|place| place == folder) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.insert(pid, String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    found
}

const ROLE: &str = "TEST_PLAYS_A_ROLE_IN";

/// The folder in which this process plays a second role in its test.
pub fn role() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}

/// The command that runs this test again in a separate process, where [`role`]
/// returns this folder. `body` is any closure of the test function.
pub fn second_self<Body: FnOnce()>(_: &Body, folder: &Path) -> Command {
    let name = std::any::type_name::<Body>();
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    let name = name.split("::{{closure}}").next().unwrap_or(name);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ROLE, folder);
    command
}

/// Runs the body of a test in a separate process, whose threads, files and memory
/// belong to the body alone.
#[track_caller]
pub fn apart<Body: FnOnce()>(body: Body) {
    if role().is_some() {
        return body();
    }
    passed(second_self(&body, Path::new("/")));
}

/// The same, in a process that this command starts.
#[track_caller]
pub fn apart_as<Body: FnOnce()>(prepare: impl FnOnce(&Command) -> Command, body: Body) {
    if role().is_some() {
        return body();
    }
    passed(prepare(&second_self(&body, Path::new("/"))));
}

#[track_caller]
fn passed(mut command: Command) {
    let outcome: CommandOutcome = command.output().unwrap().into();
    // A name that matches no test would pass without running anything.
    let ran = outcome.stdout.contains("test result: ok. 1 passed");
    assert!(outcome.code == Some(0) && ran, "{}\n{}", outcome.stdout, outcome.stderr);
}

/// How many open files and threads this process has.
pub fn open_files_and_threads() -> (usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

/// Runs a command on its own terminal.
pub fn on_a_terminal(command: &Command) -> Child {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut script = Command::new("script");
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    script
        .args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"])
        .envs(variables)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("script runs (apt package bsdutils)")
}
