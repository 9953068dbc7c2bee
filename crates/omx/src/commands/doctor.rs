//! `doctor`: reports what works, what does not, and what to do about it.

use std::path::Path;
use std::time::Duration;

use anstyle::Style;
use omx_agents::version::version;
use omx_agents::{AgentKind, Failure};
use omx_host::HostKind;
use omx_host::doctor::{
    AgentCheck, AgentReadiness, DoctorEnv, DoctorFinding, DoctorReport, FindingLevel, Installation,
    apply_fixes, run_checks,
};
use omx_host::setup::SetupScope;
use omx_kernel::{Dialect, GuardedAct, Refusal, Value};
use omx_ops::Context;
use omx_rehearsal::driver;
use omx_store::Store;

use super::{setup, with_context};
use crate::cli::GlobalArgs;
use crate::cli_setup::DoctorArgs;
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::terminal::{FAILURE, PaintedLine, Palette, SUCCESS, WARNING};

/// How long an agent may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to do about findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoctorAction {
    Check,
    Fix,
}

/// Runs the checks, applies fixes on request, and prints the report.
pub fn run(args: &DoctorArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    let action = if args.fix { DoctorAction::Fix } else { DoctorAction::Check };
    with_context(global, by_name, format, |context| {
        let store = context.store()?;
        let env = env(context, &store)?;
        let mut report = run_checks(&env);
        let mut done = Vec::new();
        if action == DoctorAction::Fix && !report.fixes().is_empty() {
            context.check_act(GuardedAct::OfPerson("apply fixes"))?;
            done = apply_fixes(&env, &report);
            report = run_checks(&env);
        }
        // Remedies are commands that use the name of the default dialect.
        for finding in &mut report.findings {
            let remedy = finding.remedy.take();
            finding.remedy = remedy.map(|text| context.dialect.localize(&text).into_owned());
        }
        let exit = match format {
            Format::Json => output::value(&value(&report, &done), format),
            Format::Text => output::painted(&text(&report, &done)),
        };
        let failed = report.has_failed() || done.iter().any(Result::is_err);
        Ok(if failed { Exit::Failed } else { exit })
    })
}

fn env<'a>(context: &'a Context<'_>, store: &'a Store) -> Result<DoctorEnv<'a>, Refusal> {
    let mut installed = Vec::new();
    for scope in [SetupScope::User, SetupScope::Project(store.root().to_owned())] {
        // Without a home directory there is no setup to check.
        let Ok(paths) = edge::setup_paths(context.dialect, scope) else { continue };
        // Ignore an unreadable role here; commands that need it report it.
        let catalog = setup::load_catalog(context, &paths).unwrap_or_default();
        installed.push(Installation { paths, catalog });
    }
    let there = |host: &HostKind| edge::on_path(Path::new(host.as_str())).is_some();
    Ok(DoctorEnv {
        context,
        store,
        installed,
        hosts: HostKind::ALL.into_iter().filter(there).collect(),
        agents: agents(context, store)?,
        git: edge::on_path(Path::new("git")),
        tmux: edge::on_path(Path::new("tmux")),
        bubblewrap: edge::on_path(Path::new("bwrap")),
        mark: edge::agent_env(context, store, None, None, None)?.worker_variable,
    })
}

fn agents(context: &Context<'_>, store: &Store) -> Result<Vec<AgentCheck>, Refusal> {
    let agent_env = edge::agent_env(context, store, None, None, None)?;
    let troubled = |failure: &Failure| match failure.kind() {
        "not_installed" => AgentReadiness::Missing(failure.remedy()),
        _ => AgentReadiness::Unusable(failure.to_string(), failure.remedy()),
    };
    let kinds = AgentKind::ALL.into_iter().filter(|kind| *kind != AgentKind::Rehearsal);
    Ok(kinds
        .map(|kind| {
            let found = driver(kind).find(&agent_env);
            let version = found.and_then(|found| version(&found, &agent_env, PATIENCE));
            let state = match version {
                Ok(version) => AgentReadiness::Ready(version),
                Err(trouble) => troubled(&trouble),
            };
            AgentCheck { name: kind.as_str().to_owned(), state }
        })
        .collect())
}

/// Formats one line for each check, by area, with the remedy below each problem.
fn text(report: &DoctorReport, done: &[Result<String, String>]) -> Vec<PaintedLine> {
    let palette = Palette::of_stdout();
    let plain = |text: &str| palette.line().text(text);
    let mut lines: Vec<PaintedLine> = Vec::new();
    for (index, finding) in report.findings.iter().enumerate() {
        let first = index == 0 || report.findings[index - 1].area != finding.area;
        if first {
            lines.push(plain(finding.area.title()));
        }
        let place = finding.place.as_ref().map(|place| format!(" ({place})"));
        let line = palette.line().text("  ");
        let line = line.styled(style(finding.level), &format!("{:<7}", finding.level.as_str()));
        lines.push(line.text(&format!("  {}{}", finding.what, place.unwrap_or_default())));
        if let Some(remedy) =
            finding.remedy.as_ref().filter(|_| finding.level != FindingLevel::Fine)
        {
            lines.push(plain(&format!("           {remedy}")));
        }
    }
    for one in done {
        lines.push(plain(&match one {
            Ok(what) => format!("fixed: {what}"),
            Err(why) => format!("not fixed: {why}"),
        }));
    }
    let count = |level| report.findings.iter().filter(|one| one.level == level).count();
    let number = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    lines.push(plain(&match (count(FindingLevel::Failure), count(FindingLevel::Warning)) {
        (0, 0) => "everything works".to_owned(),
        (0, warnings) => format!("everything works, {}", number(warnings, "warning")),
        (failures, warnings) => {
            format!("{}, {}", number(failures, "failure"), number(warnings, "warning"))
        }
    }));
    lines
}

/// The color of a level.
fn style(level: FindingLevel) -> Style {
    match level {
        FindingLevel::Fine => SUCCESS,
        FindingLevel::Warning => WARNING,
        FindingLevel::Failure => FAILURE,
    }
}

fn value(report: &DoctorReport, done: &[Result<String, String>]) -> Value {
    let finding = |one: &DoctorFinding| {
        Value::record([
            ("area", Value::string(one.area.as_str())),
            ("name", Value::string(one.name)),
            ("level", Value::string(one.level.as_str())),
            ("what", Value::string(&one.what)),
            ("where", Value::string_or_null(one.place.as_deref())),
            ("fix", Value::string_or_null(one.remedy.as_deref())),
            ("fixable", Value::bool(one.fix.is_some())),
        ])
    };
    let fixed = |one: &Result<String, String>| {
        let (ok, what) = match one {
            Ok(what) => (true, what),
            Err(why) => (false, why),
        };
        Value::record([("ok", Value::bool(ok)), ("what", Value::string(what))])
    };
    let failed = report.has_failed() || done.iter().any(Result::is_err);
    Value::record([
        ("ok", Value::bool(!failed)),
        ("findings", Value::array(report.findings.iter().map(finding).collect())),
        ("fixed", Value::array(done.iter().map(fixed).collect())),
    ])
}
