//! Follows a run that another process drives.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::time::Duration;

use omx_kernel::{Refusal, RefusalCode};
use omx_runs::overview::overview;
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
    let path = folder.path().join(EVENTS_FILE);
    let mut file: Option<BufReader<File>> = None;
    let mut line = String::new();
    context.caller.before_wait();
    loop {
        // Check before reading, so that everything written until then is still shown.
        let ended = folder.liveness()? == Liveness::Ended;
        if file.is_none() {
            file = open_events(&path)?;
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
            return Ok(RunStatusReport { overview: overview(&store, &folder)? });
        }
        if context.caller.is_cancelled() {
            let why = format!("the call was cancelled while it followed run {id}");
            return Err(Refusal::new(RefusalCode::Busy, why));
        }
        std::thread::sleep(POLL);
    }
}

/// Opens the file with the run's progress. `None` if the run has not made any yet.
fn open_events(path: &Path) -> Result<Option<BufReader<File>>, Refusal> {
    match File::open(path) {
        Ok(file) => Ok(Some(BufReader::new(file))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Refusal::new(RefusalCode::Io, format!("{}: {error}", path.display()))),
    }
}
