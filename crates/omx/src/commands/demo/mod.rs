//! `demo`: runs a complete autopilot in a throwaway repository with the rehearsal
//! agent, and verifies the result.
//!
//! Files, commands, checks, commits and the merge are real; only the thinking is
//! rehearsed. At its end, the demo claims nothing that it did not verify.

mod stage;
mod stop;
mod verify;

use std::path::Path;
use std::process::Stdio;

use omx_kernel::Dialect;

use self::stage::Stage;
use self::stop::{Commands, DemoStop};
use crate::cli::DemoArgs;
use crate::exit::Exit;
use crate::output;

const TASK: &str = "greet people by name";

/// Runs the demo.
pub fn run(args: &DemoArgs, dialect: Dialect) -> Exit {
    let started = Commands::watched()
        .and_then(|commands| Ok((Stage::create(commands.clone())?, commands)))
        .map_err(|error| format!("cannot start the demo: {error}"));
    let (stage, commands) = match started {
        Ok(started) => started,
        Err(message) => return failed(&message),
    };
    let result = play(&stage, args.scenario.as_deref(), dialect);
    drop(stage);
    // An interrupted command fails, but that is not the demo's failure.
    match (commands.stopped(), result) {
        (Some(DemoStop::Interrupted), _) => Exit::Interrupted,
        (Some(DemoStop::ReaderGone), _) | (None, Ok(())) => Exit::Done,
        (None, Err(message)) => failed(&message),
    }
}

fn failed(message: &str) -> Exit {
    output::note(&format!("error: {message}"));
    Exit::Failed
}

fn play(stage: &Stage, scenario: Option<&Path>, dialect: Dialect) -> Result<(), String> {
    let name = dialect.name;
    print(&[
        &format!("A small git repository, a task, and nobody at the keyboard: {name} plans,"),
        "builds, checks and reviews until the review is clean. The agents are",
        "rehearsed, everything else is real.",
        "",
    ]);
    let before = stage.create_repository(scenario)?;
    print(&[&format!("$ {name} autopilot --check \"sh check.sh\" \"{TASK}\""), ""]);
    let (scenario, parent) = (stage.scenario(), std::process::id().to_string());
    let autopilot = ["--dialect", name, "autopilot", "--parent", &parent, "--agent", "rehearsal"];
    let task = ["--scenario", &scenario, "--check", "sh check.sh", TASK];
    let ended = stage.omx(&[&autopilot[..], &task].concat(), Stdio::inherit())?;
    let excerpt = stage.omx(&["--dialect", name, "runs", "show", "--json"], Stdio::piped())?;
    verify::steps(&excerpt.text, ended.code)?;
    verify_untouched(stage, &before)?;
    print(&["", "Your checkout was not touched: the run worked in a worktree. Now merge it:", ""]);
    print(&[&format!("$ {name} runs integrate")]);
    let integrate = ["--dialect", name, "runs", "integrate"];
    stage.omx(&integrate, Stdio::inherit())?.expect_exit(0, "runs integrate")?;
    print(&["$ sh check.sh"]);
    stage.run("sh", &["check.sh"], Stdio::inherit())?.expect_exit(0, "sh check.sh")?;
    print(&[
        "",
        "The demo has verified what it showed: the critic's objection, the check that",
        "failed and then passed, the review that was rejected, the new plan, the",
        "approval, the merge. Next, in a repository of your own:",
        "",
        &format!("  {name} autopilot \"what you want done\"     use the agent you already have"),
        &format!("  {name} ask codex \"…\"                      ask one question"),
        &format!(
            "  {name} status, {name} runs, {name} cancel       see what runs, what ran, stop it"
        ),
    ]);
    Ok(())
}

fn verify_untouched(stage: &Stage, before: &str) -> Result<(), String> {
    let head = stage.head()?;
    let status = stage.git(&["status", "--porcelain"])?.text;
    if head != before || !status.is_empty() {
        return Err(format!("the run changed the checkout: HEAD {head}, status {status:?}"));
    }
    Ok(())
}

fn print(lines: &[&str]) {
    output::text(&format!("{}\n", lines.join("\n")));
}
