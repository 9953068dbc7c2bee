//! A model made of scripts: a server on loopback that speaks the wire formats
//! of OpenAI (Responses), Anthropic (Messages) and Gemini, so that the real
//! agent programs run whole turns without a network.
//!
//! A prompt chooses its script with `[[script:NAME]]`, or by words a script
//! waits for ([`Script::when`]). The turn is found by counting the model's turns after that mark in the history the client sends;
//! the server itself remembers nothing but how often a turn has failed. So
//! resumed, forked and parallel conversations each find their own place. To
//! give a subagent a script, put the mark into its prompt.
//!
//! A model request no script has an answer for is refused with status 400 and
//! stays in the log as [`ModelRequestKind::Stray`].

mod anthropic;
mod choose;
mod gemini;
mod http;
mod log;
mod openai;
mod script;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use log::{ModelRequest, ModelRequestKind, ReplyProgress};
pub use script::{ModelScript, ScriptTurn, ScriptedFailure, ScriptedUsage};

use choose::ModelConfig;
use http::{EventStream, HttpRequest};
use script::FailureMode;
use wire::{ModelReply, WireFormat};

/// The text side requests are answered with.
const SIDE: &str = r#"{"title":"scripted"}"#;
/// The summary compactions are answered with.
const SUMMARY: &str = "<summary>scripted summary</summary>";

/// How long a turn waits for the one it follows.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server; it ends when it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    known: Mutex<ModelConfig>,
    log: Mutex<Vec<ModelRequest>>,
    /// How often a turn of a script has failed.
    failed: Mutex<BTreeMap<(String, usize), u32>>,
    /// Turns that get no answer for now.
    holds: Mutex<BTreeSet<(String, usize)>>,
    ends: AtomicBool,
}

impl ModelServer {
    /// Starts a server with these scripts on a free port.
    pub fn start(scripts: impl IntoIterator<Item = ModelScript>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback");
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let server = Self { address, state: Arc::clone(&state) };
        for script in scripts {
            server.add(script);
        }
        thread::spawn(move || {
            for stream in listener.incoming() {
                if state.ends.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), state) = (stream, Arc::clone(&state)) else { continue };
                thread::spawn(move || serve(&state, &stream));
            }
        });
        server
    }

    /// Adds a script, or replaces the one of that name.
    pub fn add(&self, script: ModelScript) {
        held(&self.state.known).scripts.insert(script.name.clone(), script);
    }

    /// Answers every request whose last user text has this phrase, in capital
    /// or small letters, with this text, whatever its script says.
    pub fn rule(&self, phrase: &str, answer: &str) {
        held(&self.state.known).rules.push((phrase.to_lowercase(), answer.to_owned()));
    }

    /// Leaves every request for this turn without an answer until it is
    /// [released](Self::release): a client is in the middle of a turn.
    pub fn hold(&self, script: &str, step: usize) {
        held(&self.state.holds).insert((script.to_owned(), step));
    }

    /// Answers requests for a turn that was held.
    pub fn release(&self, script: &str, step: usize) {
        held(&self.state.holds).remove(&(script.to_owned(), step));
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        held(&self.state.log).clone()
    }

    /// The requests that were turns of this script, failed ones included.
    pub fn turns(&self, name: &str) -> Vec<ModelRequest> {
        let mut requests = self.requests();
        requests.retain(
            |one| matches!(&one.kind, ModelRequestKind::Turn { script, .. } if script == name),
        );
        requests
    }

    /// One line for every request so far, in the order they came:
    /// `full/0`, `full/0 429`, `side`, `HEAD /`.
    pub fn seen(&self) -> Vec<String> {
        self.requests().iter().map(ModelRequest::to_string).collect()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.state.ends.store(true, Ordering::SeqCst);
        // Wakes the listener, which then closes its port.
        let _ = TcpStream::connect(self.address);
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread of the server panics")
}

/// One connection: one request.
fn serve(state: &State, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let Ok(Some(incoming)) = http::read(stream) else { return };
    let HttpRequest { method, path, query, headers, body } = incoming;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let wire = wire::of_path(&path).filter(|_| method == "POST");
    let tools = wire.map(|wire| wire.tools(&body)).unwrap_or_default();
    let kind = wire.map_or(ModelRequestKind::Other, |wire| {
        choose::kind(wire, &held(&state.known), &headers, &body)
    });
    let progress = ReplyProgress::Waiting;
    let request =
        ModelRequest { method, path, query, headers, body, kind, tools, status: None, progress };
    let number = {
        let mut log = held(&state.log);
        log.push(request.clone());
        log.len() - 1
    };
    let exchange = Exchange { state, stream, request, number };
    let done = match wire {
        Some(wire) => exchange.model(wire),
        None => exchange.other(),
    };
    // The client may have gone.
    if done.is_err() {
        held(&state.log)[number].progress = ReplyProgress::Broken;
    }
}

struct Exchange<'a> {
    state: &'a State,
    stream: &'a TcpStream,
    request: ModelRequest,
    number: usize,
}

