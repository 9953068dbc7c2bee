//! Gemini's protocol without gemini: recorded lines and arbitrary ones.

mod any;
mod open;
mod turns;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use omx_agents::agent::McpServerSpec;
use omx_agents::event::Delivery;
use omx_agents::failure::FailureCause;
use omx_agents::protocol::{Protocol, ProtocolEffect, ProtocolEvent};
use omx_agents::{
    AgentCommand, AgentEnv, AgentEvent, AgentInstallation, AgentKind, AgentLimits, AgentMessage,
    ConversationId, ConversationSpec, ConversationStart, driver,
};
use omx_kernel::Timestamp;
use omx_kernel::approval::AllowLevel;
use serde_json::{Value, json};

const ID: &str = "66499257-6eb5-47bf-8dda-7c395cdf8ad8";

fn conversation_spec(start: ConversationStart, allow: AllowLevel) -> ConversationSpec {
    let program = "/nowhere/omx".into();
    let server = McpServerSpec {
        name: "omx".to_owned(),
        program,
        args: Vec::new(),
        env: Default::default(),
    };
    ConversationSpec {
        start,
        folder: "/nowhere/project".into(),
        role: None,
        model: None,
        allow,
        servers: vec![server],
        max_micro_usd: None,
        schema: None,
        sandbox: omx_agents::sandbox::AgentSandbox::default(),
    }
}

/// The protocol with an API key and these variables.
fn protocol(spec: &ConversationSpec, more: &[(&str, &str)]) -> Box<dyn Protocol> {
    let own = [("GEMINI_API_KEY", "k"), ("HOME", "/nowhere")];
    let variables = own.iter().chain(more).map(|(name, value)| (name.into(), value.into()));
    let env = AgentEnv {
        variables: variables.collect(),
        omx: "/nowhere/omx".into(),
        worker_variable: "W".to_owned(),
        child_variables: Default::default(),
        scenario: None,
        rehearsal_folder: PathBuf::new(),
        clock: || Timestamp::from_millis(1_000_000),
    };
    let installation =
        AgentInstallation { kind: AgentKind::Gemini, program: "/nowhere/gemini".into() };
    let driver = driver(AgentKind::Gemini).unwrap();
    driver.protocol(spec, &installation, &env, &AgentLimits::default()).unwrap()
}

/// A protocol and its clock.
struct GeminiHarness {
    protocol: Box<dyn Protocol>,
    now: Instant,
    /// The id of its last request.
    last: Value,
}

impl GeminiHarness {
    fn new(start: ConversationStart, allow: AllowLevel) -> Self {
        Self::with(&conversation_spec(start, allow))
    }

    fn with(spec: &ConversationSpec) -> Self {
        let protocol = protocol(spec, &[]);
        let mut stage = Self { protocol, now: Instant::now(), last: Value::Null };
        let begun = stage.protocol.start(stage.now);
        assert!(matches!(begun[0], ProtocolEffect::Launch(_)), "{begun:?}");
        stage.note(&begun);
        stage
    }

    /// A new, open session.
    fn open() -> Self {
        let mut stage = Self::new(ConversationStart::New, AllowLevel::Commands);
        stage.introduce();
        stage.answer(opened("autoEdit"));
        let events = events(&stage.answer(json!({})));
        let conversation = ConversationId::new(ID).unwrap();
        let model = Some("auto".to_owned());
        assert_eq!(events, [AgentEvent::Started { conversation, model }]);
        stage
    }

    /// An open session with a running turn.
    fn busy() -> Self {
        let mut stage = Self::open();
        let effects = stage.send_command(AgentCommand::Send(AgentMessage::text("do it")));
        assert_eq!(methods(&effects), ["session/prompt"]);
        assert_eq!(events(&effects), [AgentEvent::Delivered(Delivery::Turn)]);
        stage
    }

    fn note(&mut self, effects: &[ProtocolEffect]) {
        let requests = written(effects).filter(|line| line["method"].is_string());
        if let Some(id) = requests.filter_map(|line| line.get("id")).next_back() {
            self.last = id.clone();
        }
    }

    fn handle(&mut self, input: ProtocolEvent) -> Vec<ProtocolEffect> {
        let effects = self.protocol.handle(input, self.now);
        self.note(&effects);
        effects
    }

    fn send_command(&mut self, command: AgentCommand) -> Vec<ProtocolEffect> {
        self.handle(ProtocolEvent::Command(command))
    }

    fn line(&mut self, line: Value) -> Vec<ProtocolEffect> {
        self.handle(ProtocolEvent::Line(line))
    }

    fn answer(&mut self, result: Value) -> Vec<ProtocolEffect> {
        let id = self.last.clone();
        self.line(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn refuse(&mut self, code: i64, message: &str) -> Vec<ProtocolEffect> {
        let id = self.last.clone();
        let error = json!({"code": code, "message": message});
        self.line(json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }

    fn introduce(&mut self) -> Vec<ProtocolEffect> {
        self.answer(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}))
    }

    fn update(&mut self, update: Value) -> Vec<ProtocolEffect> {
        let params = json!({"sessionId": ID, "update": update});
        self.line(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn say(&mut self, text: &str) -> Vec<ProtocolEffect> {
        let content = json!({"type": "text", "text": text});
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
    }

    fn receive_stderr(&mut self, line: &str) -> Vec<ProtocolEffect> {
        let line = format!("[2026-11-15T12:43:01.996Z] [WARN] {line}");
        self.protocol.handle_stderr(&line, self.now)
    }

    /// Advances the clock to the next tick.
    fn wait(&mut self) -> Duration {
        let wake = self.protocol.next_tick().expect("it waits for something");
        let waited = wake - self.now;
        self.now = wake;
        waited
    }
}

fn opened(mode: &str) -> Value {
    let modes = json!({"currentModeId": mode, "availableModes": []});
    json!({"sessionId": ID, "modes": modes, "models": {"currentModelId": "auto"}})
}

fn written(effects: &[ProtocolEffect]) -> impl DoubleEndedIterator<Item = &Value> {
    effects.iter().filter_map(|effect| match effect {
        ProtocolEffect::Write(line) => Some(line),
        _ => None,
    })
}

fn methods(effects: &[ProtocolEffect]) -> Vec<&str> {
    written(effects).filter_map(|line| line["method"].as_str()).collect()
}

fn events(effects: &[ProtocolEffect]) -> Vec<AgentEvent> {
    let events = effects.iter().filter_map(|effect| match effect {
        ProtocolEffect::Emit(event) => Some(event.clone()),
        _ => None,
    });
    events.collect()
}

/// The cause of a failed conversation.
#[track_caller]
fn failed(effects: &[ProtocolEffect]) -> FailureCause {
    match effects {
        [ProtocolEffect::Fail(failure)] => failure.cause.clone(),
        other => panic!("{other:?}"),
    }
}
