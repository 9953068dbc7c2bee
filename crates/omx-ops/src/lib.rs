//! One function for each thing omx can do.
//!
//! Every operation works the same way: take the lock if something may change, read a
//! snapshot, let a rule of the kernel decide, carry out the decision, log it. The
//! command line, MCP, hooks and views call operations and nothing below them.

mod caller;
mod cancel;
mod clear;
mod clock;
pub mod config;
mod context;
mod facts;
mod fields;
pub mod hook;
mod limit;
mod list;
mod report;
mod request;
mod runs;
mod status;
mod write;

pub use caller::{CallProgress, Caller, UncancelledCaller};
pub use cancel::{
    CancelBreadth, CancelOptions, CancelReport, CancelRequest, RunProcesses, SessionOrigin,
    UnrecordedCancel, cancel, sessions_to_choose_from,
};
pub use clear::state_clear;
pub use clock::{Clock, SystemClock};
pub use context::{Ambient, Context, LOCK_DEADLINE, Place};
pub use fields::{RequestFields, parse_fields};
pub use limit::{LimitReport, LimitRequest, ModeLimitReport, limit};
pub use list::{state_get_status, state_list_active, state_read};
pub use report::{MISNAMED, error_object};
pub use request::{
    ClearSessions, StateClearRequest, StateListRequest, StateReadRequest, StateStatusRequest,
    StateWriteRequest, StatusRequest,
};
pub use runs::{
    CheckGoal, DRIVEN_MODES, FailedCheckPolicy, GcReport, LimitEffect, LiveRunsReport, NewRun,
    NoLauncher, RunAnswerReport, RunAnswerRequest, RunChange, RunDiscardReport, RunDiscardRequest,
    RunIntegrateReport, RunIntegrateRequest, RunLauncher, RunLimitReport, RunLimitRequest,
    RunListReport, RunListRequest, RunOwnership, RunReport, RunRequest, RunResumeRequest,
    RunSelector, RunStartReport, RunStatusReport, find_complete, find_resumable, find_run,
    find_unfinished, lost_runs, open_run, parse_span, parse_stages, parse_usd, preset_stages,
    read_stages, record_change, register_run, run_answer, run_attach, run_cancel, run_discard,
    run_gc, run_integrate, run_limit, run_list, run_list_as, run_list_live, run_resume, run_show,
    run_start, run_status,
};
pub use runs::{ForeignRun, absent_value, require_own, run_adopt, run_to_adopt};
pub use status::{ActiveMode, StatusReport, WaitingMode, status};
pub use write::state_write;
