//! Steps omx does itself: checks, plans, looks at the folder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use omx_agents::environment::agent_environment;
use omx_kernel::{Refusal, RefusalCode};
use omx_store::ArtifactFolder;
use serde_json::Value;

use super::Drive;
use crate::check::{self, CheckRun};
use crate::engine::Happening;
use crate::story::{KeptPlan, StepKey};
use omx_runs::git::BranchName;
use omx_runs::progress::Progress;
use omx_runs::workspace;

/// Ends a check that runs.
pub(super) type StopCheck = Arc<AtomicBool>;

impl<Show: FnMut(&Progress)> Drive<'_, Show> {
    /// Puts a plan where people find it.
    pub(super) fn keep(&mut self, step: StepKey, plan: &Value) {
        let kept = self.put_plan(plan).map_err(|refusal| refusal.message);
        self.teller()(Happening::Kept(step, kept));
    }

    /// Runs the project's check, unless the run was cancelled meanwhile.
    pub(super) fn check(&mut self, step: StepKey, command: String) -> Result<(), Refusal> {
        let tell = self.teller();
        if self.is_cancelled() {
            tell(Happening::Cancelled);
            tell(Happening::Checked(step, Err("cancelled".to_owned())));
            return Ok(());
        }
        let stop = StopCheck::default();
        self.checks.insert(step.clone(), Arc::clone(&stop));
        let surroundings = &self.crew.surroundings;
        let environment = agent_environment(surroundings, &[], &[], self.session.as_str());
        let log = self.held.folder().path().join("output").join(format!("{step}.log"));
        let (folder, omx) = (self.folder.clone(), surroundings.omx.clone());
        let run = move || {
            let check = CheckRun {
                command: &command,
                folder: &folder,
                environment,
                log,
                omx: &omx,
                patience: check::PATIENCE,
            };
            let result = check.run(&stop);
            tell(Happening::Checked(step, result));
        };
        spawn("check", run)
    }

    pub(super) fn stop_check(&mut self, step: &StepKey) {
        if let Some(stop) = self.checks.get(step) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// Commits what the step changed, where the branch is ours, and takes the
    /// hash of the folder.
    pub(super) fn settle(&mut self, step: StepKey) -> Result<(), Refusal> {
        let message = self.engine.commit_message(&step);
        let scratch = self.held.folder().scratch()?;
        let git = workspace::git(&self.crew.surroundings.variables, scratch);
        let branch = BranchName::of_run(&self.crew.context.dialect, self.held.id());
        let (ground, tell) = (self.asked.workspace.clone(), self.teller());
        spawn("settle", move || {
            let tree = workspace::commit_step(&git, &ground, &branch, message.as_deref());
            tell(Happening::Settled(step, tree.map_err(|error| error.to_string())));
        })
    }

    fn put_plan(&self, plan: &Value) -> Result<KeptPlan, Refusal> {
        let (context, store) = (self.crew.context, self.crew.store);
        let locked = store.lock(context.lock_deadline, "plan")?;
        let slug = &self.asked.slug;
        let put = |prefix: &str, field: &str| {
            let text = plan.get(field).and_then(Value::as_str).unwrap_or_default();
            let path = locked.write_artifact(
                ArtifactFolder::Plans,
                &format!("{prefix}-{slug}"),
                "md",
                text,
            )?;
            let shown = path.strip_prefix(store.root()).unwrap_or(&path);
            Ok::<_, Refusal>(shown.display().to_string())
        };
        Ok(KeptPlan {
            plan_path: put("prd", "plan_markdown")?,
            test_spec_path: put("test-spec", "test_spec_markdown")?,
        })
    }
}

/// Does something beside the loop.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread
        .map(drop)
        .map_err(|error| Refusal::new(RefusalCode::Io, format!("no thread for a {name}: {error}")))
}
