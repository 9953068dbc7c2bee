//! Follows a run that another process drives.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::time::Duration;

use omx_kernel::{Refusal, RefusalCode};
use omx_ops::{Context, find_run};
use omx_runs::overview::overview;
use omx_runs::progress::EVENTS_FILE;
use omx_runs::progress::Progress;
use omx_store::Store;
use omx_store::runs::Liveness;

use crate::exit::Exit;
use crate::live::Live;
use crate::output::{self, Format};

/// The poll interval.
const POLL: Duration = Duration::from_millis(100);

pub(super) fn attach(
    context: &Context<'_>,
    store: &Store,
    words: Option<&str>,
    format: Format,
) -> Result<Exit, Refusal> {
    let id = find_run(store, words)?;
    let folder =
        store.run(&id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))?;
    let path = folder.path().join(EVENTS_FILE);
    let mut file: Option<BufReader<File>> = None;
    let live = Live::new(format, &id, context.dialect);
    let mut line = String::new();
    loop {
        // Check before reading, so that everything written until then is still shown.
        let ended = matches!(folder.liveness()?, Liveness::Ended);
        if file.is_none() {
            file = match File::open(&path) {
                Ok(file) => Some(BufReader::new(file)),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => {
                    return Err(Refusal::new(
                        RefusalCode::Io,
                        format!("{}: {error}", path.display()),
                    ));
                }
            };
        }
        while let Some(reader) = &mut file {
            // The next read completes an incomplete line.
            match reader.read_line(&mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if !line.ends_with('\n') => break,
                Ok(_) => {
                    if let Ok(progress) = serde_json::from_str::<Progress>(&line) {
                        live.show(&progress);
                    }
                    line.clear();
                }
            }
        }
        if ended {
            break;
        }
        std::thread::sleep(POLL);
    }
    live.finish();
    let seen = overview(store, &folder)?;
    if format == Format::Json {
        return Ok(output::object(&seen.json()));
    }
    Ok(output::lines(&[format!("{} {}", seen.state.one_line(), seen.why.one_line())]))
}
