//! conductor.md 6.1: every mistake is reported with its file and line.

use std::path::Path;

use omx_rehearsal::scenario::parse;

#[track_caller]
fn rejected(text: &str, expected: &str) {
    let error = parse(Path::new("s.toml"), text.as_bytes()).expect_err(text).to_string();
    assert_eq!(error, format!("s.toml:{expected}"), "{text}");
}

/// A mistake in the only step of the only entry, on line 3.
#[track_caller]
fn rejected_step(step: &str, expected: &str) {
    rejected(&format!("[[entry]]\ndo = [\n{step}\n]"), &format!("3: {expected}"));
}

#[test]
fn invalid_toml_is_rejected() {
    rejected("[[entry]]\ndo = [\n", "2: unclosed array, expected `]`");
    rejected("a = 1\na = 2", "2: duplicate key");
}

#[test]
fn a_line_that_is_not_utf8_is_rejected() {
    let error = parse(Path::new("s.toml"), b"# fine\n# \xff\n").unwrap_err();
    assert_eq!(error.to_string(), "s.toml:2: this line is not UTF-8");
}

/// JSON scenarios are gone; their content is no TOML.
#[test]
fn json_is_rejected_whatever_the_file_is_called() {
    let error = parse(Path::new("s.json"), b"{\"entry\": []}").unwrap_err();
    assert_eq!(error.line, Some(1));
}

#[test]
fn unknown_keys_name_the_nearest_known_key() {
    rejected("\nsede = 1", "2: unknown key \"sede\"; the nearest known key is \"seed\"");
    rejected(
        "[[entry]]\nroll = \"critic\"\n",
        "2: unknown key \"roll\"; the nearest known key is \"role\"",
    );
    rejected_step("{ sya = 1 }", "unknown key \"sya\"; the nearest known key is \"say\"");
    rejected_step(
        "{ write = { path = \"a\", contents = \"b\" } }",
        "unknown key \"contents\"; the nearest known key is \"content\"",
    );
    rejected(
        "[[entry]]\n[[entry.do]]\nfail.kind = \"service\"\nfail.state = 500",
        "4: unknown key \"state\"; the nearest known key is \"status\"",
    );
}

#[test]
fn unknown_keys_that_resemble_none_list_the_known_ones() {
    rejected_step(
        "{ write = { path = \"a\", mode = \"b\" } }",
        "unknown key \"mode\"; known keys: path, content",
    );
}

#[test]
fn keys_of_another_failure_are_rejected() {
    rejected_step(
        "{ fail = { kind = \"crash\", status = 500 } }",
        "a \"fail\" of kind \"crash\" has no key \"status\"",
    );
    rejected(
        "[[entry]]\n[[entry.do]]\nfail.kind = \"hang\"\nfail.message = \"slow\"",
        "4: a \"fail\" of kind \"hang\" has no key \"message\"",
    );
}

#[test]
fn missing_keys_are_reported() {
    rejected("", "1: missing key \"entry\"");
    rejected("\nentry = []", "2: a scenario needs at least one entry");
    rejected("\n\n[[entry]]\nrole = \"critic\"", "3: missing key \"do\"");
    rejected("[[entry]]\n\ndo = []", "3: an entry needs at least one step");
    rejected_step(
        "{}",
        "a step needs one key of say, answer, write, patch, run, mcp, result, delay_ms, usage, fail",
    );
    rejected_step("{ write = { path = \"a\" } }", "missing key \"content\"");
    rejected_step("{ mcp = {} }", "missing key \"tool\"");
    rejected_step("{ fail = {} }", "missing key \"kind\"");
    rejected_step("{ usage = { input = 1 } }", "missing key \"output\"");
}

#[test]
fn values_of_the_wrong_type_are_reported() {
    rejected("entry = 1", "1: invalid type: integer `1`, expected a list");
    rejected("entry = [\n1]", "2: invalid type: integer `1`, expected a table");
    rejected("[[entry]]\nrole = 1", "2: invalid type: integer `1`, expected a string");
    rejected(
        "[[entry]]\nmatch = \"\"",
        "2: invalid value: string \"\", expected a string with content",
    );
    rejected(
        "[[entry]]\nrequired = \"yes\"",
        "2: invalid type: string \"yes\", expected a boolean",
    );
    rejected("[[entry]]\ndo = { say = 1 }", "2: invalid type: table, expected a list");
    rejected_step("{ say = 1 }", "invalid type: integer `1`, expected a string");
    rejected_step("{ run = \"ls\" }", "invalid type: string \"ls\", expected a table");
    rejected_step("{ result = [] }", "invalid type: list, expected a table");
    rejected_step("{ mcp = { tool = \"t\", args = [] } }", "invalid type: list, expected a table");
    rejected_step("{ result = { a = nan } }", "JSON has no number NaN");
}

#[test]
fn numbers_out_of_range_are_reported() {
    let times = "expected a whole number from 1 to 1000000";
    rejected("[[entry]]\ntimes = 0", &format!("2: invalid value: integer `0`, {times}"));
    rejected("[[entry]]\ntimes = -1", &format!("2: invalid value: integer `-1`, {times}"));
    rejected("[[entry]]\ntimes = 1.5", &format!("2: invalid type: number `1.5`, {times}"));
    rejected("[[entry]]\ntimes = \"1\"", &format!("2: invalid type: string \"1\", {times}"));
    rejected_step(
        "{ delay_ms = 86400001 }",
        "invalid value: integer `86400001`, expected a whole number from 0 to 86400000",
    );
    rejected_step(
        "{ fail = { kind = \"service\", status = 200 } }",
        "invalid value: integer `200`, expected a whole number from 400 to 599",
    );
}

#[test]
fn steps_that_contradict_themselves_are_reported() {
    rejected_step(
        "{ say = \"a\", delay_ms = 1 }",
        "a step has one key; this one has \"say\" and \"delay_ms\"",
    );
    rejected(
        "[[entry]]\ndo = [\n{ fail = { kind = \"cut\" } },\n{ say = \"never\" },\n]",
        "4: no step can follow \"fail\"",
    );
    rejected_step(
        "{ fail = { kind = \"crush\" } }",
        "unknown kind \"crush\"; the nearest known kind is \"crash\"",
    );
    rejected_step(
        "{ fail = { kind = \"rate_limit\", until = \"soon\" } }",
        "expected a time such as \"2030-01-31T12:00:00Z\"",
    );
    rejected_step(
        "{ fail = { kind = \"rate_limit\", until = \"2030-01-31T12:00:00Z\", reset_in_s = 1 } }",
        "\"until\" and \"reset_in_s\" exclude each other",
    );
}

/// Deeper values could not be sent to omx as a line of JSON.
#[test]
fn a_result_nested_too_deeply_is_rejected() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let text = |depth| format!("[[entry]]\ndo = [{{ result = {{ a = {} }} }}]", nested(depth));
    assert!(parse(Path::new("s.toml"), text(63).as_bytes()).is_ok());
    rejected(&text(64), "2: nested deeper than 64 levels");
    let deep = parse(Path::new("s.toml"), text(100_000).as_bytes()).unwrap_err();
    assert_eq!(deep.line, Some(2));
}
