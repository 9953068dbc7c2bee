//! Parses requests about runs.

use std::path::PathBuf;

use omx_kernel::approval::AllowLevel;
use omx_kernel::fields::type_mismatch;
use omx_kernel::{AgentKind, Mode, Refusal};
use omx_runs::attention::AttentionAnswer;
use omx_runs::listing::ListRange;
use omx_runs::retention::DiscardScope;
use omx_runs::workspace::WorkspaceChoice;
use omx_runs::{Budget, VerificationLevel};

use super::answer::RunAnswerRequest;
use super::budget::{parse_span, parse_usd};
use super::change::RunChange;
use super::discard::RunDiscardRequest;
use super::goal::CheckGoal;
use super::integrate::{FailedCheckPolicy, RunIntegrateRequest};
use super::limit::RunLimitRequest;
use super::list::RunListRequest;
use super::resume::RunResumeRequest;
use super::select::RunSelector;
use super::stages::{preset_stages, read_stages};
use super::start::RunRequest;
use crate::fields::RequestFields;

impl TryFrom<RequestFields> for RunListRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["all", "workingDirectory"])?;
        let range = if fields.flag("all")? { ListRange::All } else { ListRange::Recent };
        Ok(Self { project: fields.project()?, range })
    }
}

impl TryFrom<RequestFields> for RunSelector {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["id", "workingDirectory"])?;
        selector(&fields)
    }
}

impl TryFrom<RequestFields> for RunIntegrateRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["id", "anyway", "workingDirectory"])?;
        let failed_check = match fields.flag("anyway")? {
            true => FailedCheckPolicy::Merge,
            false => FailedCheckPolicy::Refuse,
        };
        Ok(Self { run: selector(&fields)?, failed_check })
    }
}

impl TryFrom<RequestFields> for RunAnswerRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["id", "answer", "question", "workingDirectory"])?;
        let answer = needed(&fields, "answer")?;
        let run = needed_selector(&fields)?;
        Ok(Self {
            run,
            answer: AttentionAnswer::parse(answer)?,
            question: fields.count("question")?,
        })
    }
}

impl TryFrom<RequestFields> for RunLimitRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&[
            "id",
            "max_iterations",
            "budget_tokens",
            "budget_usd",
            "budget_time",
            "workingDirectory",
        ])?;
        let run = needed_selector(&fields)?;
        let max_iterations = fields.count("max_iterations")?;
        Ok(Self { run, max_iterations, budget: budget(&fields)? })
    }
}

impl TryFrom<RequestFields> for RunResumeRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&[
            "id",
            "mode",
            "decide",
            "agent",
            "model",
            "allow",
            "check",
            "max_iterations",
            "budget_tokens",
            "budget_usd",
            "budget_time",
            "scenario",
            "workingDirectory",
        ])?;
        let decisions = match fields.get("decide") {
            None => Vec::new(),
            Some(value) if value.is_null() => Vec::new(),
            Some(value) => {
                let wrong = || type_mismatch("decide", "a list of STEP=rerun or STEP=skip", value);
                let items = value.as_array().ok_or_else(wrong)?;
                let text = |item: &omx_kernel::Value| item.as_str().map(str::to_owned);
                items.iter().map(text).collect::<Option<Vec<String>>>().ok_or_else(wrong)?
            }
        };
        let text = |name: &str| Ok::<_, Refusal>(fields.text(name)?.map(str::to_owned));
        let change = RunChange {
            task: None,
            agent: agent(&fields)?,
            model: text("model")?,
            allow: allow(&fields)?,
            check: text("check")?,
            max_iterations: fields.count("max_iterations")?,
            budget: budget(&fields)?,
            scenario: text("scenario")?.map(PathBuf::from),
        };
        Ok(Self { run: selector(&fields)?, mode: fields.mode()?, decisions, change })
    }
}

impl TryFrom<RequestFields> for RunDiscardRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&["id", "force", "workingDirectory"])?;
        let scope = match fields.flag("force")? {
            true => DiscardScope::Everything,
            false => DiscardScope::NothingOfValue,
        };
        Ok(Self { run: needed_selector(&fields)?, scope })
    }
}

impl TryFrom<RequestFields> for RunRequest {
    type Error = Refusal;

