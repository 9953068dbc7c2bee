//! JSON-RPC lines: requests, responses and deadlines.

use std::time::{Duration, Instant};

use omx_agents::rpc::{Rpc, RpcFailure, RpcIncoming};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq)]
enum TestRequest {
    Greeting,
    Turn,
}

fn rpc() -> Rpc<TestRequest> {
    Rpc::version_2(PATIENCE)
}

#[test]
fn each_request_has_its_own_id_and_the_version() {
    let (mut rpc, now) = (rpc(), Instant::now());
    let first = rpc.request(TestRequest::Greeting, "initialize", json!({"a": 1}), now);
    let second = rpc.request(TestRequest::Turn, "turn", Value::Null, now);
    assert_eq!(
        first,
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"a": 1}})
    );
    assert_eq!(second["id"], json!(2));
}

#[test]
fn the_version_can_be_omitted() {
    let (mut rpc, now) = (Rpc::<TestRequest>::unversioned(PATIENCE), Instant::now());
    let lines = [
        rpc.request(TestRequest::Turn, "m", json!({}), now),
        rpc.notification("n", json!({})),
        rpc.response(&json!(7), json!({})),
        rpc.reject(&json!(8), -32601, "no"),
    ];
    for line in lines {
        assert_eq!(line.get("jsonrpc"), None, "{line}");
    }
}

#[test]
fn responses_match_their_requests_in_any_order_and_once() {
    let (mut rpc, now) = (rpc(), Instant::now());
    rpc.request(TestRequest::Greeting, "a", json!({}), now);
    rpc.request(TestRequest::Turn, "b", json!({}), now);
    let answer = rpc.parse_incoming(json!({"jsonrpc": "2.0", "id": 2, "result": {"x": 1}}));
    assert_eq!(answer, RpcIncoming::Response(TestRequest::Turn, Ok(json!({"x": 1}))));
    let again = json!({"id": 2, "result": {"x": 1}});
    assert_eq!(rpc.parse_incoming(again.clone()), RpcIncoming::Unknown(again));
    // A null result may be omitted.
    let answer = rpc.parse_incoming(json!({"id": 1}));
    assert_eq!(answer, RpcIncoming::Response(TestRequest::Greeting, Ok(Value::Null)));
    assert_eq!(rpc.next_deadline(), None);
}

#[test]
fn an_error_response_keeps_its_details() {
    let (mut rpc, now) = (rpc(), Instant::now());
    rpc.request(TestRequest::Turn, "a", json!({}), now);
    let error = json!({"code": -32000, "message": "limited", "data": {"until": 5}});
    let answer = rpc.parse_incoming(json!({"id": 1, "error": error, "result": {"also": "this"}}));
    let refusal =
        RpcFailure { code: -32000, message: "limited".to_owned(), data: json!({"until": 5}) };
    assert_eq!(answer, RpcIncoming::Response(TestRequest::Turn, Err(refusal)));
}

#[test]
fn a_malformed_error_is_still_an_error() {
    for error in [json!("no"), json!(5), json!([1]), json!({}), json!({"code": "x", "message": 3})]
    {
        let (mut rpc, now) = (rpc(), Instant::now());
        rpc.request(TestRequest::Turn, "a", json!({}), now);
        let answer = rpc.parse_incoming(json!({"id": 1, "error": error}));
        let RpcIncoming::Response(TestRequest::Turn, Err(refusal)) = answer else {
            panic!("{error}: {answer:?}")
        };
        assert_eq!((refusal.code, refusal.message.as_str()), (0, ""), "{error}");
    }
    // A null error is no error.
    let (mut rpc, now) = (rpc(), Instant::now());
    rpc.request(TestRequest::Turn, "a", json!({}), now);
    let answer = rpc.parse_incoming(json!({"id": 1, "error": null, "result": 1}));
    assert_eq!(answer, RpcIncoming::Response(TestRequest::Turn, Ok(json!(1))));
}

