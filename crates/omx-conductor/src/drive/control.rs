//! The source of everything that is done to a run from outside: cancels, answers, new
//! limits and signals. Nothing else sends control events.
//!
//! A separate thread polls several times a second for what other processes write, so
//! that neither an agent's reports nor a busy loop can delay a cancel. Signals do not
//! wait for it, because reading files can take long.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use omx_agents::agent::ApprovalDecision;
use omx_kernel::limits::disk_reserve;
use omx_kernel::{Mode, Refusal, RefusalCode, SessionId};
use omx_runs::attention::{self, AttentionAnswer};
use omx_runs::limits;
use omx_store::Store;
use omx_store::runs::RunFolder;

use super::documents::read_status;
use super::mailbox::Mailbox;
use super::world::{ControlEvent, ObservedDocument};

/// The poll interval.
const INTERVAL: Duration = Duration::from_millis(100);

/// Feeds a mailbox with control events. Dropping this ends its thread.
#[derive(Debug)]
pub(super) struct ControlSource {
    mailbox: Mailbox,
    _stop: Sender<()>,
}

/// Stops a run, from any thread.
#[derive(Clone, Debug)]
pub struct RunHandle(Mailbox);

impl RunHandle {
    /// Stops the run. Its documents tell whether the person interrupted or cancelled it.
    pub fn stop(&self) {
        self.0.send_control(ControlEvent::Stop);
    }
}

impl ControlSource {
    pub(super) fn start(
        mailbox: Mailbox,
        store: Store,
        session: SessionId,
        mode: Mode,
        run: RunFolder,
        workspace: PathBuf,
    ) -> Result<Self, Refusal> {
        let (stop, stopped) = channel::<()>();
        let own = mailbox.clone();
        let watch = move || {
            let (mut answered, mut limited) = (BTreeSet::new(), BTreeSet::new());
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // The loop decides whether this cancel concerns its own run.
                let status = read_status(&store, &session, mode);
                let is_cancelled = match status {
                    ObservedDocument::Cancelled
                    | ObservedDocument::Missing
                    | ObservedDocument::Marked => true,
                    ObservedDocument::Other | ObservedDocument::Unreadable => false,
                };
                if is_cancelled {
                    mailbox.send_control(ControlEvent::DocumentsCancelled);
                }
                if let Some(why) = full_disk([store.tree(), &workspace]) {
                    mailbox.send_control(ControlEvent::DiskFull(why));
                }
                for (number, decision) in new_answers(&run, &mut answered) {
                    mailbox.send_control(ControlEvent::Answered(number, decision));
                }
                for (id, change) in limits::pending(&run) {
                    if limited.insert(id.clone()) {
                        mailbox.send_control(ControlEvent::LimitsRequested(id, change));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(watch);
        thread.map(|_| Self { mailbox: own, _stop: stop }).map_err(|error| {
            Refusal::new(
                RefusalCode::Io,
                format!("cannot start the thread that watches the run: {error}"),
            )
        })
    }

    /// Returns the handle through which signals come.
    pub(super) fn handle(&self) -> RunHandle {
        RunHandle(self.mailbox.clone())
    }
}

/// Why the run has to stop, if one of these folders is on a disk that is nearly full.
pub(super) fn full_disk<const N: usize>(folders: [&Path; N]) -> Option<String> {
    folders.into_iter().find_map(|folder| {
        let space = omx_process::disk_space(folder).ok()?;
        let mebibytes = |bytes: u64| bytes / (1024 * 1024);
        (space.free < disk_reserve(space.total)).then(|| {
            format!(
                "the disk is nearly full: {} MiB are free at {}; make room and resume the run",
                mebibytes(space.free),
                folder.display()
            )
        })
    })
}

/// Returns answers that are new. A question's number is never reused.
fn new_answers(run: &RunFolder, answered: &mut BTreeSet<u64>) -> Vec<(u64, ApprovalDecision)> {
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
