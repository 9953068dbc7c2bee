//! The other end of codex's protocol, played by the test.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use omx_agents::agent::AgentCommand;
use omx_agents::driver::AgentInstallation;
use omx_agents::protocol::{AgentExit, Launch, ProtocolEffect, ProtocolEvent};
use omx_agents::{
    AgentEnv, AgentEvent, AgentKind, AgentLimits, AgentMessage, ConversationId, ConversationSpec,
    ConversationStart, Protocol, driver,
};
use omx_kernel::approval::AllowLevel;
use serde_json::{Value, json};

/// The conversation's id.
pub const THREAD: &str = "01a1df37-c958-7513-a4a5-b51d8a3874e6";

/// An effect of the protocol.
#[derive(Debug, PartialEq)]
pub enum CodexEffect {
    Event(AgentEvent),
    Stop,
    Other(ProtocolEffect),
}

/// A protocol and its effects so far.
pub struct CodexHarness {
    protocol: Box<dyn Protocol>,
    now: Instant,
    effects: VecDeque<ProtocolEffect>,
    /// The pending requests: id and params.
    waiting: VecDeque<(u64, Value)>,
}

/// The protocol of codex on a machine without any codex configuration.
pub fn protocol(start: ConversationStart, allow: AllowLevel) -> Box<dyn Protocol> {
    let env = AgentEnv {
        variables: [("HOME".into(), "/nonexistent".into())].into(),
        omx: PathBuf::from("/nonexistent/omx"),
        worker_variable: "MARK_OF_A_WORKER".to_owned(),
        child_variables: Default::default(),
        scenario: None,
        rehearsal_folder: PathBuf::from("/nonexistent"),
        clock: || omx_kernel::Timestamp::from_millis(0),
    };
    let folder = PathBuf::from("/nonexistent");
    let servers = Vec::new();
    let spec = ConversationSpec {
        start,
        folder,
        role: None,
        model: None,
        allow,
        servers,
        max_micro_usd: None,
        schema: None,
        sandbox: omx_agents::sandbox::AgentSandbox::default(),
    };
    let installation = AgentInstallation { kind: AgentKind::Codex, program: "/bin/codex".into() };
    let limits = AgentLimits::default();
    driver(AgentKind::Codex).unwrap().protocol(&spec, &installation, &env, &limits).unwrap()
}

impl CodexHarness {
    fn with(start: ConversationStart, allow: AllowLevel) -> Self {
        let now = Instant::now();
        let mut protocol = protocol(start, allow);
        let effects = protocol.start(now).into();
        Self { protocol, now, effects, waiting: VecDeque::new() }
    }

    pub fn new(allow: AllowLevel) -> Self {
        Self::with(ConversationStart::New, allow)
    }

    pub fn resumed(id: &str) -> Self {
        Self::with(
            ConversationStart::Resume(ConversationId::new(id).unwrap()),
            AllowLevel::Commands,
        )
    }

    /// Takes the protocol from the launch to the open thread.
    #[track_caller]
    pub fn open(&mut self) {
        self.launched();
        self.request("initialize");
        self.welcome();
    }

    /// Continues from the response to the first request.
    #[track_caller]
    pub fn welcome(&mut self) {
        self.answer(json!({"userAgent": "codex"}));
        assert_eq!(self.notified(), "initialized");
        self.request("thread/start");
        self.answer(json!({"thread": {"id": THREAD}, "model": "m"}));
        let CodexEffect::Event(AgentEvent::Started { conversation, .. }) = self.take() else {
            panic!("not started")
        };
        assert_eq!(conversation.as_str(), THREAD);
    }

    #[track_caller]
    pub fn opened() -> Self {
        let mut codex = Self::new(AllowLevel::Commands);
        codex.open();
        codex
    }

    /// A protocol with this turn running.
    #[track_caller]
    pub fn running(turn: &str) -> Self {
        let mut codex = Self::opened();
        codex.send_command(AgentCommand::Send(AgentMessage::text("go")));
        codex.request("turn/start");
        codex.answer(json!({"turn": {"id": turn}}));
        codex.turn_started(turn);
        codex.drain();
        codex
    }

    fn feed(&mut self, input: ProtocolEvent) {
        self.effects.extend(self.protocol.handle(input, self.now));
    }

    pub fn send_command(&mut self, command: AgentCommand) {
        self.feed(ProtocolEvent::Command(command));
    }

    pub fn exited(&mut self, code: Option<i32>, stderr: &str) {
        self.feed(ProtocolEvent::Exited(AgentExit { code, stderr: stderr.to_owned() }));
    }

    /// Lets every deadline of the protocol pass.
    pub fn wait(&mut self) {
        self.now += Duration::from_secs(3600);
        if self.protocol.next_tick().is_some_and(|wake| wake <= self.now) {
            self.feed(ProtocolEvent::Tick);
        }
    }

