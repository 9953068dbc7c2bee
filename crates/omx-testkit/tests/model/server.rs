//! What the server does around the wire formats: which script answers, side
//! requests, failures that pass, broken and slow streams, the log.

use std::time::{Duration, Instant};

use omx_testkit::await_condition;
use omx_testkit::model::{ModelRequestKind, ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use serde_json::{Value, json};

use crate::client::{ask_with, post, raw};

const MESSAGES: &str = "/v1/messages";
const PATIENCE: Duration = Duration::from_secs(20);

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn model(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}

fn result() -> Value {
    json!({"role": "user", "content": [{"type": "tool_result", "content": "[[script:fake]]"}]})
}

fn request(messages: &[Value]) -> Value {
    json!({"tools": [{"name": "Bash"}], "stream": false, "messages": messages})
}

/// What the model says next in a conversation.
fn says(server: &ModelServer, messages: &[Value]) -> String {
    let answer = post(server, MESSAGES, &request(messages)).json();
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[test]
fn the_history_finds_the_turn() {
    let server = ModelServer::start([
        ModelScript::named("a").say("a0").say("a1").say("a2"),
        ModelScript::named("b").say("b0").say("b1").repeating(),
    ]);
    let one = [user("go [[script:a]]"), model("x"), result()];
    assert_eq!(says(&server, &one), "a1");
    // The same again, as after a fork: nothing is remembered.
    assert_eq!(says(&server, &one), "a1");
    let more = [&one[..], &[model("x"), user("and then?")]].concat();
    assert_eq!(says(&server, &more), "a2");
    let other = [&more[..], &[model("x"), user("now [[script:b]]")]].concat();
    assert_eq!(says(&server, &other), "b0");
    let late = [&other[..], &[model("x"), user("1"), model("x"), user("2")]].concat();
    assert_eq!(says(&server, &late), "b1");
    assert_eq!(server.seen(), ["a/1", "a/1", "a/2", "b/0", "b/2"]);
    assert_eq!(server.turns("a").len(), 3);
}

#[test]
fn requests_without_a_script_are_rejected() {
    let server = ModelServer::start([ModelScript::named("a").say("a0")]);
    for messages in [
        vec![user("hi")],
        vec![user("[[script:no]]")],
        vec![user("[[script:a]]"), model("x"), user("y")],
    ] {
        assert_eq!(post(&server, MESSAGES, &request(&messages)).status, 400);
    }
    let strays = server.requests();
    assert!(
        strays.iter().all(|one| matches!(one.kind, ModelRequestKind::Stray(_))),
        "{:?}",
        server.seen()
    );
    assert_eq!(server.seen()[2], "stray: script a has no turn 1 400");
}

#[test]
fn side_requests_play_no_turn() {
    let server = ModelServer::start([
        ModelScript::named("a").say("a0"),
        ModelScript::named("bare").say("b0").without_tools(),
    ]);
    server.rule("Is this NEW", "no");
    let plain = |text: &str| json!({"messages": [user(text)]});
    post(&server, MESSAGES, &plain("title of: [[script:a]]"));
    post(&server, MESSAGES, &plain("[[script:bare]]"));
    post(&server, MESSAGES, &request(&[user("is this new? [[script:a]]")]));
    let summary = user("Write a detailed summary of this conversation");
    post(&server, MESSAGES, &request(&[user("[[script:a]]"), model("x"), summary]));
    let title = "x-codex-turn-metadata: {\"thread_source\":\"thread_title\"}\r\n";
    let body = json!({"input": "[[script:a]]", "tools": [{"type": "function", "name": "t"}]});
    ask_with(&server, "POST", "/v1/responses", title, &body);
    let compaction = "X-Codex-Turn-Metadata: {\"request_kind\":\"compaction\"}\r\n";
    ask_with(&server, "POST", "/v1/responses", compaction, &body);
    let seen = ["side", "bare/0", "rule is this new", "compaction", "side", "compaction"];
    assert_eq!(server.seen(), seen);
    assert_eq!(server.requests()[5].codex()["request_kind"], "compaction");
}

#[test]
fn failures_end_after_their_count() {
    let turn = ScriptTurn::new().say("at last").failing(ScriptedFailure::status(529).times(2));
    let server = ModelServer::start([ModelScript::named("a").turn(turn)]);
    let body = request(&[user("[[script:a]]")]);
    let statuses: Vec<u16> = (0..4).map(|_| post(&server, MESSAGES, &body).status).collect();
    assert_eq!(statuses, [529, 529, 200, 200]);
    assert_eq!(server.seen(), ["a/0 529", "a/0 529", "a/0", "a/0"]);
}

#[test]
fn a_cut_stream_breaks_in_the_middle() {
    let turn = ScriptTurn::new().say("never whole").failing(ScriptedFailure::cut_after(2).times(1));
    let server = ModelServer::start([ModelScript::named("a").turn(turn)]);
    let mut body = request(&[user("[[script:a]]")]);
    body["stream"] = true.into();
    let cut = post(&server, MESSAGES, &body);
    assert_eq!((cut.status, cut.whole), (200, false));
    assert_eq!(cut.names(), ["message_start", "content_block_start"]);
    assert!(post(&server, MESSAGES, &body).whole);
    assert_eq!(server.seen(), ["a/0 broken", "a/0"]);
}

#[test]
fn delays_come_before_the_first_byte_and_between_words() {
    let wait = Duration::from_millis(40);
    let turn = ScriptTurn::new().say("one two three").after(wait).slowly(wait);
    let server = ModelServer::start([ModelScript::named("a").turn(turn)]);
    let mut body = request(&[user("[[script:a]]")]);
    let start = Instant::now();
    post(&server, MESSAGES, &body);
    assert!(start.elapsed() >= wait, "before the first byte");
    body["stream"] = true.into();
    let start = Instant::now();
    assert_eq!(post(&server, MESSAGES, &body).events().len(), 1 + 1 + 3 + 1 + 2);
    assert!(start.elapsed() >= 4 * wait, "and after each of three words");
}

#[test]
fn a_request_is_in_the_log_before_its_answer() {
    let turn = ScriptTurn::new().say("late").after(Duration::from_millis(300));
    let server = ModelServer::start([ModelScript::named("a").turn(turn)]);
    std::thread::scope(|scope| {
        scope.spawn(|| says(&server, &[user("[[script:a]]")]));
        let is_waiting = || server.seen() == ["a/0 waiting"];
        await_condition("the request", Duration::from_secs(5), is_waiting);
    });
    assert_eq!(server.seen(), ["a/0"]);
}

#[test]
fn other_paths_and_bodies_in_chunks() {
    let server = ModelServer::start([ModelScript::named("a").say("a0")]);
    let none = Value::Null;
    assert_eq!(ask_with(&server, "HEAD", "/", "", &none).status, 200);
    assert_eq!(ask_with(&server, "GET", "/v1/models", "", &none).json()["data"], json!([]));
    let tokens = post(&server, "/v1/messages/count_tokens?beta=true", &json!({})).json();
    assert_eq!(tokens["input_tokens"], 100);
    let tokens = post(&server, "/v1beta/models/m:countTokens", &json!({})).json();
    assert_eq!(tokens["totalTokens"], 100);
    assert_eq!(post(&server, "/v1/else", &json!({})).status, 404);
    let body = request(&[user("[[script:a]]")]).to_string();
    let (one, two) = body.split_at(10);
    let chunks = format!("{:x}\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let head =
        "POST /v1/messages?beta=true HTTP/1.1\r\nX-Some: Thing\r\nTransfer-Encoding: chunked";
    assert_eq!(raw(&server, &format!("{head}\r\n\r\n{chunks}")).status, 200);
    let last = server.requests().pop().unwrap();
    assert_eq!((last.header("x-SOME"), last.query.as_str()), (Some("Thing"), "beta=true"));
    assert_eq!(last.tools, ["Bash"]);
    assert_eq!(server.seen()[0], "HEAD /");
}

#[test]
fn a_turn_follows_another_scripts_turn() {
    let second = ScriptTurn::new().say("second").following("first", 0);
    let server = ModelServer::start([
        ModelScript::named("first").say("first"),
        ModelScript::named("second").turn(second),
    ]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| says(&server, &[user("[[script:second]]")]));
        let is_waiting = || server.seen() == ["second/0 waiting"];
        await_condition("the request", Duration::from_secs(5), is_waiting);
        assert_eq!(says(&server, &[user("[[script:first]]")]), "first");
        assert_eq!(waiting.join().unwrap(), "second");
    });
    assert_eq!(server.seen(), ["second/0", "first/0"]);
}

#[test]
fn a_held_turn_waits_and_breaks_if_its_client_disconnects() {
    let server = ModelServer::start([ModelScript::named("a").when("please").say("a0")]);
    server.hold("a", 0);
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| says(&server, &[user("please")]));
        await_condition("it waits", PATIENCE, || server.seen() == ["a/0 waiting"]);
        let body = request(&[user("please")]).to_string();
        let head = format!("POST {MESSAGES} HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut gone = std::net::TcpStream::connect(server.address()).unwrap();
        std::io::Write::write_all(&mut gone, format!("{head}{body}").as_bytes()).unwrap();
        await_condition("both wait", PATIENCE, || server.seen() == ["a/0 waiting", "a/0 waiting"]);
        drop(gone);
        await_condition("one is gone", PATIENCE, || server.seen() == ["a/0 waiting", "a/0 broken"]);
        server.release("a", 0);
        assert_eq!(answer.join().unwrap(), "a0");
    });
    assert_eq!(says(&server, &[user("please")]), "a0");
}
