//! Reads a scenario file and checks what its types alone cannot.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_agents::event::UsageDelta;
use omx_kernel::approval::OWN_SERVER;
use serde_json::Value;
use toml::Spanned;

use super::error::{ScenarioError, ScenarioSource};
use super::file::{EntryTable, FailKind, FailTable, McpTable, ScenarioFile, StepTable, UsageTable};
use super::model::{
    HangKind, LimitEnd, Scenario, ScenarioAction, ScenarioEntry, ScenarioFailure, ScenarioStep,
};
use crate::hash::fnv;

/// The size limit of a scenario file.
const MAX_BYTES: usize = 4 << 20;
/// How long a tool may take unless the scenario gives a time.
const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a scenario from a file.
pub fn load(file: &Path) -> Result<Scenario, ScenarioError> {
    let unreadable = |message: String| ScenarioError { file: file.to_owned(), line: None, message };
    let mut bytes = Vec::new();
    // Opening a pipe or a device could block.
    let is_file = std::fs::metadata(file).map(|data| data.is_file());
    let read = match is_file {
        Ok(false) => return Err(unreadable("not a regular file".to_owned())),
        Ok(true) => {
            let limit = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
            File::open(file).and_then(|open| open.take(limit).read_to_end(&mut bytes))
        }
        Err(error) => Err(error),
    };
    read.map_err(|error| unreadable(format!("cannot read the scenario: {error}")))?;
    if bytes.len() > MAX_BYTES {
        return Err(unreadable(format!("larger than {MAX_BYTES} bytes")));
    }
    parse(file, &bytes)
}

/// Parses the content of a scenario file. The name is for messages only.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Scenario, ScenarioError> {
    let source = ScenarioSource { file, bytes };
    let text = std::str::from_utf8(bytes)
        .map_err(|error| source.error(error.valid_up_to(), "this line is not UTF-8"))?;
    let read: ScenarioFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    let entries = non_empty(source, read.entry, "a scenario needs at least one entry")?;
    Ok(Scenario {
        file: file.to_owned(),
        fingerprint: format!("{:016x}", fnv(bytes)),
        seed: read.seed.map(|seed| seed.0),
        entries: entries.into_iter().map(|table| entry(source, table)).collect::<Result<_, _>>()?,
    })
}

fn non_empty<Item>(
    source: ScenarioSource<'_>,
    list: Spanned<Vec<Item>>,
    message: &str,
) -> Result<Vec<Item>, ScenarioError> {
    if list.get_ref().is_empty() {
        return Err(source.error(list.span().start, message));
    }
    Ok(list.into_inner())
}

fn entry(
    source: ScenarioSource<'_>,
    table: Spanned<EntryTable>,
) -> Result<ScenarioEntry, ScenarioError> {
    let line = source.line(table.span().start);
    let table = table.into_inner();
    let times = table.times.and_then(|times| u32::try_from(times.0).ok());
    let at_least = match (table.required, times) {
        (Some(false), _) | (None, None) => 0,
        (Some(true), None) => 1,
        (_, Some(times)) => times,
    };
    let mut steps: Vec<ScenarioStep> = Vec::new();
    for table in non_empty(source, table.steps, "an entry needs at least one step")? {
        let start = table.span().start;
        if steps.last().is_some_and(|last| matches!(last.action, ScenarioAction::Fail(_))) {
            return Err(source.error(start, "no step can follow \"fail\""));
        }
        let action = action(source, table)?;
        steps.push(ScenarioStep { line: source.line(start), action });
    }
    Ok(ScenarioEntry {
        line,
        role: table.role.map(|role| role.0),
        phase: table.phase.map(|phase| phase.0),
        text: table.text.map(|text| text.0),
        at_most: times,
        at_least,
        steps,
    })
}

