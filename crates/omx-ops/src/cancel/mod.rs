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
pub use request::{CancelBreadth, CancelOptions, CancelRequest, RunProcesses};
pub use scope::sessions_with_active_modes;
pub(crate) use settle::settle_cancel;