    /// The next effect.
    #[track_caller]
    pub fn take(&mut self) -> CodexEffect {
        match self.effects.pop_front().expect("nothing was wanted") {
            ProtocolEffect::Emit(event) => CodexEffect::Event(event),
            ProtocolEffect::Stop => CodexEffect::Stop,
            other => CodexEffect::Other(other),
        }
    }

    #[track_caller]
    pub fn launched(&mut self) -> Launch {
        // A new process counts its ids from the start.
        self.waiting.clear();
        match self.take() {
            CodexEffect::Other(ProtocolEffect::Launch(launch)) => launch,
            other => panic!("not a launch: {other:?}"),
        }
    }

    #[track_caller]
    pub fn written(&mut self) -> Value {
        match self.take() {
            CodexEffect::Other(ProtocolEffect::Write(line)) => line,
            other => panic!("not a line: {other:?}"),
        }
    }

    /// The params of the next request.
    #[track_caller]
    pub fn request(&mut self, method: &str) -> Value {
        let line = self.written();
        assert_eq!(line["method"], method, "{line}");
        let params = line["params"].clone();
        self.waiting.push_back((line["id"].as_u64().unwrap(), params.clone()));
        params
    }

    #[track_caller]
    pub fn notified(&mut self) -> String {
        let line = self.written();
        assert!(line.get("id").is_none(), "{line}");
        line["method"].as_str().unwrap().to_owned()
    }

    /// Takes all effects.
    pub fn drain(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            if let ProtocolEffect::Write(line) = &effect
                && let (Some(id), true) = (line["id"].as_u64(), line.get("method").is_some())
            {
                self.waiting.push_back((id, line["params"].clone()));
            }
        }
    }

    #[track_caller]
    pub fn nothing_more(&self) {
        assert_eq!(self.effects, VecDeque::new());
    }

    /// Responds to the newest request.
    #[track_caller]
    pub fn answer(&mut self, result: Value) {
        let (id, _) = self.waiting.pop_back().expect("nothing was asked");
        self.feed(ProtocolEvent::Line(json!({"id": id, "result": result})));
    }

    /// Rejects the newest request.
    #[track_caller]
    pub fn refuse(&mut self, message: &str) {
        let (id, _) = self.waiting.pop_back().expect("nothing was asked");
        let error = json!({"code": -32600, "message": message});
        self.feed(ProtocolEvent::Line(json!({"id": id, "error": error})));
    }

    /// Responds to the request that contains this text.
    #[track_caller]
    pub fn answer_to(&mut self, words: &str, answer: Result<Value, Value>) {
        let at = self.waiting.iter().position(|(_, params)| params.to_string().contains(words));
        let (id, _) = self.waiting.remove(at.expect("nothing like this was asked")).unwrap();
        self.feed(ProtocolEvent::Line(match answer {
            Ok(result) => json!({"id": id, "result": result}),
            Err(error) => json!({"id": id, "error": error}),
        }));
    }

    /// Passes an arbitrary line.
    pub fn receive_line(&mut self, line: Value) {
        self.feed(ProtocolEvent::Line(line));
    }

    pub fn receive_raw_notification(&mut self, method: &str, params: Value) {
        self.feed(ProtocolEvent::Line(
            json!({"method": method, "params": params, "emittedAtMs": 1}),
        ));
    }

    /// Sends a notification about our own thread.
    pub fn receive_notification(&mut self, method: &str, params: Value) {
        let mut params = params;
        params["threadId"] = THREAD.into();
        self.receive_raw_notification(method, params);
    }

    pub fn turn_started(&mut self, id: &str) {
        self.receive_notification(
            "turn/started",
            json!({"turn": {"id": id, "status": "inProgress"}}),
        );
    }

    pub fn turn_completed(&mut self, id: &str, status: &str, words: &str) {
        let items = json!([{"type": "agentMessage", "id": "m", "text": words}]);
        let turn = json!({"id": id, "status": status, "items": items, "error": null});
        self.receive_notification("turn/completed", json!({"turn": turn}));
    }

    pub fn receive_request(&mut self, id: u64, method: &str, params: Value) {
        self.feed(ProtocolEvent::Line(json!({"id": id, "method": method, "params": params})));
    }

    /// The kind of the failure that ended the conversation.
    #[track_caller]
    pub fn failed(&mut self) -> &'static str {
        let fails = |effect: &ProtocolEffect| match effect {
            ProtocolEffect::Fail(failure) => Some(failure.kind()),
            _ => None,
        };
        self.effects.iter().find_map(fails).expect("it did not fail")
    }

    /// The message of that failure.
    #[track_caller]
    pub fn failure(&mut self) -> String {
        match self.take() {
            CodexEffect::Other(ProtocolEffect::Fail(failure)) => failure.to_string(),
            other => panic!("not a failure: {other:?}"),
        }
    }
}
