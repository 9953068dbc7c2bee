//! The threads that read requests and run calls.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use omx_ops::{CallProgress, Caller, Context};
use omx_store::json;

use crate::call::{ActiveCall, ToolCall};
use crate::rpc::{self, RequestId, RpcError, RpcErrorCode, RpcMessage};
use crate::server::{McpServer, format_response, run_tool};
use crate::session::{Flush, QueuedCall, ServerTask, Session};
use crate::tools::ToolScheduling;

/// A longer line is discarded and refused; no request needs as much.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// Serves until the input ends and the calls that run then have finished.
pub fn serve<R: Read + Send, W: Write + Send>(
    server: &McpServer<'_>,
    input: BufReader<R>,
    output: W,
) -> io::Result<()> {
    let session = Session::new(server, input, output);
    std::thread::scope(|scope| Worker::new(scope, &session).work());
    session.into_result()
}

/// One thread of a connection. It is the caller of the operations it runs.
struct Worker<'scope, 'env, R, W> {
    scope: &'scope Scope<'scope, 'env>,
    session: &'env Session<'env, R, W>,
    /// The call that runs on this thread.
    current: Mutex<CurrentCall<R>>,
}

struct CurrentCall<R> {
    call: Option<Arc<ActiveCall>>,
    /// The input, while this thread leads.
    input: Option<BufReader<R>>,
}

impl<'scope, 'env, R: Read + Send, W: Write + Send> Worker<'scope, 'env, R, W> {
    fn new(scope: &'scope Scope<'scope, 'env>, session: &'env Session<'env, R, W>) -> Self {
        Self { scope, session, current: Mutex::new(CurrentCall { call: None, input: None }) }
    }

    fn current(&self) -> MutexGuard<'_, CurrentCall<R>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let context: Context<'_> = self.session.server.context.clone();
        let context = Context { caller: self, ..context };
        let mut line = Vec::new();
        loop {
            match self.session.next_task() {
                ServerTask::Lead(input) => self.lead(input, &context, &mut line),
                ServerTask::Run(queued) => {
                    self.current().call = Some(Arc::clone(&queued.active));
                    let result = run_tool(&queued.call, &context);
                    self.respond(&queued.active, &rpc::format_result(&queued.active.id, &result));
                }
                ServerTask::End => return,
            }
        }
    }

    /// Reads and answers lines until the input ends or is passed on.
    fn lead(&self, input: BufReader<R>, context: &Context<'_>, line: &mut Vec<u8>) {
        let mut leading = Some(input);
        while let Some(mut input) = leading.take() {
            match read_line(&mut input, line) {
                Ok(ReadLine::End) => {
                    self.session.end(Ok(()));
                    return self.session.drain();
                }
                Ok(ReadLine::Whole) => leading = self.answer(line.trim_ascii(), input, context),
                Ok(ReadLine::TooLong) => {
                    let message = format!("the message is longer than {MAX_LINE_BYTES} bytes");
                    let error = RpcError::new(RpcErrorCode::InvalidRequest, message);
                    self.session.write(&rpc::format_error("null", &error), flush_for(&input));
                    leading = Some(input);
                }
                Err(error) => return self.session.end(Err(error)),
            }
            if self.session.has_ended() {
                return;
            }
        }
    }

    /// Answers one line; gives the input back unless it was passed on.
    fn answer(
        &self,
        line: &[u8],
        input: BufReader<R>,
        context: &Context<'_>,
    ) -> Option<BufReader<R>> {
        if line.is_empty() {
            return Some(input);
        }
        let response = match rpc::parse_message(line) {
            Ok(RpcMessage::Request { id, method, params }) if method == "tools/call" => {
                match self.session.server.parse_call(params) {
                    Ok(call) => return self.call(id, call, input, context),
                    Err(error) => rpc::format_error(id, &error),
                }
            }
            Ok(RpcMessage::Request { id, method, params }) => {
                format_response(id, self.session.server.answer_method(&method, params))
            }
            Ok(RpcMessage::Notification { method, params }) => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.and_then(cancelled_id)
                {
                    self.session.cancel(&id);
                }
                String::new()
            }
            Ok(RpcMessage::Response) => String::new(),
            Err(invalid) => rpc::format_error(&invalid.id, &invalid.error),
        };
        self.session.write(&response, flush_for(&input));
        Some(input)
    }

    /// Runs or queues a call; gives the input back unless it was passed on.
    fn call(
        &self,
        id: &str,
        call: ToolCall,
        input: BufReader<R>,
        context: &Context<'_>,
    ) -> Option<BufReader<R>> {
        let active = Arc::new(ActiveCall::new(id, &call));
        let waits = call.tool.pace == ToolScheduling::Waits;
        if waits && !self.session.has_room() {
            self.session.enqueue(QueuedCall { active, call });
            return Some(input);
        }
        *self.current() = CurrentCall { call: Some(Arc::clone(&active)), input: Some(input) };
        if waits {
            self.before_wait();
        }
        let result = run_tool(&call, context);
        let response = rpc::format_result(id, &result);
        match self.current().input.take() {
            Some(input) => {
                self.session.write(&response, flush_for(&input));
                Some(input)
            }
            None => {
                self.respond(&active, &response);
                None
            }
        }
    }

    /// Responds to a call that ran beside the leader.
    fn respond(&self, call: &Arc<ActiveCall>, response: &str) {
        if !call.is_cancelled() {
            self.session.write(response, Flush::Now);
        }
        self.session.finish(call);
    }

    fn spawn_worker(&self) -> io::Result<()> {
        let (scope, session) = (self.scope, self.session);
        Builder::new()
            .name("mcp".to_owned())
            .spawn_scoped(scope, move || Worker::new(scope, session).work())
            .map(drop)
    }
}

impl<R: Read + Send, W: Write + Send> Caller for Worker<'_, '_, R, W> {
    fn is_cancelled(&self) -> bool {
        let is_cancelled = self.current().call.as_ref().is_some_and(|call| call.is_cancelled());
        is_cancelled || self.session.is_abandoned()
    }

    /// Lets another thread lead while this one waits.
    fn before_wait(&self) {
        let mut current = self.current();
        if let (Some(call), Some(input)) = (current.call.clone(), current.input.take()) {
            // Responses to earlier requests must not wait with this one.
            self.session.write("", Flush::Now);
            current.input = self.session.pass_on(input, &call, || self.spawn_worker());
        }
    }

    fn report_progress(&self, progress: CallProgress<'_>) {
        let call = self.current().call.clone();
        if let Some(line) = call.and_then(|call| call.progress_notification(progress)) {
            self.session.write(&line, Flush::Now);
        }
    }
}

/// What was read.
enum ReadLine {
    Whole,
    TooLong,
    End,
}

fn read_line(input: &mut BufReader<impl Read>, line: &mut Vec<u8>) -> io::Result<ReadLine> {
    line.clear();
    let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(ReadLine::End);
    }
    if line.last() == Some(&b'\n') || (read as u64) < MAX_LINE_BYTES {
        return Ok(ReadLine::Whole);
    }
    input.skip_until(b'\n')?;
    Ok(ReadLine::TooLong)
}

/// Requests that came together are answered together.
fn flush_for<R: Read>(input: &BufReader<R>) -> Flush {
    if input.buffer().contains(&b'\n') { Flush::Later } else { Flush::Now }
}

/// The request that `notifications/cancelled` names.
fn cancelled_id(params: &str) -> Option<RequestId> {
    let fields = json::parse_object(params, |_| false).ok()?;
    let (_, id) = fields.into_iter().rev().find(|(name, _)| name == "requestId")?;
    RequestId::parse(id.as_json())
}
