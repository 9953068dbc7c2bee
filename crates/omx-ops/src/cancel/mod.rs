//! Cancel: the request, the operation, the report.

mod documents;
mod force;
mod operation;
mod report;
mod request;
mod runs;
mod scope;

pub use operation::cancel;
pub use report::CancelReport;
pub use request::{CancelBreadth, CancelOptions, CancelRequest, RunProcesses};
pub use scope::sessions_with_active_modes;
