//! Jobs: what omx does itself for a step, each in its own thread.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use omx_agents::agent::ConversationId;
use omx_agents::environment::agent_environment;
use omx_agents::{AgentKind, ConversationRecord};
use omx_kernel::approval::AllowLevel;
use omx_kernel::confinement::WorkspaceAccess;
use omx_kernel::{Refusal, RefusalCode};
use omx_rehearsal::driver;
use omx_runs::git::{GitError, StepCommit};
use omx_runs::progress::Progress;
use omx_runs::{RunRepository, StepEdits, StepKey, Workspace, WorkspaceState};
use omx_store::runs::StepLogName;
use omx_store::{ArtifactFolder, Store};
use serde_json::Value;

use super::project::ProjectWorld;
use super::world::WorldEvent;
use crate::check::CheckRun;
use crate::engine::{Inspection, Job, JobFailure, JobResult};
use crate::sandbox::CheckSandbox;
use crate::workflow::{CheckResult, KeptPlan, Seat};

type Work = Box<dyn FnOnce(&AtomicBool) -> Result<JobResult, JobFailure> + Send>;

impl<Show: FnMut(&Progress)> ProjectWorld<'_, Show> {
    pub(super) fn spawn_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure> {
        let (name, work) = match job {
            Job::Check { command } => ("check", self.check(step, command)?),
            Job::KeepPlan { plan } => ("plan", self.keep_plan(plan)),
            Job::Commit { edits } => ("commit", self.commit(edits)),
            Job::Inspect { agent, conversation, message, access } => {
                ("inspection", self.inspect(agent, conversation, message, access))
            }
        };
        let stop = Arc::new(AtomicBool::new(false));
        self.jobs.insert(step.clone(), Arc::clone(&stop));
        let (mailbox, step) = (self.mailbox.clone(), step.clone());
        let run = move || mailbox.send(WorldEvent::JobDone(step, work(&stop)));
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        thread.map(drop).map_err(|error| {
            JobFailure::Failed(format!("cannot start a thread for the {name}: {error}"))
        })
    }

    /// Runs the project's check in the workspace of the run.
    fn check(&self, step: &StepKey, command: String) -> Result<Work, JobFailure> {
        let agents = &self.env.agents;
        // The mark differs from that of every other process of the run.
        let (mark, session) = (agents.worker_variable.clone(), &self.session);
        let mut environment = agent_environment(agents, &[], &[], &format!("{session}.{step}"));
        let log = self.held.folder().open_step_log(&StepLogName::new(step.as_str()));
        let log = log.map_err(|error| JobFailure::Failed(error.to_string()))?;
        let limit = Duration::from_secs(self.spec.limits.check_time_s);
        let (folder, omx) = (self.spec.workspace.folder().to_owned(), agents.omx.clone());
        // It executes what the agents wrote, so it may do no more than they may.
        let allow = Seat::from_spec(&self.spec).map_err(|why| JobFailure::Failed(why.message))?;
        let git = self.repository.iter().flat_map(RunRepository::agent_writable_paths);
        let git: Vec<_> = git.collect();
        let CheckSandbox { confinement, variables } =
            self.env.sandbox.of_check(allow.allow, &self.top(), &git);
        environment.extend(variables);
        // Commit hooks execute what the agents wrote, so they need the same permission.
        let may_run_hooks = self.spec.allow != AllowLevel::Edits.as_str();
        let repository = self.repository.clone().filter(|_| may_run_hooks);
        Ok(Box::new(move |stop| {
            let hook = repository.map(|repository| repository.hook_command()).transpose();
            let hook = hook.map_err(|error| JobFailure::Failed(error.to_string()))?.flatten();
            let with_hook = match hook {
                Some(hook) => format!("(\n{command}\n) || exit $?\n{hook}"),
                None => command.clone(),
            };
            let check = CheckRun {
                command: &with_hook,
                folder: &folder,
                environment,
                confinement,
                log,
                mark: &mark,
                omx: &omx,
                patience: limit,
            };
            let result = check.run(stop)?;
            Ok(JobResult::Checked(CheckResult { command, ..result }))
        }))
    }

    /// Writes a plan to the project, where people find it.
    fn keep_plan(&self, plan: Value) -> Work {
        let (store, slug) = (self.env.store.clone(), self.spec.slug.clone());
        let patience = self.env.context.lock_deadline;
        Box::new(move |_| match put_plan(&store, patience, &slug, &plan) {
            Ok(kept) => Ok(JobResult::PlanKept(kept)),
            Err(refusal) if refusal.code == RefusalCode::Busy => {
                Err(JobFailure::Busy(refusal.message))
            }
            Err(refusal) => Err(JobFailure::Failed(refusal.message)),
        })
    }

    /// Finds out what became of a step's task.
    fn inspect(
        &self,
        agent: AgentKind,
        conversation: Option<ConversationId>,
        message: String,
        access: WorkspaceAccess,
    ) -> Work {
        let (env, repository) = (self.env.agents.clone(), self.repository.clone());
        Box::new(move |_| {
            let record = conversation.map_or(ConversationRecord::Unknown, |conversation| {
                driver(agent).find_message(&env, &conversation, &message)
            });
            let workspace = match (access, repository) {
                // Whatever is wrong with the repository is reported when an agent gets it.
                (WorkspaceAccess::ReadWrite, Some(repository)) => {
                    repository.workspace_state().unwrap_or(WorkspaceState::MayHaveChanged)
                }
                (WorkspaceAccess::ReadOnly, _) | (_, None) => WorkspaceState::NotCompared,
            };
            Ok(JobResult::Inspected(Inspection { record, workspace }))
        })
    }

    /// Takes care of the step's changes, and hashes the workspace's content.
    fn commit(&self, edits: StepEdits) -> Work {
        let (repository, watch) = (self.repository.clone(), self.watch.clone());
        let workspace = self.spec.workspace.clone();
        Box::new(move |_| {
            let work = || {
                if let (Some(repository), Workspace::InPlace { .. }) = (&repository, &workspace) {
                    // Before git is called in a repository that the agent may have changed.
                    repository.check_unchanged()?;
                }
                let note = watch.map(|watch| watch.check()).transpose()?.flatten();
                let mut committed = match repository {
                    Some(repository) => repository.commit_step(&edits)?,
                    None => StepCommit::default(),
                };
                committed.notes.extend(note);
                Ok(JobResult::Committed(committed))
            };
            work().map_err(|error: GitError| JobFailure::Failed(error.to_string()))
        })
    }
}

fn put_plan(
    store: &Store,
    patience: Duration,
    slug: &str,
    plan: &Value,
) -> Result<KeptPlan, Refusal> {
    let locked = store.lock(patience, "plan")?;
    let put = |prefix: &str, field: &str| {
        let text = plan.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{prefix}-{slug}");
        let path = locked.write_artifact(ArtifactFolder::Plans, &name, "md", text)?;
        let excerpt = path.strip_prefix(store.root()).unwrap_or(&path);
        Ok::<_, Refusal>(excerpt.display().to_string())
    };
    Ok(KeptPlan {
        plan_path: put("prd", "plan_markdown")?,
        test_spec_path: put("test-spec", "test_spec_markdown")?,
    })
}
