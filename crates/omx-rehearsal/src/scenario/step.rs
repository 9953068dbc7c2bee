//! One step of an entry: a table with one key, which says what is done.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use omx_kernel::Timestamp;
use omx_kernel::approval::OWN_SERVER;

use super::fields::{Fields, all, must_be, number, text, word};
use super::model::{Action, Ears, LimitEnd, ScenarioFailure, Step};
use super::node::{Data, Field, Node, Wrong};
use omx_agents::event::Usage;

const ACTIONS: &[&str] =
    &["say", "answer", "write", "patch", "run", "mcp", "result", "delay_ms", "usage", "fail"];

/// The longest a step may wait: a day.
const DAY_S: u64 = 24 * 60 * 60;
/// The farthest end of a limit: a year.
const YEAR_S: u64 = 366 * DAY_S;
/// How long a tool may take if nothing is said.
const TOOL_S: u64 = 30;
const TOKENS: u64 = 1_000_000_000_000;

/// Reads a step.
pub(super) fn read(node: &Node) -> Result<Step, Wrong> {
    let fields = Fields::of(node, "a step", ACTIONS)?;
    let action = match fields.all() {
        [field] => action(field)?,
        [] => return Err(Wrong::at(node.line, format!("a step is one of {}", all(ACTIONS)))),
        [first, second, ..] => {
            let (first, name) = (&first.name, &second.name);
            let why = format!("a step does one thing, and here are {first:?} and {name:?}");
            return Err(Wrong::at(second.line, why));
        }
    };
    Ok(Step { line: node.line, action })
}

/// What stands after a failure would never be played.
pub(super) fn nothing_follows_a_failure(steps: &[Step]) -> Result<(), Wrong> {
    let fails = |step: &Step| matches!(step.action, Action::Fail(_));
    match steps.windows(2).find(|pair| fails(&pair[0])) {
        Some(pair) => Err(Wrong::at(pair[1].line, "nothing can follow a \"fail\"")),
        None => Ok(()),
    }
}

fn action(field: &Field) -> Result<Action, Wrong> {
    let node = &field.node;
    Ok(match field.name.as_str() {
        "say" => Action::Say(text(field)?.to_owned()),
        "answer" => Action::Answer(text(field)?.to_owned()),
        "write" => {
            let fields = Fields::of(node, "\"write\"", &["path", "content"])?;
            let content = text(fields.need("content")?)?.to_owned();
            Action::Write { path: path(&fields)?, content }
        }
        "patch" => {
            let fields = Fields::of(node, "\"patch\"", &["path", "find", "replace"])?;
            Action::Patch {
                path: path(&fields)?,
                find: word(fields.need("find")?)?.to_owned(),
                replace: text(fields.need("replace")?)?.to_owned(),
            }
        }
        "run" => {
            let fields = Fields::of(node, "\"run\"", &["command"])?;
            Action::Run { command: word(fields.need("command")?)?.to_owned() }
        }
        "mcp" => mcp(node)?,
        "result" => match &node.data {
            Data::Table(_) => Action::Result(node.value()?),
            _ => return Err(must_be(field, "a table")),
        },
        "delay_ms" => Action::Delay(Duration::from_millis(number(field, 0..=DAY_S * 1000)?)),
        "usage" => usage(node)?,
        // The only one left: the keys were checked.
        _ => Action::Fail(failure(node)?),
    })
}

fn path(fields: &Fields<'_>) -> Result<PathBuf, Wrong> {
    Ok(PathBuf::from(word(fields.need("path")?)?))
}

fn mcp(node: &Node) -> Result<Action, Wrong> {
    let fields = Fields::of(node, "\"mcp\"", &["server", "tool", "args", "timeout_s"])?;
    let args = match fields.get("args") {
        None => Map::new(),
        Some(field) => match field.node.value()? {
            Value::Object(args) => args,
            _ => return Err(must_be(field, "a table")),
        },
    };
    Ok(Action::Mcp {
        server: fields.get("server").map(word).transpose()?.unwrap_or(OWN_SERVER).to_owned(),
        tool: word(fields.need("tool")?)?.to_owned(),
        args,
        patience: Duration::from_secs(fields.number("timeout_s", 1..=DAY_S)?.unwrap_or(TOOL_S)),
    })
}