#[test]
fn peer_requests_are_answered_with_their_id() {
    let mut rpc = rpc();
    // The peer numbers its own requests; an id may equal one of ours.
    rpc.request(TestRequest::Turn, "a", json!({}), Instant::now());
    for id in [json!(1), json!("abc"), json!(0), json!(1.5)] {
        let requested = rpc.parse_incoming(json!({"id": id, "method": "approve", "params": [1]}));
        let expected = RpcIncoming::Request {
            id: id.clone(),
            method: "approve".to_owned(),
            params: json!([1]),
        };
        assert_eq!(requested, expected);
        assert_eq!(
            rpc.response(&id, json!({"ok": true})),
            json!({"jsonrpc": "2.0", "id": id, "result": {"ok": true}})
        );
        assert_eq!(
            rpc.reject(&id, -32601, "unknown"),
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "unknown"}})
        );
    }
    assert_eq!(
        rpc.parse_incoming(json!({"id": 1, "result": 4})),
        RpcIncoming::Response(TestRequest::Turn, Ok(json!(4)))
    );
}

#[test]
fn notifications_expect_no_response() {
    let mut rpc = rpc();
    for line in [
        json!({"method": "said", "params": {"a": 1}}),
        json!({"id": null, "method": "said", "params": {"a": 1}}),
    ] {
        let reported =
            RpcIncoming::Notification { method: "said".to_owned(), params: json!({"a": 1}) };
        assert_eq!(rpc.parse_incoming(line), reported);
    }
    let reported = RpcIncoming::Notification { method: "bare".to_owned(), params: Value::Null };
    assert_eq!(rpc.parse_incoming(json!({"method": "bare"})), reported);
    assert_eq!(
        rpc.notification("n", json!([])),
        json!({"jsonrpc": "2.0", "method": "n", "params": []})
    );
}

/// A malformed line must not match a pending request.
#[test]
fn other_lines_are_unknown_and_match_no_request() {
    let (mut rpc, now) = (rpc(), Instant::now());
    rpc.request(TestRequest::Turn, "a", json!({}), now);
    for line in [
        json!(null),
        json!(1),
        json!("text"),
        json!([]),
        json!([{"id": 1, "result": 1}]),
        json!({}),
        json!({"result": 1}),
        json!({"error": {}}),
        json!({"id": null, "error": {"code": -32700, "message": "parse error"}}),
        json!({"id": "1", "result": 1}),
        json!({"id": 1.5, "result": 1}),
        json!({"id": -1, "result": 1}),
        json!({"id": [1], "result": 1}),
        json!({"id": 99, "result": 1}),
        json!({"id": 1, "method": 5, "params": {"x": 1}}),
        json!({"id": 1, "method": null}),
    ] {
        assert_eq!(rpc.parse_incoming(line.clone()), RpcIncoming::Unknown(line));
    }
    assert_eq!(rpc.next_deadline(), Some(now + PATIENCE));
}

#[test]
fn each_request_expires_at_its_own_deadline() {
    let (mut rpc, now) = (rpc(), Instant::now());
    let second = |seconds| now + Duration::from_secs(seconds);
    assert_eq!((rpc.next_deadline(), rpc.take_expired(second(1000))), (None, None));
    rpc.request(TestRequest::Greeting, "a", json!({}), now);
    rpc.request_until(TestRequest::Turn, "b", json!({}), second(5));
    assert_eq!(rpc.next_deadline(), Some(second(5)));
    assert_eq!(rpc.take_expired(second(4)), None);
    assert_eq!(rpc.take_expired(second(5)), Some(TestRequest::Turn));
    assert_eq!(rpc.take_expired(second(5)), None);
    assert_eq!(rpc.next_deadline(), Some(second(30)));
    // A late response matches no request.
    let late = json!({"id": 2, "result": 1});
    assert_eq!(rpc.parse_incoming(late.clone()), RpcIncoming::Unknown(late));
    assert_eq!(rpc.take_expired(second(31)), Some(TestRequest::Greeting));
    assert_eq!(rpc.next_deadline(), None);
}

#[test]
fn pending_requests_are_taken_in_order() {
    let (mut rpc, now) = (rpc(), Instant::now());
    rpc.request(TestRequest::Turn, "a", json!({}), now);
    rpc.request(TestRequest::Greeting, "b", json!({}), now);
    assert_eq!(rpc.take_pending(), [TestRequest::Turn, TestRequest::Greeting]);
    assert_eq!((rpc.take_pending(), rpc.next_deadline()), (Vec::new(), None));
    let late = json!({"id": 1, "result": 1});
    assert_eq!(rpc.parse_incoming(late.clone()), RpcIncoming::Unknown(late));
}
