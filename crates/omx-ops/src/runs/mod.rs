//! Operations on runs: start, show, answer, limit, resume, integrate, discard, clean
//! up. The conductor drives a run, in another process or in the caller's own.

mod answer;
mod attach;
mod budget;
mod change;
mod discard;
mod find;
mod gc;
mod goal;
mod integrate;
mod launcher;
mod limit;
mod list;
mod live;
mod ownership;
mod request;
mod resume;
mod select;
mod show;
mod stages;
mod start;

pub use answer::{RunAnswerReport, RunAnswerRequest, run_answer};
pub use attach::run_attach;
pub use budget::{parse_span, parse_usd};
pub use change::{RunChange, record_change};
pub use discard::{RunDiscardReport, RunDiscardRequest, run_discard};
pub use find::{find_resumable, find_run, find_unfinished};
pub use gc::{GcReport, lost_runs, run_gc};
pub use goal::CheckGoal;
pub use integrate::{FailedCheckPolicy, RunIntegrateReport, RunIntegrateRequest, run_integrate};
pub use launcher::{NoLauncher, RunLauncher};
pub use limit::{LimitEffect, RunLimitReport, RunLimitRequest, run_limit};
pub use list::{RunListReport, RunListRequest, run_list, run_list_as};
pub use live::{LiveRunsReport, run_list_live};
pub(crate) use ownership::is_own;
pub use ownership::{ForeignRun, require_own, run_adopt, run_to_adopt};
pub use resume::{RunResumeRequest, find_complete, run_resume};
pub(crate) use select::refuse_to_agents;
pub use select::{RunSelector, run_cancel};
pub use show::{RunOwnership, RunReport, RunStatusReport, absent_value, run_show, run_status};
pub use stages::{parse_stages, preset_stages, read_stages};
pub use start::{
    DRIVEN_MODES, NewRun, RunRequest, RunStartReport, open_run, register_run, run_start,
};
