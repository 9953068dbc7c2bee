//! A run in this process: crew, view, signals, and the words at its end.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use omx_agents::{AgentKind, Limits, driver};
use omx_conductor::asked::{Asked, Ground};
use omx_conductor::drive::{Crew, Drive, Ended, RoleCard};
use omx_conductor::engine::Outcome;
use omx_conductor::start::Taken;
use omx_host::catalogue;
use omx_kernel::{Code, Mode, Refusal, Scope, SessionId};
use omx_ops::Context;
use omx_ops::config;
use omx_store::Store;
use omx_store::runs::{Registered, Registry};
use serde_json::json;

use super::choose::refusal;
use crate::edge;
use crate::exit::Exit;
use crate::live::{Live, printable, thousands};
use crate::output::{self, Format};

/// Whether this process carries the run itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// It does.
    Stay,
    /// Another one does, in the background.
    Detach,
}

/// Carries a run out, here or in the background.
pub fn drive(
    context: &Context<'_>,
    store: &Store,
    taken: Taken,
    afterwards: Afterwards,
    format: Format,
) -> Result<Exit, Refusal> {
    let id = taken.held.id().clone();
    announce(&taken.asked, id.as_str(), format);
    if afterwards == Afterwards::Detach {
        // The lock goes with it; the other process takes it.
        drop(taken);
        return detach(context, store, id.as_str(), format);
    }
    let mut crew = crew(context, store, &taken.asked)?;
    // How often an entry may be played is counted for each run.
    crew.surroundings.rehearsal_folder = taken.held.folder().path().join("rehearsal");
    let asked = taken.asked.clone();
    register(context, store, &taken);
    let live = Live::new(format);
    let run =
        Drive::new(&crew, taken.asked, taken.held, taken.engine, |progress| live.show(progress))?;
    let handle = run.handle();
    let stopped = AtomicBool::new(false);
    edge::on_interrupt(move || {
        if stopped.swap(true, Ordering::Relaxed) {
            // Twice: now. Guards end the agents, and the journal is consistent
            // after every record.
            std::process::exit(Exit::Interrupted.code());
        }
        handle.stop();
    })
    .map_err(|error| Refusal::new(Code::Io, format!("signals cannot be heard: {error}")))?;
    let ended = run.run(taken.changes);
    live.finish();
    Ok(summary(store, &asked, id.as_str(), &ended?, format))
}

