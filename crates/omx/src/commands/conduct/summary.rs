//! The summary at the end of a run: outcome, results, usage, and the next command.

use omx_agents::{AgentEnv, AgentKind};
use omx_conductor::drive::EndedRun;
use omx_conductor::engine::RunOutcome;
use omx_kernel::{AbsentFiles, Document, Mode, Refusal, RunId, Scope, SessionId};
use omx_ops::{Context, absent_value};
use omx_runs::RunRepository;
use omx_runs::overview::{Overview, overview};
use omx_runs::spec::{RunSpec, Workspace};
use omx_store::Store;
use serde_json::json;

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::{printable, thousands};

/// Prints how a run ended. An entry of the scenario that was not played is an error.
pub(super) fn print(
    context: &Context<'_>,
    store: &Store,
    spec: &RunSpec,
    id: &RunId,
    ended: &EndedRun,
    unplayed: &[String],
    format: Format,
) -> Result<Exit, Refusal> {
    let exit =
        if unplayed.is_empty() { exit(store, spec, id, &ended.outcome) } else { Exit::Failed };
    let folder =
        store.run(id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))?;
    let environment = context.git_environment(store);
    let env = context.project_env(store, &environment);
    // A disk on which nothing can be written must not hide the outcome.
    let repository = RunRepository::open(&env, id, &folder, &spec.workspace).ok().flatten();
    let size = repository.as_ref().and_then(RunRepository::describe_size);
    let absent = repository.map(|repository| repository.absent_files()).unwrap_or_default();
    let seen = overview(store, &folder)?;
    if format == Format::Json {
        let object = json!({
            "event": "ended", "id": id.as_str(), "outcome": ended.outcome.reason().as_str(),
            "why": ended.outcome.words(), "spent": ended.usage, "spent_by": seen.usage_by(),
            "diff": size, "not_in_branch": absent_value(&absent), "unplayed": unplayed, "exit_code": exit.code(),
        });
        output::object(&object);
        return Ok(exit);
    }
    let mut lines = vec![outcome(&ended.outcome)];
    if let (RunOutcome::Complete(_), Some(document)) =
        (&ended.outcome, document(store, spec.mode, id))
    {
        lines.extend(parts(&document));
    }
    lines.extend(describe_absent(&absent));
    lines.push(format!("{} tokens", thousands(ended.usage.tokens())));
    if let RunOutcome::Budget(_) = &ended.outcome {
        lines.extend(spending(&seen));
    }
    lines.extend(next_command(context.dialect.name, spec, id, &ended.outcome, size.as_deref()));
    output::lines(&lines);
    for fault in unplayed {
        output::note(&format!("error: {fault}"));
    }
    Ok(exit)
}

fn outcome(outcome: &RunOutcome) -> String {
    let words = printable(outcome.words());
    match outcome {
        RunOutcome::Complete(_) => format!("complete: {words}"),
        RunOutcome::Failed(_) => format!("failed: {words}"),
        RunOutcome::Limit(_) | RunOutcome::Budget(_) => format!("stopped: {words}"),
        RunOutcome::Blocked(_) => format!("needs you: {words}"),
        RunOutcome::Cancelled => "cancelled".to_owned(),
        RunOutcome::Interrupted => "interrupted".to_owned(),
    }
}

/// Plan, verification and review of a run, from its document. Only what omx ran itself is
/// verified.
fn parts(document: &Document) -> Vec<String> {
    let artifact = |name: &str| document.get("handoff_artifacts")?.get(name);
    let plan = artifact("ralplan").and_then(|plan| plan.get("plan_path")?.as_str().map(printable));
    let work = artifact("ralph").or_else(|| document.get("completion_audit"));
    let ran = |list: &str| {
        let items = work.as_ref()?.get(list)?.as_json();
        let items: Vec<serde_json::Value> = serde_json::from_str(items).ok()?;
        let mut commands: Vec<String> =
            items.iter().filter_map(|it| it["command"].as_str().map(printable)).collect();
        commands.dedup();
        Some(commands)
    };
    let verified = ran("evidence").unwrap_or_default();
    let mut claimed = ran("claims").unwrap_or_default();
    claimed.retain(|command| !verified.contains(command));
    let listed = |commands: Vec<String>| (!commands.is_empty()).then(|| commands.join(", "));
    let verdict = |name: &str| document.get("review_verdict")?.get(name)?.as_str();
    let review = verdict("recommendation").zip(verdict("architectural_status"));
    let lines = [
        plan.map(|plan| format!("  plan      {plan}")),
        listed(verified).map(|commands| format!("  verified  {commands}")),
        listed(claimed).map(|commands| format!("  claimed   {commands} (an agent says so)")),
        review.map(|(code, architect)| format!("  review    {code}, {architect}")),
    ];
    lines.into_iter().flatten().collect()
}

/// Names what a merge would not contain: the check passed with it.
pub(in crate::commands) fn describe_absent(absent: &AbsentFiles) -> Option<String> {
    absent.describe().map(|files| format!("  not in the branch (ignored, or left out): {files}"))
}

