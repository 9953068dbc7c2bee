//! Watches what the person does to a run from outside: cancels and answers.
//!
//! A separate thread polls several times a second, so that neither an agent's reports
//! nor a busy loop can delay a cancel.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use omx_agents::agent::ApprovalDecision;
use omx_kernel::{Mode, Refusal, RefusalCode, SessionId};
use omx_runs::attention::{self, AttentionAnswer};
use omx_store::Store;

use super::documents::read_status;
use super::mailbox::Mailbox;
use super::world::{ControlEvent, ObservedDocument};

/// The poll interval.
const INTERVAL: Duration = Duration::from_millis(100);

/// The watching thread. Dropping this ends it.
#[derive(Debug)]
pub(super) struct ControlWatch {
    _stop: Sender<()>,
}

impl ControlWatch {
    pub(super) fn start(
        mailbox: Mailbox,
        store: Store,
        session: SessionId,
        mode: Mode,
        run: PathBuf,
    ) -> Result<Self, Refusal> {
        let (stop, stopped) = channel::<()>();
        let watch = move || {
            let mut answered = BTreeSet::new();
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // The loop decides whether this cancel concerns its own run.
                let status = read_status(&store, &session, mode);
                if matches!(status, ObservedDocument::Cancelled | ObservedDocument::Missing) {
                    mailbox.send_control(ControlEvent::DocumentsCancelled);
                }
                for (number, decision) in new_answers(&run, &mut answered) {
                    mailbox.send_control(ControlEvent::Answered(number, decision));
                }
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(watch);
        thread.map(|_| Self { _stop: stop }).map_err(|error| {
            Refusal::new(
                RefusalCode::Io,
                format!("cannot start the thread that watches the run: {error}"),
            )
        })
    }
}

/// Returns answers that are new. A question's number is never reused.
fn new_answers(run: &Path, answered: &mut BTreeSet<u64>) -> Vec<(u64, ApprovalDecision)> {
    let mut new = Vec::new();
    for number in attention::answered_numbers(run) {
        if !answered.contains(&number)
            && let Some(answer) = attention::read_answer(run, number)
        {
            answered.insert(number);
            let decision = match answer {
                AttentionAnswer::Yes => ApprovalDecision::Allow,
                AttentionAnswer::No => ApprovalDecision::Deny("the person denied it".to_owned()),
            };
            new.push((number, decision));
        }
    }
    new
}