fn action(
    source: ScenarioSource<'_>,
    table: Spanned<StepTable>,
) -> Result<ScenarioAction, ScenarioError> {
    let start = table.span().start;
    let table = table.into_inner();
    let fail = table.fail.map(|table| failure(source, table)).transpose()?;
    let actions = [
        ("say", table.say.map(ScenarioAction::Say)),
        ("answer", table.answer.map(ScenarioAction::Answer)),
        (
            "write",
            table.write.map(|write| ScenarioAction::Write {
                path: PathBuf::from(write.path.0),
                content: write.content,
            }),
        ),
        (
            "patch",
            table.patch.map(|patch| ScenarioAction::Patch {
                path: PathBuf::from(patch.path.0),
                find: patch.find.0,
                replace: patch.replace,
            }),
        ),
        ("run", table.run.map(|run| ScenarioAction::Run { command: run.command.0 })),
        ("mcp", table.mcp.map(mcp)),
        ("result", table.result.map(|object| ScenarioAction::Result(Value::Object(object.0)))),
        ("delay_ms", table.delay_ms.map(|delay| ScenarioAction::Delay(delay.duration()))),
        ("usage", table.usage.map(usage)),
        ("fail", fail.map(ScenarioAction::Fail)),
    ];
    let known = actions.each_ref().map(|(name, _)| *name).join(", ");
    let mut set = actions.into_iter().filter_map(|(name, action)| Some((name, action?)));
    match (set.next(), set.next()) {
        (Some((_, action)), None) => Ok(action),
        (None, _) => Err(source.error(start, format!("a step needs one key of {known}"))),
        (Some((first, _)), Some((second, _))) => {
            let message = format!("a step has one key; this one has {first:?} and {second:?}");
            Err(source.error(start, message))
        }
    }
}

fn mcp(table: McpTable) -> ScenarioAction {
    ScenarioAction::Mcp {
        server: table.server.map_or_else(|| OWN_SERVER.to_owned(), |server| server.0),
        tool: table.tool.0,
        args: table.args.0,
        timeout: table.timeout_s.map_or(TOOL_TIMEOUT, |timeout| Duration::from_secs(timeout.0)),
    }
}

fn usage(table: UsageTable) -> ScenarioAction {
    ScenarioAction::ReportUsage(UsageDelta {
        input_tokens: table.input.0,
        cached_tokens: table.cached.map(|cached| cached.0).unwrap_or_default(),
        output_tokens: table.output.0,
        micro_usd: table.micro_usd.map(|cost| cost.0),
    })
}

fn failure(source: ScenarioSource<'_>, table: FailTable) -> Result<ScenarioFailure, ScenarioError> {
    let kind = table.kind;
    let offsets = [
        ("message", table.message.as_ref().map(|value| value.span().start)),
        ("until", table.until.as_ref().map(|value| value.span().start)),
        ("reset_in_s", table.reset_in_s.as_ref().map(|value| value.span().start)),
        ("status", table.status.as_ref().map(|value| value.span().start)),
        ("deaf", table.deaf.as_ref().map(|value| value.span().start)),
    ];
    for (key, offset) in offsets {
        let Some(offset) = offset.filter(|_| !kind.allows(key)) else { continue };
        let message = format!("a \"fail\" of kind {:?} has no key {key:?}", kind.as_str());
        return Err(source.error(offset, message));
    }
    let detail = table.message.map_or_else(|| "as rehearsed".to_owned(), Spanned::into_inner);
    Ok(match kind {
        FailKind::RateLimit => {
            let end = match (table.until, table.reset_in_s) {
                (None, None) => LimitEnd::Unknown,
                (Some(until), None) => LimitEnd::At(until.into_inner().0),
                (None, Some(seconds)) => {
                    LimitEnd::After(Duration::from_secs(seconds.into_inner().0))
                }
                (Some(until), Some(seconds)) => {
                    let offset = until.span().start.max(seconds.span().start);
                    let message = "\"until\" and \"reset_in_s\" exclude each other";
                    return Err(source.error(offset, message));
                }
            };
            ScenarioFailure::RateLimit { end, detail }
        }
        FailKind::Auth => ScenarioFailure::Auth { detail },
        FailKind::Network => ScenarioFailure::Network { detail },
        FailKind::Service => {
            let status = table.status.and_then(|status| u16::try_from(status.into_inner().0).ok());
            ScenarioFailure::Service { status: status.unwrap_or(500), detail }
        }
        FailKind::Cut => ScenarioFailure::Cut { detail },
        FailKind::UnknownModel => ScenarioFailure::UnknownModel { detail },
        FailKind::Crash => ScenarioFailure::Crash,
        FailKind::Hang => ScenarioFailure::Hang(match table.deaf.map(Spanned::into_inner) {
            Some(true) => HangKind::Deaf,
            Some(false) | None => HangKind::Interruptible,
        }),
    })
}
