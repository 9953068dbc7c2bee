//! Lines of any content to the MCP server.

use std::collections::BTreeMap;

use omx_mcp::{McpServer, ToolGroup};
use omx_testkit::fuzz::{fuzz, rpc_line};
use serde::de::IgnoredAny;

use crate::place::{FuzzProject, fields, last};

#[test]
fn fuzz_mcp_lines() {
    fuzz("fuzz_mcp_lines", |rng| {
        let place = FuzzProject::new(rng);
        let outside = place.outside(&place.bytes());
        let server = McpServer::new(place.context(), ToolGroup::ALL.to_vec(), "0");
        for _ in 0..=rng.below(8) {
            let line = rpc_line(rng);
            let line = line.trim_ascii();
            let confined = std::str::from_utf8(line).is_ok_and(|text| place.is_confined(text));
            if confined || std::str::from_utf8(line).is_err() {
                check(line, server.answer(line).as_deref());
            }
        }
        assert!(place.outside(&place.bytes()) == outside, "changed outside");
    });
}

fn check(line: &[u8], answer: Option<&str>) {
    let excerpt = String::from_utf8_lossy(&line[..line.len().min(2_000)]);
    let describe = || format!("{excerpt}\n{answer:?}");
    let request = fields(line).filter(|_| line.first() == Some(&b'{'));
    let Some(answer) = answer else {
        // Only what wants no answer gets none.
        let request = request.unwrap_or_default();
        let has = |name: &str| last(&request, name).is_some();
        let is_answer = !has("method") && (has("result") || has("error"));
        let is_quiet = line.is_empty() || last(&request, "id").is_none() || is_answer;
        assert!(is_quiet, "no answer to {}", describe());
        return;
    };
    let body = answer.strip_suffix('\n').expect("a line");
    assert!(!body.contains('\n'), "two lines: {}", describe());
    let answer = fields(body.as_bytes()).expect("one object of valid JSON");
    assert_eq!(last(&answer, "jsonrpc"), Some("\"2.0\""));
    assert_eq!(
        last(&answer, "result").is_some(),
        last(&answer, "error").is_none(),
        "one of result and error: {}",
        describe()
    );
    let names = request.as_deref().unwrap_or_default();
    let id = request.as_deref().and_then(|request| last(request, "id"));
    // A name that stands twice, or that no text can hold, makes the whole
    // request doubtful; then either id will do.
    let is_plain = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line)
        .is_ok_and(|fields| fields.len() == names.len());
    let usable = id.filter(|id| {
        is_plain && (id.parse::<i64>().is_ok() || serde_json::from_str::<String>(id).is_ok())
    });
    let wanted = usable.unwrap_or("null");
    assert!(!is_plain || last(&answer, "id") == Some(wanted), "another id: {}", describe());
}