    fn try_from(fields: RequestFields) -> Result<Self, Refusal> {
        fields.only(&[
            "mode",
            "task",
            "agent",
            "model",
            "allow",
            "check",
            "goal",
            "command",
            "verify",
            "max_iterations",
            "budget_tokens",
            "budget_usd",
            "budget_time",
            "in_place",
            "dirty",
            "base",
            "preset",
            "stages",
            "scenario",
            "workingDirectory",
        ])?;
        let mode = fields.needed_mode()?;
        let text = |name: &str| Ok::<_, Refusal>(fields.text(name)?.map(str::to_owned));
        let verification = fields.text("verify")?.map(|word| match word {
            "light" => Ok(VerificationLevel::Light),
            "standard" => Ok(VerificationLevel::Standard),
            "thorough" => Ok(VerificationLevel::Thorough),
            _ => Err(one_of("verify", "light, standard, thorough")),
        });
        let workspace = match (fields.flag("in_place")?, fields.flag("dirty")?) {
            (false, false) => WorkspaceChoice::Worktree,
            (true, false) => WorkspaceChoice::InPlace,
            (true, true) => WorkspaceChoice::InPlaceDirty,
            (false, true) => return Err(Refusal::invalid_input("dirty needs in_place")),
        };
        let goal = match (fields.text("goal")?, text("command")?) {
            (None | Some("tests"), None) => CheckGoal::Project,
            (Some("build"), None) => CheckGoal::Build,
            (Some("lint"), None) => CheckGoal::Lint,
            (Some("typecheck"), None) => CheckGoal::Types,
            (Some(_), None) => return Err(one_of("goal", "tests, build, lint, typecheck")),
            (None, Some(command)) => CheckGoal::Command(command),
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid_input("give either goal or command"));
            }
        };
        let task = match (text("task")?, mode) {
            (None, Mode::CodeReview) => Some("Review the change.".to_owned()),
            (None, Mode::Ultraqa) => Some(goal.describe()),
            (task, _) => task,
        };
        let stages = match (mode, fields.text("stages")?) {
            (Mode::Pipeline, Some(file)) => read_stages(&PathBuf::from(file))?,
            (Mode::Pipeline, None) => preset_stages(fields.text("preset")?)?,
            _ => Vec::new(),
        };
        Ok(Self {
            project: fields.project()?,
            task,
            agent: agent(&fields)?,
            model: text("model")?,
            allow: allow(&fields)?,
            goal,
            check: text("check")?,
            verification: verification.transpose()?,
            max_iterations: fields.count("max_iterations")?,
            budget: budget(&fields)?,
            workspace,
            stages,
            base: text("base")?,
            scenario: text("scenario")?.map(PathBuf::from),
            ..Self::new(mode)
        })
    }
}

fn agent(fields: &RequestFields) -> Result<Option<AgentKind>, Refusal> {
    let Some(name) = fields.text("agent")? else { return Ok(None) };
    let names: Vec<&str> = AgentKind::ALL.iter().map(|kind| kind.as_str()).collect();
    AgentKind::parse(name).map(Some).ok_or_else(|| one_of("agent", &names.join(", ")))
}

fn allow(fields: &RequestFields) -> Result<Option<AllowLevel>, Refusal> {
    let Some(word) = fields.text("allow")? else { return Ok(None) };
    AllowLevel::parse(word).map(Some).ok_or_else(|| one_of("allow", "edits, commands, all"))
}

fn one_of(name: &str, words: &str) -> Refusal {
    Refusal::invalid_input(format!("{name} is one of {words}"))
}

fn selector(fields: &RequestFields) -> Result<RunSelector, Refusal> {
    let id = fields.text("id")?.map(str::to_owned);
    Ok(RunSelector { id, project: fields.project()? })
}

/// A selector that must name a run, for operations that must not hit the latest run by accident.
fn needed_selector(fields: &RequestFields) -> Result<RunSelector, Refusal> {
    needed(fields, "id")?;
    selector(fields)
}

fn needed<'a>(fields: &'a RequestFields, name: &str) -> Result<&'a str, Refusal> {
    let text = fields.text(name)?.filter(|text| !text.is_empty());
    text.ok_or_else(|| Refusal::invalid_input(format!("{name} is missing")))
}

fn budget(fields: &RequestFields) -> Result<Budget, Refusal> {
    let usd = match fields.get("budget_usd") {
        Some(value) if value.as_str().is_none() && !value.is_null() => {
            Some(parse_usd(value.as_json())?)
        }
        _ => fields.text("budget_usd")?.map(parse_usd).transpose()?,
    };
    Ok(Budget {
        tokens: fields.count("budget_tokens")?,
        micro_usd: usd,
        seconds: fields.text("budget_time")?.map(parse_span).transpose()?,
    })
}
