//! Cancel: the request, the operation, the report.

mod documents;
mod force;
mod operation;
mod report;
mod request;
mod runs;
mod scope;
mod settle;

pub use operation::cancel;
pub use report::{CancelReport, UnrecordedCancel};
pub use request::{CancelBreadth, CancelOptions, CancelRequest, RunProcesses, SessionOrigin};
pub(crate) use scope::active_sessions;
pub use scope::sessions_to_choose_from;
pub(crate) use settle::settle_cancel;
