//! The machine on lines as claude writes them, where a real claude cannot be
//! brought to write them at will.

mod fuzz;

use omx_kernel::approval::AllowLevel;

use super::*;
use crate::agent::McpServerSpec;
use crate::driver::AgentKind;
use crate::protocol::AgentExit;

fn stream(start: ConversationStart) -> ClaudeProtocol {
    let server = McpServerSpec {
        name: "omx".to_owned(),
        program: "/omx".into(),
        args: Vec::new(),
        env: Default::default(),
    };
    let spec = ConversationSpec {
        start,
        folder: "/".into(),
        role: None,
        model: None,
        allow: AllowLevel::Commands,
        servers: vec![server],
        max_micro_usd: None,
        schema: None,
        sandbox: crate::sandbox::AgentSandbox::default(),
    };
    let installation = AgentInstallation { kind: AgentKind::Claude, program: "/claude".into() };
    let env = AgentEnv {
        variables: BTreeMap::new(),
        omx: "/omx".into(),
        worker_variable: "MARK".to_owned(),
        child_variables: Default::default(),
        scenario: None,
        rehearsal_folder: PathBuf::new(),
        clock: || Timestamp::from_millis(0),
    };
    ClaudeProtocol::new(&spec, &installation, &env, &AgentLimits::default())
}

/// A conversation whose claude is a test.
struct Play {
    stream: ClaudeProtocol,
    now: Instant,
}

impl Play {
    /// One that is open.
    fn open() -> Self {
        let mut play = Self { stream: stream(ConversationStart::New), now: Instant::now() };
        let begun = play.stream.start(play.now);
        play.accept(&begun);
        play
    }

    /// Answers the request to begin.
    #[track_caller]
    fn accept(&mut self, effects: &[ProtocolEffect]) -> Vec<ProtocolEffect> {
        let [ProtocolEffect::Launch(_), ProtocolEffect::Write(request)] = effects else {
            panic!("{effects:?}")
        };
        assert_eq!(request["request"]["subtype"], "initialize");
        let effects = self.done(request);
        assert!(
            matches!(effects[0], ProtocolEffect::Emit(AgentEvent::Started { .. })),
            "{effects:?}"
        );
        effects
    }

    /// The answer to a request of ours.
    fn done(&mut self, request: &Value) -> Vec<ProtocolEffect> {
        let response = json!({"subtype": "success", "request_id": request["request_id"]});
        self.line(json!({"type": "control_response", "response": response}))
    }

    fn line(&mut self, line: Value) -> Vec<ProtocolEffect> {
        self.stream.handle(ProtocolEvent::Line(line), self.now)
    }

    fn send_command(&mut self, command: AgentCommand) -> Vec<ProtocolEffect> {
        self.stream.handle(ProtocolEvent::Command(command), self.now)
    }

    fn send(&mut self, text: &str) -> Vec<ProtocolEffect> {
        self.send_command(AgentCommand::Send(AgentMessage::text(text)))
    }

    /// A turn that runs.
    fn running() -> Self {
        let mut play = Self::open();
        assert_eq!(written(&play.send("go")), ["go"]);
        assert_eq!(
            reported_texts(&play.line(json!({"type": "system", "subtype": "init"}))),
            ["turn"]
        );
        play
    }

    fn tool(&mut self) {
        let tool = json!({"type": "tool_use", "id": "c", "name": "Bash", "input": {}});
        let message = json!({"id": "m", "content": [tool]});
        self.line(json!({"type": "assistant", "message": message}));
    }
}

fn result(words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": words,
        "terminal_reason": "completed"})
}

fn aborted() -> Value {
    json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "terminal_reason": "aborted_tools", "errors": ["it was aborted"]})
}

/// The messages among the effects.
fn written(effects: &[ProtocolEffect]) -> Vec<&str> {
    let lines = effects.iter().filter_map(|effect| match effect {
        ProtocolEffect::Write(line) => line["message"]["content"][0]["text"].as_str(),
        _ => None,
    });
    lines.collect()
}

/// The requests among the effects.
fn requests(effects: &[ProtocolEffect]) -> Vec<&Value> {
    let lines = effects.iter().filter_map(|effect| match effect {
        ProtocolEffect::Write(line) if line["type"] == "control_request" => Some(line),
        _ => None,
    });
    lines.collect()
}

