//! Whatever is wrong is told with file and line.

use std::path::Path;

use omx_rehearsal::scenario::parse;

#[track_caller]
fn wrong(file: &str, text: &str, expected: &str) {
    let fault = parse(Path::new(file), text.as_bytes()).expect_err(text).to_string();
    assert_eq!(fault, format!("{file}:{expected}"), "{text}");
}

/// The same mistake in both languages: an entry whose steps are these.
#[track_caller]
fn wrong_step(toml: &str, json: &str, expected: &str) {
    wrong("s.toml", &format!("[[entry]]\ndo = [\n{toml}\n]"), &format!("3: {expected}"));
    wrong(
        "s.json",
        &format!("{{\"entry\": [{{\"do\": [\n\n{json}\n]}}]}}"),
        &format!("3: {expected}"),
    );
}

#[test]
fn a_text_that_is_no_toml_is_refused() {
    wrong("s.toml", "[[entry]]\ndo = [\n", "2: unclosed array, expected `]`");
    wrong("s.toml", "a = 1\na = 2", "2: duplicate key");
}

#[test]
fn a_text_that_is_no_json_is_refused() {
    wrong("s.json", "{\n\"entry\": }", "2: Unexpected close brace");
    wrong("s.json", "{\"entry\":\n[", "2: Unterminated array");
    wrong("s.json", "{\"seed\": 1,\n\"seed\": 2}", "2: \"seed\" stands here twice");
    wrong("s.json", "", "1: a scenario must be a table, not null");
    wrong("s.json", "\n[]", "2: a scenario must be a table, not a list");
}

#[test]
fn a_line_that_is_no_text_is_refused() {
    let fault = parse(Path::new("s.toml"), b"# fine\n# \xff\n").unwrap_err();
    assert_eq!(fault.to_string(), "s.toml:2: this line is not UTF-8");
}

#[test]
fn unknown_keys_are_refused_everywhere() {
    wrong("s.toml", "\nsede = 1", "2: unknown key \"sede\" in a scenario; there is seed, entry");
    wrong(
        "s.toml",
        "[[entry]]\nroll = \"critic\"\n",
        "2: unknown key \"roll\" in an entry; there is role, phase, match, times, required, do",
    );
    wrong_step(
        "{ sya = 1 }",
        "{\"sya\": 1}",
        "unknown key \"sya\" in a step; there is say, answer, write, patch, run, mcp, result, \
         delay_ms, usage, fail",
    );
    wrong_step(
        "{ write = { path = \"a\", text = \"b\" } }",
        "{\"write\": {\"path\": \"a\", \"text\": \"b\"}}",
        "unknown key \"text\" in \"write\"; there is path, content",
    );
    wrong_step(
        "{ fail = { kind = \"crash\", status = 500 } }",
        "{\"fail\": {\"kind\": \"crash\", \"status\": 500}}",
        "unknown key \"status\" in \"fail\" of kind crash; there is kind",
    );
}

#[test]
fn missing_things_are_told() {
    wrong("s.toml", "", "1: a scenario needs \"entry\"");
    wrong("s.toml", "\nentry = []", "2: \"entry\" is empty; it is a list of entries");
    wrong("s.toml", "\n\n[[entry]]\nrole = \"critic\"", "3: an entry needs \"do\"");
    wrong("s.toml", "[[entry]]\n\ndo = []", "3: \"do\" is empty; it is a list of steps");
    wrong_step(
        "{}",
        "{}",
        "a step is one of say, answer, write, patch, run, mcp, result, delay_ms, usage, fail",
    );
    wrong_step(
        "{ write = { path = \"a\" } }",
        "{\"write\": {\"path\": \"a\"}}",
        "\"write\" needs \"content\"",
    );
    wrong_step("{ mcp = {} }", "{\"mcp\": {}}", "\"mcp\" needs \"tool\"");
    wrong_step("{ fail = {} }", "{\"fail\": {}}", "\"fail\" needs \"kind\"");
    wrong_step(
        "{ usage = { input = 1 } }",
        "{\"usage\": {\"input\": 1}}",
        "\"usage\" needs \"output\"",
    );
}