/// Usage by agent and step, largest first.
fn spending(seen: &Overview) -> Vec<String> {
    let mut by_step = seen.usage_by_step.clone();
    by_step.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.tokens()));
    let line = |(step, spent): &(omx_runs::StepKey, omx_runs::Usage)| {
        format!(
            "  {} {step}: {} tokens{}",
            seen.spec.agent,
            thousands(spent.tokens()),
            money(spent.micro_usd)
        )
    };
    by_step.iter().map(line).collect()
}

fn money(micro_usd: Option<u64>) -> String {
    micro_usd.map_or_else(String::new, |micro| {
        format!(", ${}.{:04}", micro / 1_000_000, micro / 100 % 10_000)
    })
}

/// The command to run next.
fn next_command(
    program: &str,
    spec: &RunSpec,
    id: &RunId,
    outcome: &RunOutcome,
    size: Option<&str>,
) -> Option<String> {
    let more = |what: &str| {
        format!(
            "raise the limit and resume: {program} runs limit {id} {what} && {program} runs resume {id}"
        )
    };
    match (outcome, &spec.workspace) {
        (RunOutcome::Complete(_), Workspace::Worktree { branch, .. })
            if spec.mode != Mode::CodeReview =>
        {
            Some(match size {
                Some(size) => {
                    format!("on branch {branch} ({size}); merge it: {program} runs integrate {id}")
                }
                None => format!("branch {branch} is gone: it was merged, or somebody removed it"),
            })
        }
        (RunOutcome::Complete(_), _) => None,
        (RunOutcome::Limit(_), _) => Some(more("N")),
        (RunOutcome::Budget(words), _) => Some(more(match words {
            words if words.contains("tokens") => "--budget-tokens N",
            words if words.contains("money") => "--budget-usd AMOUNT",
            _ => "--budget-time SPAN",
        })),
        (outcome, _) => Some(how_to_resume(program, id, outcome.words())),
    }
}

/// The command that resumes a run, with each decision that the reason of its end offers,
/// such as `decide work=rerun`.
pub(in crate::commands) fn how_to_resume(program: &str, id: &RunId, why: &str) -> String {
    let offered = why.split("decide ").skip(1);
    let choices = offered.filter_map(|rest| rest.split_whitespace().next());
    let commands: Vec<String> = choices
        .filter(|choice| is_decision(choice))
        .map(|choice| format!("{program} runs resume {id} --decide {choice}"))
        .collect();
    if commands.is_empty() {
        format!("resume it: {program} runs resume {id}")
    } else {
        format!("decide and resume it: {}", commands.join(", or "))
    }
}

/// Whether this is a decision that omx offers. The reason may also be an agent's text, and
/// the person may paste what is printed into a shell.
fn is_decision(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    word.split_once('=').is_some_and(|(step, choice)| {
        step.chars().all(is_plain) && ["rerun", "skip", "adopt"].contains(&choice)
    })
}

/// Entries of the scenario that a complete run should have played but did not.
pub(super) fn unplayed(spec: &RunSpec, outcome: &RunOutcome, agents: &AgentEnv) -> Vec<String> {
    let is_rehearsal = spec.agent == AgentKind::Rehearsal.as_str();
    let (RunOutcome::Complete(_), Some(scenario), true) = (outcome, &spec.scenario, is_rehearsal)
    else {
        return Vec::new();
    };
    let faults = omx_rehearsal::check_coverage(scenario, &agents.rehearsal_folder).err();
    faults.unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn exit(store: &Store, spec: &RunSpec, id: &RunId, outcome: &RunOutcome) -> Exit {
    match outcome {
        RunOutcome::Complete(_) if spec.mode == Mode::CodeReview && !is_clean(store, id) => {
            Exit::Failed
        }
        RunOutcome::Complete(_) => Exit::Done,
        RunOutcome::Failed(_) => Exit::Failed,
        RunOutcome::Limit(_) | RunOutcome::Budget(_) => Exit::Limit,
        RunOutcome::Blocked(_) => Exit::NeedsPerson,
        RunOutcome::Cancelled => Exit::Cancelled,
        RunOutcome::Interrupted => Exit::Interrupted,
    }
}

/// Whether the review's document has a clean verdict.
fn is_clean(store: &Store, id: &RunId) -> bool {
    let clean = |document: Document| document.get("review_verdict")?.get("clean")?.as_bool();
    document(store, Mode::CodeReview, id).and_then(clean).unwrap_or(false)
}

fn document(store: &Store, mode: Mode, id: &RunId) -> Option<Document> {
    let scope = Scope::Session(SessionId::new(id.as_str()).ok()?);
    store.read().ok()??.document(&scope, mode).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_5_1b_the_commands_of_a_question_are_omxs_own() {
        let id = RunId::new("01930000-0000-7000-8000-000000000001").unwrap();
        let shown = |why: &str| how_to_resume("omx", &id, why);
        let resume = format!("omx runs resume {id}");
        let why = "gone; decide c1.work=rerun (rerun it) or decide c1.work=skip (accept it)";
        let both = format!("{resume} --decide c1.work=rerun, or {resume} --decide c1.work=skip");
        assert_eq!(shown(why), format!("decide and resume it: {both}"));
        for agents in ["decide $(id)=rerun", "decide work=rerun;id", "decide it yourself", ""] {
            assert_eq!(shown(agents), format!("resume it: {resume}"), "{agents}");
        }
    }
}