/// The events among the effects, in a word each.
fn reported_texts(effects: &[ProtocolEffect]) -> Vec<String> {
    let events = effects.iter().filter_map(|effect| match effect {
        ProtocolEffect::Emit(AgentEvent::Delivered(delivery)) => {
            Some(format!("{delivery:?}").to_lowercase())
        }
        ProtocolEffect::Emit(AgentEvent::Text(text)) => Some(format!("said {text}")),
        ProtocolEffect::Emit(AgentEvent::TurnFinished(answer)) => {
            Some(format!("finished {}", answer.text))
        }
        ProtocolEffect::Emit(AgentEvent::TurnInterrupted) => Some("interrupted".to_owned()),
        ProtocolEffect::Emit(AgentEvent::TurnFailed(failure)) => {
            Some(format!("failed {}", failure.kind()))
        }
        ProtocolEffect::Fail(failure) => Some(format!("over {}", failure.kind())),
        _ => None,
    });
    events.collect()
}

/// Some versions of claude repeat them, by the call they belong to.
#[test]
fn text_of_a_subagent_is_not_emitted() {
    let mut play = Play::running();
    let message = json!({"id": "m", "content": [{"type": "text", "text": "from below"}]});
    let mut line = json!({"type": "assistant", "message": message, "parent_tool_use_id": "c"});
    assert_eq!(reported_texts(&play.line(line.clone())), Vec::<String>::new());
    line["parent_tool_use_id"] = Value::Null;
    assert_eq!(reported_texts(&play.line(line)), ["said from below"]);
}

/// A hook of the person's can stop a message; claude calls that a success.
#[test]
fn a_message_blocked_by_a_hook_is_rejected() {
    let mut play = Play::running();
    let mut line = result("UserPromptSubmit operation blocked by hook");
    line["num_turns"] = 0.into();
    assert_eq!(reported_texts(&play.line(line)), ["failed rejected"]);
}

/// Otherwise claude would wait for ever.
#[test]
fn an_unknown_request_is_rejected() {
    let mut play = Play::running();
    for subtype in ["elicitation", "hook_callback", "of the next version"] {
        let request = json!({"subtype": subtype});
        let line = json!({"type": "control_request", "request_id": "theirs", "request": request});
        let effects = play.line(line);
        let [ProtocolEffect::Write(answer)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(answer["response"]["request_id"], "theirs");
        assert_eq!(answer["response"]["subtype"], "error");
    }
}

#[test]
fn an_answer_to_no_request_is_ignored() {
    let mut play = Play::running();
    let gone = ApprovalId("gone".to_owned());
    assert_eq!(play.send_command(AgentCommand::Answer(gone, ApprovalDecision::Allow)), []);
    let request = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}});
    play.line(json!({"type": "control_request", "request_id": "a", "request": request}));
    play.line(json!({"type": "control_cancel_request", "request_id": "a"}));
    assert_eq!(
        play.send_command(AgentCommand::Answer(
            ApprovalId("a".to_owned()),
            ApprovalDecision::Allow
        )),
        []
    );
}

/// Claude may begin a turn by itself. Nobody ordered it, so nobody is told of
/// its end; but a message waits for it.
#[test]
fn an_unrequested_turn_emits_no_turn_events() {
    let mut play = Play::open();
    let message = json!({"id": "m", "content": [{"type": "text", "text": "by myself"}]});
    let effects = play.line(json!({"type": "assistant", "message": message}));
    assert_eq!(reported_texts(&effects), ["said by myself"]);
    let effects = play.send("mine");
    assert_eq!((reported_texts(&effects), written(&effects)), (vec!["queued".to_owned()], vec![]));
    let effects = play.line(result("by myself"));
    assert_eq!((reported_texts(&effects), written(&effects)), (Vec::<String>::new(), vec!["mine"]));
    assert_eq!(reported_texts(&play.line(result("done"))), ["turn", "finished done"]);
}

#[test]
fn a_late_interrupt_has_no_effect() {
    let mut play = Play::running();
    let effects = play.send_command(AgentCommand::Interrupt);
    let interrupt = requests(&effects)[0].clone();
    assert_eq!(reported_texts(&play.line(result("done"))), ["finished done"]);
    play.done(&interrupt);
    play.send("next");
    assert_eq!(reported_texts(&play.line(result("next done"))), ["turn", "finished next done"]);
    // A failure is not an interrupted turn.
    play.send("again");
    assert_eq!(reported_texts(&play.line(aborted())), ["turn", "failed service"]);
}

/// Claude forgets an interrupt that it reads between a message and its turn.
#[test]
fn an_early_interrupt_is_repeated() {
    let mut play = Play::open();
    play.send("go");
    let effects = play.send_command(AgentCommand::Interrupt);
    play.done(requests(&effects)[0]);
    let effects = play.line(json!({"type": "system", "subtype": "init"}));
    assert_eq!(reported_texts(&effects), ["turn"]);
    assert_eq!(requests(&effects)[0]["request"]["subtype"], "interrupt");
    assert_eq!(reported_texts(&play.line(aborted())), ["interrupted"]);
}

