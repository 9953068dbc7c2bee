//! Tool calls: as parsed, and as they run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use omx_kernel::Value;
use omx_ops::CallProgress;

use crate::rpc::{self, RequestId};
use crate::tools::McpTool;

/// The parsed parameters of `tools/call`.
pub(crate) struct ToolCall {
    /// The tool.
    pub tool: &'static McpTool,
    /// Its arguments as JSON text.
    pub arguments: String,
    /// The client's token for progress notifications, as JSON text.
    pub progress_token: Option<String>,
}

/// A call the client has sent and not received a response to.
#[derive(Debug)]
pub(crate) struct ActiveCall {
    /// The id as the client wrote it.
    pub id: String,
    progress_token: Option<String>,
    is_cancelled: AtomicBool,
    /// One more than the last progress that was reported.
    next_progress: AtomicU64,
}

impl ActiveCall {
    pub fn new(id: &str, call: &ToolCall) -> Self {
        Self {
            id: id.to_owned(),
            progress_token: call.progress_token.clone(),
            is_cancelled: AtomicBool::new(false),
            next_progress: AtomicU64::new(0),
        }
    }

    /// Whether this is the call with that id.
    pub fn has_id(&self, id: &RequestId) -> bool {
        RequestId::parse(&self.id).as_ref() == Some(id)
    }

    /// Marks the call as cancelled by the client: it gets no response.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Whether the client has cancelled the call.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }

    /// The notification for a report of progress; `None` if the client did not ask
    /// for progress, cancelled the call, or was told as much before.
    pub fn progress_notification(&self, progress: CallProgress<'_>) -> Option<String> {
        let token = self.progress_token.as_ref().filter(|_| !self.is_cancelled())?;
        // The protocol wants every notification to report more than the one before.
        let next = progress.done.saturating_add(1);
        if self.next_progress.fetch_max(next, Ordering::SeqCst) >= next {
            return None;
        }
        let mut fields = vec![
            ("progressToken".to_owned(), omx_store::json::parse_valid(token)),
            ("progress".to_owned(), Value::integer(progress.done)),
        ];
        fields.extend(progress.total.map(|total| ("total".to_owned(), Value::integer(total))));
        if !progress.message.is_empty() {
            fields.push(("message".to_owned(), Value::string(progress.message)));
        }
        Some(rpc::format_notification("notifications/progress", &Value::object(fields)))
    }
}