fn crew<'a>(
    context: &'a Context<'a>,
    store: &'a Store,
    asked: &Asked,
) -> Result<Crew<'a>, Refusal> {
    let config = config::load(context, store)?;
    let surroundings = edge::surroundings(context.dialect, store.tree(), asked.scenario.clone())?;
    let kind = AgentKind::named(&asked.agent)
        .ok_or_else(|| Refusal::input(format!("unknown agent {:?}", asked.agent)))?;
    let installation = driver(kind).find(&surroundings).map_err(|trouble| refusal(&trouble))?;
    let roles =
        catalogue::roles(store.tree()).map_err(|error| Refusal::input(error.to_string()))?;
    let roles: BTreeMap<String, RoleCard> = roles
        .into_iter()
        .map(|role| {
            let key = format!("tiers.{kind}.{}", role.tier.as_str());
            let model = config.get(&key).and_then(|setting| setting.value.as_str());
            (role.name, RoleCard { prompt: role.prompt, model: model.map(str::to_owned) })
        })
        .collect();
    Ok(Crew {
        context,
        store,
        roles,
        installation,
        surroundings,
        limits: Limits::default(),
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Enters the run where `ps` looks. It leaves by itself when its lock is free.
fn register(context: &Context<'_>, store: &Store, taken: &Taken) {
    let Some(folder) = edge::registry_folder(context.dialect) else { return };
    let entry = Registered {
        run: taken.held.id().clone(),
        root: store.root().to_owned(),
        tree: store.tree().to_owned(),
        mode: taken.asked.mode.name().to_owned(),
        task: taken.asked.task.clone(),
        pid: std::process::id(),
        started: context.clock.now(),
    };
    if let Err(error) = Registry::new(folder).enter(&taken.held, &entry) {
        // A list that lacks it is no reason not to work.
        output::note(&format!("warning: omx ps will not show this run: {error}"));
    }
}

/// What is in force is said first.
fn announce(asked: &Asked, id: &str, format: Format) {
    let folder = asked.ground.folder().display().to_string();
    if format == Format::Json {
        let object = json!({
            "event": "run", "id": id, "mode": asked.mode.name(), "task": asked.task,
            "agent": asked.agent, "allow": asked.allow, "check": asked.check, "folder": folder,
        });
        output::text(&format!("{object}\n"));
        return;
    }
    let allowed = match asked.allow.as_str() {
        "edits" => "may edit files there; commands need you",
        "all" => "may do everything: its own checks are off",
        _ => "may edit files and run commands there",
    };
    let check = asked.check.as_deref().unwrap_or("none found; name one with --check");
    output::lines(&[
        format!("{} run {id}", asked.mode.name()),
        format!("  folder  {folder}"),
        format!("  agent   {} {allowed}", asked.agent),
        format!("  check   {check}"),
    ]);
}

/// Starts a process of its own for the run and leaves it.
fn detach(context: &Context<'_>, store: &Store, id: &str, format: Format) -> Result<Exit, Refusal> {
    let io = |error: std::io::Error| {
        Refusal::new(Code::Io, format!("the run cannot be carried on in the background: {error}"))
    };
    let omx = std::env::current_exe().map_err(io)?;
    let log = store.tree().join("runs").join(id).join("output").join("drive.log");
    let log = std::fs::File::create(log).map_err(io)?;
    let mut command = Command::new("setsid");
    command.arg(omx).args(["--dialect", context.dialect.name, "--root"]).arg(store.root());
    command.args(["runs", "drive", id]);
    command.stdin(Stdio::null()).stdout(log.try_clone().map_err(io)?).stderr(log);
    command.spawn().map_err(io)?;
    if format == Format::Text {
        output::lines(&[
            format!("follow it: omx runs attach {id}"),
            format!("cancel it: omx cancel --session-id {id}"),
        ]);
    }
    Ok(Exit::Done)
}

/// The words at the end.
fn summary(store: &Store, asked: &Asked, id: &str, ended: &Ended, format: Format) -> Exit {
    let exit = exit(store, asked, id, &ended.outcome);
    if format == Format::Json {
        let object = json!({
            "event": "ended", "id": id, "outcome": ended.outcome.as_str(),
            "why": ended.outcome.words(), "spent": ended.spent, "exit_code": exit.code(),
        });
        output::text(&format!("{object}\n"));
        return exit;
    }
    let tokens = thousands(ended.spent.tokens());
    let words = printable(ended.outcome.words());
    let mut lines = Vec::new();
    match &ended.outcome {
        Outcome::Complete(_) => lines.push(format!("complete: {words}")),
        Outcome::Failed(_) => lines.push(format!("failed: {words}")),
        Outcome::Limit(_) | Outcome::Budget(_) => lines.push(format!("stopped: {words}")),
        Outcome::Blocked(_) => lines.push(format!("needs you: {words}")),
        Outcome::Cancelled => lines.push("cancelled".to_owned()),
        Outcome::Interrupted => lines.push("interrupted".to_owned()),
    }
    lines.push(format!("{tokens} tokens"));
    match (&ended.outcome, &asked.ground) {
        (Outcome::Complete(_), Ground::Worktree { branch, .. })
            if asked.mode != Mode::CodeReview =>
        {
            lines.push(format!("on branch {branch}; merge it: omx runs integrate {id}"));
        }
        (Outcome::Complete(_), _) => {}
        (Outcome::Limit(_), _) => {
            lines.push(format!(
                "allow more and go on: omx runs limit {id} N && omx runs resume {id}"
            ));
        }
        _ => lines.push(format!("go on: omx runs resume {id}")),
    }
    output::lines(&lines);
    exit
}

fn exit(store: &Store, asked: &Asked, id: &str, outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Complete(_) if asked.mode == Mode::CodeReview && !is_clean(store, id) => {
            Exit::Failed
        }
        Outcome::Complete(_) => Exit::Done,
        Outcome::Failed(_) => Exit::Failed,
        Outcome::Limit(_) | Outcome::Budget(_) => Exit::Limit,
        Outcome::Blocked(_) => Exit::NeedsPerson,
        Outcome::Cancelled => Exit::Cancelled,
        Outcome::Interrupted => Exit::Interrupted,
    }
}

/// Whether a review's document says that it was clean.
fn is_clean(store: &Store, id: &str) -> bool {
    let verdict = || {
        let scope = Scope::Session(SessionId::new(id).ok()?);
        let document = store.read().ok()??.document(&scope, Mode::CodeReview).ok()??;
        document.get("review_verdict")?.get("clean")?.as_bool()
    };
    verdict().unwrap_or(false)
}