#[test]
fn the_end_of_an_interrupted_turn_is_reported_in_time() {
    let mut play = Play::running();
    play.tool();
    play.send_command(AgentCommand::Interrupt);
    let effects = play.line(aborted());
    assert_eq!(reported_texts(&effects), Vec::<String>::new());
    assert!(
        effects.iter().any(|effect| matches!(effect, ProtocolEffect::Launch(_))),
        "{effects:?}"
    );
    let moment = play.stream.next_tick().unwrap();
    assert!(moment < play.now + AgentLimits::default().interrupt);
    assert_eq!(play.stream.handle(ProtocolEvent::Tick, play.now), []);
    assert_eq!(reported_texts(&play.stream.handle(ProtocolEvent::Tick, moment)), ["interrupted"]);
    assert_eq!(play.stream.next_tick(), Some(play.now + AgentLimits::default().start));
    // It is reported once.
    let launched: Vec<_> = effects
        .into_iter()
        .filter(|effect| matches!(effect, ProtocolEffect::Launch(_) | ProtocolEffect::Write(_)))
        .collect();
    assert_eq!(reported_texts(&play.accept(&launched)), Vec::<String>::new());
    assert_eq!(play.stream.next_tick(), None);
}

/// conductor.md 1.3: a driver never waits without a deadline.
#[test]
fn a_process_that_is_not_ready_in_time_fails() {
    let mut play = Play::open();
    let message = AgentMessage { schema: Some(json!({})), ..AgentMessage::text("a") };
    play.send_command(AgentCommand::Send(message));
    let moment = play.stream.next_tick().unwrap();
    assert_eq!(reported_texts(&play.stream.handle(ProtocolEvent::Tick, moment)), ["over silent"]);
}

#[test]
fn a_queued_message_can_be_interrupted() {
    let mut play = Play { stream: stream(ConversationStart::New), now: Instant::now() };
    let begun = play.stream.start(play.now);
    assert_eq!(reported_texts(&play.send("one")), Vec::<String>::new());
    assert_eq!(reported_texts(&play.send("two")), ["queued"]);
    assert_eq!(reported_texts(&play.send_command(AgentCommand::Interrupt)), ["interrupted"]);
    assert_eq!(written(&play.accept(&begun)), ["two"]);
}

/// A claude that cannot retract a message continues with it on its own.
#[test]
fn text_that_cannot_be_withdrawn_starts_a_turn() {
    let mut play = Play::running();
    let effects = play.send_command(AgentCommand::Steer("more".to_owned()));
    let words = effects.iter().find_map(|effect| match effect {
        ProtocolEffect::Write(line) if line["type"] == "user" => line["uuid"].as_str(),
        _ => None,
    });
    let id = words.unwrap().to_owned();
    assert_eq!(reported_texts(&play.done(requests(&effects)[0])), ["queued"]);
    let effects = play.send_command(AgentCommand::Interrupt);
    let [withdraw, interrupt] = requests(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(withdraw["request"]["message_uuid"], id.as_str());
    let refused = json!({"subtype": "error", "request_id": withdraw["request_id"]});
    play.line(json!({"type": "control_response", "response": refused}));
    play.done(interrupt);
    assert_eq!(reported_texts(&play.line(aborted())), ["interrupted"]);
    assert_eq!(reported_texts(&play.line(json!({"type": "system", "subtype": "init"}))), ["turn"]);
    let replay = json!({"type": "user", "isReplay": true, "uuid": id});
    assert_eq!(reported_texts(&play.line(replay)), Vec::<String>::new());
    assert_eq!(reported_texts(&play.line(result("heard"))), ["finished heard"]);
}

#[test]
fn a_failed_start_has_a_cause() {
    let id = ConversationId::random();
    let mut play = Play { stream: stream(ConversationStart::Resume(id)), now: Instant::now() };
    let effects = play.stream.start(play.now);
    let error = "No conversation found with session ID: x";
    let line = json!({"type": "result", "subtype": "error_during_execution", "errors": [error]});
    assert_eq!(reported_texts(&play.line(line)), ["over unknown_conversation"]);

    let mut play = Play { stream: stream(ConversationStart::New), now: Instant::now() };
    play.stream.start(play.now);
    let request = &requests(&effects)[0]["request_id"];
    let refused = json!({"subtype": "error", "request_id": request, "error": "no"});
    let effects = play.line(json!({"type": "control_response", "response": refused}));
    assert_eq!(reported_texts(&effects), ["over protocol"]);

    let exit = AgentExit { code: Some(1), stderr: "oops".to_owned() };
    assert_eq!(
        reported_texts(&play.stream.handle(ProtocolEvent::Exited(exit), play.now)),
        ["over crashed"]
    );
}
