//! Follows a run that another process drives.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use omx_kernel::{Refusal, RefusalCode};
use omx_runs::progress::{EVENTS_FILE, Progress};
use omx_store::runs::Liveness;

use super::find::open_folder;
use super::select::RunSelector;
use super::show::RunStatusReport;
use crate::context::Context;

/// The poll interval.
const POLL: Duration = Duration::from_millis(100);

/// Reports the progress of a run from its beginning until no process drives it, then
/// returns its state.
pub fn run_attach(
    context: &Context<'_>,
    run: &RunSelector,
    mut show: impl FnMut(&Progress),
) -> Result<RunStatusReport, Refusal> {
    let (store, id) = run.find(context)?;
    let folder = open_folder(&store, &id)?;
    let mut file: Option<BufReader<File>> = None;
    let mut line = String::new();
    context.caller.before_wait();
    loop {
        // Check before reading, so that everything written until then is still shown.
        let ended = folder.liveness()? == Liveness::Ended;
        if file.is_none() {
            file = folder.open_to_read(EVENTS_FILE)?.map(BufReader::new);
        }
        while let Some(reader) = &mut file {
            // The next read completes an incomplete line.
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if !line.ends_with('\n') => break,
                Ok(_) => {
                    if let Ok(progress) = serde_json::from_str::<Progress>(&line) {
                        show(&progress);
                    }
                    line.clear();
                }
            }
        }
        if ended {
            return RunStatusReport::read(context, &store, &folder);
        }
        if context.caller.is_cancelled() {
            let why = format!("the call was cancelled while it followed run {id}");
            return Err(Refusal::new(RefusalCode::Busy, why));
        }
        std::thread::sleep(POLL);
    }
}
