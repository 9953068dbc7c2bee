//! What the threads of one connection share.
//!
//! At any time at most one thread, the leader, reads the input. It runs quick calls
//! itself, so they cost no switch of threads and finish in the order in which they
//! came. Before a call waits, the leader passes the input on to another thread and
//! becomes an ordinary worker until the call is done.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::call::{ActiveCall, ToolCall};
use crate::rpc::RequestId;
use crate::server::McpServer;

/// The most calls of waiting tools that run at once; more wait for their turn.
const MAX_WAITING_CALLS: usize = 8;

/// The most threads that run calls. Quick tools that find the project locked may
/// use those that waiting tools leave free.
const MAX_CALL_THREADS: usize = 16;

/// How long calls may take to finish after the client has closed the input.
const CLOSE_GRACE: Duration = Duration::from_secs(10);

/// A call that waits for its turn.
pub(crate) struct QueuedCall {
    pub active: Arc<ActiveCall>,
    pub call: ToolCall,
}

/// What a thread does next.
pub(crate) enum ServerTask<R> {
    /// Read the input.
    Lead(BufReader<R>),
    /// Run a call.
    Run(QueuedCall),
    /// Nothing: the connection is closed.
    End,
}

/// When a line that was written reaches the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// At once.
    Now,
    /// With the response to the next request, which has arrived already.
    Later,
}

struct SessionState<R> {
    /// The input, while nobody reads it.
    input: Option<BufReader<R>>,
    /// Why the connection ended, if it has.
    end: Option<io::Result<()>>,
    /// Threads without a job.
    idle: usize,
    /// Idle threads that were woken for a job and have not looked for it yet.
    woken: usize,
    /// Calls that run on a thread that does not lead.
    running: Vec<Arc<ActiveCall>>,
    /// Calls that wait for their turn.
    queue: VecDeque<QueuedCall>,
}

/// One connection.
pub(crate) struct Session<'a, R, W> {
    pub server: &'a McpServer<'a>,
    state: Mutex<SessionState<R>>,
    changed: Condvar,
    output: Mutex<W>,
    /// Set when calls must stop because the client is gone.
    is_abandoned: AtomicBool,
}

impl<'a, R, W: Write> Session<'a, R, W> {
    pub fn new(server: &'a McpServer<'a>, input: BufReader<R>, output: W) -> Self {
        Self {
            server,
            state: Mutex::new(SessionState {
                input: Some(input),
                end: None,
                idle: 0,
                woken: 0,
                running: Vec::new(),
                queue: VecDeque::new(),
            }),
            changed: Condvar::new(),
            output: Mutex::new(output),
            is_abandoned: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, SessionState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job of the calling thread.
    pub fn next_task(&self) -> ServerTask<R> {
        let mut state = self.state();
        loop {
            if state.end.is_none()
                && let Some(input) = state.input.take()
            {
                return ServerTask::Lead(input);
            }
            if state.running.len() < MAX_WAITING_CALLS
                && let Some(queued) = state.queue.pop_front()
            {
                state.running.push(Arc::clone(&queued.active));
                return ServerTask::Run(queued);
            }
            if state.end.is_some() {
                return ServerTask::End;
            }
            state.idle += 1;
            while state.woken == 0 && state.end.is_none() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.woken > 0 {
                state.woken -= 1;
            } else {
                state.idle -= 1;
            }
        }
    }

    /// Passes the input on before this call waits: to an idle thread, or to a new
    /// one, which `spawn` starts. Gives the input back where no thread is left, so
    /// that the caller stays the leader.
    pub fn pass_on(
        &self,
        input: BufReader<R>,
        call: &Arc<ActiveCall>,
        spawn: impl FnOnce() -> io::Result<()>,
    ) -> Option<BufReader<R>> {
        let mut state = self.state();
        if state.running.len() >= MAX_CALL_THREADS {
            return Some(input);
        }
        state.running.push(Arc::clone(call));
        state.input = Some(input);
        if state.idle > 0 {
            state.idle -= 1;
            state.woken += 1;
            drop(state);
            self.changed.notify_all();
            return None;
        }
        drop(state);
        if spawn().is_ok() {
            return None;
        }
        let mut state = self.state();
        let input = state.input.take();
        if input.is_some() {
            state.running.retain(|running| !Arc::ptr_eq(running, call));
        }
        input
    }

    /// Whether a call of a waiting tool can start now.
    pub fn has_room(&self) -> bool {
        self.state().running.len() < MAX_WAITING_CALLS
    }

    /// Queues a call until one that runs has finished.
    pub fn enqueue(&self, queued: QueuedCall) {
        self.state().queue.push_back(queued);
    }

    /// Removes a call that has finished.
    pub fn finish(&self, call: &Arc<ActiveCall>) {
        let mut state = self.state();
        state.running.retain(|running| !Arc::ptr_eq(running, call));
        let is_last = state.running.is_empty();
        drop(state);
        if is_last {
            self.changed.notify_all();
        }
    }

    /// Cancels a call; nothing happens if it has finished or never existed.
    pub fn cancel(&self, id: &RequestId) {
        let mut state = self.state();
        state.queue.retain(|queued| !queued.active.has_id(id));
        for call in state.running.iter().filter(|call| call.has_id(id)) {
            call.cancel();
        }
    }

    /// Whether calls must stop because the client is gone.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::SeqCst)
    }

    /// Writes one line. Nothing is ever written between its bytes.
    pub fn write(&self, line: &str, flush: Flush) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written = output.write_all(line.as_bytes());
        if flush == Flush::Now {
            written = written.and_then(|()| output.flush());
        }
        drop(output);
        if let Err(error) = written {
            self.is_abandoned.store(true, Ordering::SeqCst);
            self.end(Err(error));
        }
    }

    /// Whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.state().end.is_some()
    }

    /// Ends the connection: idle threads return. The first reason stays.
    pub fn end(&self, reason: io::Result<()>) {
        self.state().end.get_or_insert(reason);
        self.changed.notify_all();
    }

    /// Waits until the calls that still run have finished, and tells them to stop
    /// when that takes too long.
    pub fn drain(&self) {
        let deadline = Instant::now() + CLOSE_GRACE;
        let mut state = self.state();
        while !state.running.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.is_abandoned.store(true, Ordering::SeqCst);
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The result of the connection.
    pub fn into_result(self) -> io::Result<()> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut output = self.output.into_inner().unwrap_or_else(PoisonError::into_inner);
        let flushed = output.flush();
        state.end.unwrap_or(Ok(())).and(flushed)
    }
}
