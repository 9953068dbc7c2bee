//! Lists the runs of this project, and the live runs of all projects.

use omx_kernel::{Dialect, Refusal, RunState, Timestamp};
use omx_ops::{Context, RunListRequest, run_list, run_list_as, run_list_live};
use omx_runs::listing::{ListDetail, ListRange, ListedOverview, UnreadableRun};
use omx_store::runs::RegisteredRun;

use crate::cli::GlobalArgs;
use crate::commands::with_context;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::{clock, thousands, truncate};

/// The width of a task in a list.
const TASK_COLUMNS: usize = 61;

pub(super) fn list(
    context: &Context<'_>,
    range: ListRange,
    format: Format,
) -> Result<Exit, Refusal> {
    let request = RunListRequest { range, ..RunListRequest::default() };
    if format == Format::Json {
        return Ok(output::value(&run_list(context, &request)?.value(), format));
    }
    let now = context.clock.now();
    let listing = run_list_as(context, &request, ListDetail::Summary, |run| {
        let line = line(&run, now);
        (run.id, line)
    })?;
    let unreadable = listing.unreadable.iter().map(|run| (run.id.clone(), unreadable_line(run)));
    let mut lines = listing.runs;
    lines.extend(unreadable);
    if lines.is_empty() {
        return Ok(output::lines(&["No runs in this project.".to_owned()]));
    }
    lines.sort();
    let older = listing.older;
    let program = context.dialect.name;
    let older = (older > 0)
        .then(|| format!("{} older runs: {program} runs --all", thousands(older as u64)));
    let lines = older.into_iter().chain(lines.into_iter().map(|(_, line)| line));
    Ok(output::lines(&lines.collect::<Vec<_>>()))
}

fn unreadable_line(run: &UnreadableRun) -> String {
    format!("{}  unreadable: {}", run.id, run.why.one_line())
}

fn line(run: &ListedOverview, now: Timestamp) -> String {
    let state = match &run.waiting {
        _ if run.is_foreign => "foreign".to_owned(),
        _ if run.needs_person() => "needs you".to_owned(),
        Some(kind) if run.state == RunState::Running && *kind == "rate_limit" => {
            "limited".to_owned()
        }
        _ => run.state.to_string(),
    };
    let phase =
        run.phase.as_ref().map_or_else(|| "-".to_owned(), |phase| phase.one_line().to_string());
    let started = Timestamp::parse(run.started_at.raw()).unwrap_or(now);
    let age = clock(u64::try_from(now.millis_since(started) / 1000).unwrap_or_default());
    let money = run
        .usage
        .micro_usd
        .map(|micro| format!(", ${}.{:02}", micro / 1_000_000, micro / 10_000 % 100));
    format!(
        "{}  {:<11}  {state:<15}  {phase:<16}  {age:>8}  {} tokens{}  {}",
        run.id,
        run.mode.one_line().to_string(),
        thousands(run.usage.tokens()),
        money.unwrap_or_default(),
        truncate(&run.task.one_line().to_string(), TASK_COLUMNS),
    )
}

/// Lists the live runs of all projects.
pub fn ps(json: bool, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(json);
    with_context(global, by_name, format, |context| {
        let report = run_list_live(context)?;
        if format == Format::Json {
            return Ok(output::value(&report.value(), format));
        }
        let (live, unreadable) = (report.runs, report.unreadable);
        if live.is_empty() && unreadable.is_empty() {
            return Ok(output::lines(&["No live runs.".to_owned()]));
        }
        let now = context.clock.now();
        let line = |run: &RegisteredRun| {
            let seconds = now.millis_since(run.started) / 1000;
            let age = clock(u64::try_from(seconds).unwrap_or_default());
            let (root, mode) = (run.root.display(), run.mode.one_line().to_string());
            format!(
                "{}  {:<11}  {age:>8}  {root}  {}",
                run.run,
                mode,
                truncate(&run.task.one_line().to_string(), TASK_COLUMNS)
            )
        };
        let mut lines: Vec<String> = live.iter().map(line).collect();
        let unknown =
            |run: &RegisteredRun| format!("{}  unreadable in {}", run.run, run.root.display());
        lines.extend(unreadable.iter().map(unknown));
        Ok(output::lines(&lines))
    })
}