impl Exchange<'_> {
    fn answer(
        &self,
        status: u16,
        headers: &[(String, String)],
        body: Option<&Value>,
    ) -> io::Result<()> {
        self.note(status, ReplyProgress::Whole);
        http::answer(self.stream, status, headers, body)
    }

    /// Puts into the log how far the answer is, before the client can know.
    fn note(&self, status: u16, progress: ReplyProgress) {
        let request = &mut held(&self.state.log)[self.number];
        (request.status, request.progress) = (Some(status), progress);
    }

    /// What is no model request.
    fn other(&self) -> io::Result<()> {
        let path = &self.request.path;
        if path.ends_with("/count_tokens") {
            return self.answer(200, &[], Some(&json!({"input_tokens": 100})));
        }
        if path.ends_with(":countTokens") {
            return self.answer(200, &[], Some(&json!({"totalTokens": 100})));
        }
        if path.ends_with("/models") {
            let none = json!({"object": "list", "data": [], "models": [], "has_more": false});
            return self.answer(200, &[], Some(&none));
        }
        if path == "/" || self.request.method == "HEAD" {
            return self.answer(200, &[], None);
        }
        let message = format!("no such path: {path}");
        let error = json!({"type": "not_found_error", "message": message});
        self.answer(404, &[], Some(&json!({"error": error})))
    }

    fn model(&self, wire: &dyn WireFormat) -> io::Result<()> {
        let turn = match &self.request.kind {
            ModelRequestKind::Turn { script, step } => held(&self.state.known)
                .scripts
                .get(script)
                .and_then(|script| script.at(*step))
                .cloned(),
            ModelRequestKind::Side => Some(ScriptTurn::new().say(SIDE)),
            ModelRequestKind::Compaction => Some(ScriptTurn::new().say(SUMMARY)),
            ModelRequestKind::Rule(phrase) => {
                let known = held(&self.state.known);
                let rule = known.rules.iter().find(|(known, _)| known == phrase);
                rule.map(|(_, answer)| ScriptTurn::new().say(answer))
            }
            ModelRequestKind::Stray(_) | ModelRequestKind::Other => None,
        };
        let Some(turn) = turn else {
            let ModelRequestKind::Stray(why) = &self.request.kind else { return Ok(()) };
            return self.refuse(wire, 400, &ScriptedFailure::status(400).message(why));
        };
        self.wait_for_release()?;
        if let Some((script, step)) = &turn.follows
            && !self.followed(script, *step)
        {
            let why = format!("turn {step} of script {script} was not played");
            return self.refuse(wire, 400, &ScriptedFailure::status(400).message(&why));
        }
        thread::sleep(turn.delay);
        let mut left = usize::MAX;
        if let Some(failure) = turn.failure.as_ref().filter(|failure| self.fails(failure)) {
            match failure.how {
                FailureMode::Status(status) => return self.refuse(wire, status, failure),
                FailureMode::Cut { events } => left = events,
            }
        }
        let parts: Result<Vec<_>, String> =
            turn.blocks.iter().map(|block| wire.part(block, &self.request.body)).collect();
        match parts {
            Ok(parts) => {
                let model = self.request.body["model"].clone();
                let words = !turn.pace.is_zero();
                let reply =
                    ModelReply { number: self.number, model, parts, usage: turn.usage, words };
                self.reply(wire, &reply, turn.pace, left)
            }
            Err(why) => self.refuse(wire, 400, &ScriptedFailure::status(400).message(&why)),
        }
    }

    /// Waits as long as this turn is held; an error if the client goes away.
    fn wait_for_release(&self) -> io::Result<()> {
        let ModelRequestKind::Turn { script, step } = &self.request.kind else { return Ok(()) };
        let turn = (script.clone(), *step);
        let is_held = || held(&self.state.holds).contains(&turn);
        while is_held() && !self.state.ends.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(2));
            // Also after the last wait: who went away in that moment gets no answer.
            http::is_there(self.stream)?;
        }
        Ok(())
    }

    /// Waits until a turn has been answered; false if that does not happen.
    fn followed(&self, script: &str, step: usize) -> bool {
        let turn = ModelRequestKind::Turn { script: script.to_owned(), step };
        let answered = |one: &ModelRequest| {
            one.kind == turn && one.progress == ReplyProgress::Whole && one.status == Some(200)
        };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if held(&self.state.log).iter().any(answered) {
                return true;
            }
            thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// Whether this failure's turn has come; counts it.
    fn fails(&self, failure: &ScriptedFailure) -> bool {
        let ModelRequestKind::Turn { script, step } = &self.request.kind else { return false };
        let mut failed = held(&self.state.failed);
        let count = failed.entry((script.clone(), *step)).or_default();
        *count += 1;
        failure.times.is_none_or(|times| *count <= times)
    }

    fn refuse(
        &self,
        wire: &dyn WireFormat,
        status: u16,
        failure: &ScriptedFailure,
    ) -> io::Result<()> {
        let (body, mut headers) = wire.error(status, failure);
        headers
            .extend(failure.retry_after.map(|wait| ("retry-after".to_owned(), wait.to_string())));
        headers.extend(failure.headers.iter().cloned());
        self.answer(status, &headers, Some(&body))
    }

    /// Sends an answer; `left` events of it, if that is less than all.
    fn reply(
        &self,
        wire: &dyn WireFormat,
        reply: &ModelReply,
        pace: Duration,
        left: usize,
    ) -> io::Result<()> {
        let cut = left < usize::MAX;
        if !wire.streams(&self.request.path, &self.request.body) {
            if cut {
                self.note(200, ReplyProgress::Broken);
                return Ok(());
            }
            return self.answer(200, &[], Some(&wire.whole(reply)));
        }
        self.note(200, if cut { ReplyProgress::Broken } else { ReplyProgress::Streaming });
        let mut stream = EventStream::start(self.stream)?;
        let events = wire.events(reply);
        for (at, event) in events.iter().enumerate() {
            if at == left {
                return stream.cut();
            }
            if at + 1 == events.len() {
                self.note(200, ReplyProgress::Whole);
            }
            stream.send(event.name, &event.data)?;
            if event.paced {
                thread::sleep(pace);
            }
        }
        // Many clients leave after the last event.
        let _ = stream.end();
        Ok(())
    }
}
