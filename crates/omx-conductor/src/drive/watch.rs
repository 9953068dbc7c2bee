//! Decides whether a run watches the person's checkout.

use std::sync::Arc;

use omx_kernel::checkout_state::{WorkPlace, checkout_rule};
use omx_kernel::confinement::WorkspaceAccess;
use omx_kernel::{Mode, Refusal};
use omx_runs::git::StateFiles;
use omx_runs::{CheckoutWatch, ProjectEnv, RunSpec, Workspace};
use omx_store::runs::RunFolder;

use super::project::RunEnv;
use crate::workflow::Seat;

/// Starts to watch the checkout if an agent or the check of the run can reach it.
pub(super) fn start(
    env: &RunEnv<'_>,
    spec: &RunSpec,
    project: &ProjectEnv<'_>,
    folder: &RunFolder,
) -> Result<Option<Arc<CheckoutWatch>>, Refusal> {
    let (seat, setup) = (Seat::from_spec(spec)?, env.sandbox.setup());
    let reads_only = spec.mode == Mode::CodeReview;
    let access = if reads_only { WorkspaceAccess::ReadOnly } else { WorkspaceAccess::ReadWrite };
    let mut confined = vec![setup.confined_by(seat.agent, seat.allow, access)];
    if !reads_only {
        confined.push(setup.check_confined_by(seat.allow));
    }
    let (place, files) = match spec.workspace {
        Workspace::InPlace { .. } if !reads_only => (WorkPlace::Checkout, StateFiles::Left),
        _ => (WorkPlace::Worktree, StateFiles::Included),
    };
    let rule = checkout_rule(&confined, place);
    Ok(CheckoutWatch::start(project, folder, rule, files)?.map(Arc::new))
}