fn usage(node: &Node) -> Result<Action, Wrong> {
    let fields = Fields::of(node, "\"usage\"", &["input", "cached", "output", "micro_usd"])?;
    let needed = |name: &str| number(fields.need(name)?, 0..=TOKENS);
    Ok(Action::Spend(Usage {
        input_tokens: needed("input")?,
        cached_tokens: fields.number("cached", 0..=TOKENS)?.unwrap_or_default(),
        output_tokens: needed("output")?,
        micro_usd: fields.number("micro_usd", 0..=TOKENS)?,
    }))
}

const KINDS: &[&str] =
    &["rate_limit", "auth", "network", "service", "cut", "unknown_model", "crash", "hang"];

fn failure(node: &Node) -> Result<ScenarioFailure, Wrong> {
    let any = ["kind", "message", "until", "reset_in_s", "status", "deaf"];
    let kind = Fields::of(node, "\"fail\"", &any)?.need("kind")?;
    let name = text(kind)?;
    // Each kind has keys of its own.
    let (what, own): (&'static str, &[&str]) = match name {
        "rate_limit" => {
            ("\"fail\" of kind rate_limit", &["kind", "message", "until", "reset_in_s"])
        }
        "auth" => ("\"fail\" of kind auth", &["kind", "message"]),
        "network" => ("\"fail\" of kind network", &["kind", "message"]),
        "service" => ("\"fail\" of kind service", &["kind", "message", "status"]),
        "cut" => ("\"fail\" of kind cut", &["kind", "message"]),
        "unknown_model" => ("\"fail\" of kind unknown_model", &["kind", "message"]),
        "crash" => ("\"fail\" of kind crash", &["kind"]),
        "hang" => ("\"fail\" of kind hang", &["kind", "deaf"]),
        other => {
            let why = format!("unknown kind {other:?}; there is {}", all(KINDS));
            return Err(Wrong::at(kind.node.line, why));
        }
    };
    let fields = Fields::of(node, what, own)?;
    let detail = fields.text("message")?.unwrap_or("as rehearsed").to_owned();
    Ok(match name {
        "rate_limit" => ScenarioFailure::RateLimit { end: limit_end(&fields)?, detail },
        "auth" => ScenarioFailure::Auth { detail },
        "network" => ScenarioFailure::Network { detail },
        "service" => {
            let status = fields.number("status", 400..=599)?.unwrap_or(500);
            ScenarioFailure::Service { status: u16::try_from(status).unwrap_or(500), detail }
        }
        "cut" => ScenarioFailure::Cut { detail },
        "unknown_model" => ScenarioFailure::UnknownModel { detail },
        "crash" => ScenarioFailure::Crash,
        _ => ScenarioFailure::Hang(match fields.flag("deaf")? {
            Some(true) => Ears::Deaf,
            Some(false) | None => Ears::Open,
        }),
    })
}

fn limit_end(fields: &Fields<'_>) -> Result<LimitEnd, Wrong> {
    match (fields.get("until"), fields.get("reset_in_s")) {
        (None, None) => Ok(LimitEnd::Unsaid),
        (Some(until), None) => match Timestamp::parse(text(until)?) {
            Some(moment) => Ok(LimitEnd::At(moment)),
            None => {
                let why = "\"until\" must be a time like \"2030-01-31T12:00:00Z\"";
                Err(Wrong::at(until.node.line, why))
            }
        },
        (None, Some(seconds)) => {
            Ok(LimitEnd::After(Duration::from_secs(number(seconds, 0..=YEAR_S)?)))
        }
        (Some(until), Some(seconds)) => {
            let line = until.line.max(seconds.line);
            Err(Wrong::at(line, "\"until\" and \"reset_in_s\" exclude each other"))
        }
    }
}