#[test]
fn wrong_kinds_are_told() {
    wrong("s.toml", "entry = 1", "1: \"entry\" must be a list of entries, not a number");
    wrong("s.toml", "entry = [\n1]", "2: an entry must be a table, not a number");
    wrong("s.toml", "[[entry]]\nrole = 1", "2: \"role\" must be text, not a number");
    wrong("s.toml", "[[entry]]\nmatch = \"\"", "2: \"match\" must not be empty");
    wrong(
        "s.toml",
        "[[entry]]\nrequired = \"yes\"",
        "2: \"required\" must be true or false, not text",
    );
    wrong(
        "s.toml",
        "[[entry]]\ndo = { say = 1 }",
        "2: \"do\" must be a list of steps, not a table",
    );
    wrong_step("{ say = 1 }", "{\"say\": 1}", "\"say\" must be text, not a number");
    wrong_step("{ run = \"ls\" }", "{\"run\": \"ls\"}", "\"run\" must be a table, not text");
    wrong_step("{ result = [] }", "{\"result\": []}", "\"result\" must be a table, not a list");
    wrong_step(
        "{ mcp = { tool = \"t\", args = [] } }",
        "{\"mcp\": {\"tool\": \"t\", \"args\": []}}",
        "\"args\" must be a table, not a list",
    );
    wrong_step(
        "{ result = { a = nan } }",
        "{\"result\": {\"a\": 1e999}}",
        "a number out of range has no form in JSON",
    );
}

#[test]
fn numbers_out_of_bounds_are_told() {
    let times = "\"times\" must be a whole number from 1 to 1000000, not";
    wrong("s.toml", "[[entry]]\ntimes = 0", &format!("2: {times} 0"));
    wrong("s.toml", "[[entry]]\ntimes = -1", &format!("2: {times} -1"));
    wrong("s.toml", "[[entry]]\ntimes = 1.5", &format!("2: {times} 1.5"));
    wrong("s.toml", "[[entry]]\ntimes = \"1\"", &format!("2: {times} text"));
    wrong_step(
        "{ delay_ms = 86400001 }",
        "{\"delay_ms\": 86400001}",
        "\"delay_ms\" must be a whole number from 0 to 86400000, not 86400001",
    );
    wrong_step(
        "{ fail = { kind = \"service\", status = 200 } }",
        "{\"fail\": {\"kind\": \"service\", \"status\": 200}}",
        "\"status\" must be a whole number from 400 to 599, not 200",
    );
}

#[test]
fn steps_that_make_no_sense_are_told() {
    wrong_step(
        "{ say = \"a\", delay_ms = 1 }",
        "{\"say\": \"a\", \"delay_ms\": 1}",
        "a step does one thing, and here are \"say\" and \"delay_ms\"",
    );
    wrong(
        "s.toml",
        "[[entry]]\ndo = [\n{ fail = { kind = \"cut\" } },\n{ say = \"never\" },\n]",
        "4: nothing can follow a \"fail\"",
    );
    wrong_step(
        "{ fail = { kind = \"explode\" } }",
        "{\"fail\": {\"kind\": \"explode\"}}",
        "unknown kind \"explode\"; there is rate_limit, auth, network, service, cut, \
         unknown_model, crash, hang",
    );
    wrong_step(
        "{ fail = { kind = \"rate_limit\", until = \"soon\" } }",
        "{\"fail\": {\"kind\": \"rate_limit\", \"until\": \"soon\"}}",
        "\"until\" must be a time like \"2030-01-31T12:00:00Z\"",
    );
    wrong_step(
        "{ fail = { kind = \"rate_limit\", until = \"2030-01-31T12:00:00Z\", reset_in_s = 1 } }",
        "{\"fail\": {\"kind\": \"rate_limit\", \"until\": \"2030-01-31T12:00:00Z\", \"reset_in_s\": 1}}",
        "\"until\" and \"reset_in_s\" exclude each other",
    );
}

/// What is nested deeper could not be told to omx in a line of JSON.
#[test]
fn a_result_nested_too_deep_is_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let text = |depth| format!("[[entry]]\ndo = [{{ result = {{ a = {} }} }}]", nested(depth));
    assert!(parse(Path::new("s.toml"), text(63).as_bytes()).is_ok());
    wrong("s.toml", &text(64), "2: nested deeper than 64 levels");
    let deep = format!("{{\n\"entry\": {}}}", nested(100_000));
    wrong("s.json", &deep, "2: Maximum nesting depth exceeded");
}
