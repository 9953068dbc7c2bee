//! `rehearsal-agent`: the hidden process that plays a scenario.

use std::io;

use omx_ops::{Clock, SystemClock};
use omx_rehearsal::{Ending, Setup, play};

use crate::cli::RehearsalAgentArgs;
use crate::exit::Exit;

/// Plays until omx closes the line.
pub fn run(args: RehearsalAgentArgs) -> Exit {
    let setup = Setup { scenario: args.scenario, folder: args.folder, now: || SystemClock.now() };
    match play(setup, io::stdin(), io::stdout()) {
        Ending::Left => Exit::Done,
        Ending::Unheard => Exit::Failed,
    }
}
