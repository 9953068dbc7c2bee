//! `rehearsal-agent`: the hidden process that plays a scenario as an agent.

use std::io;

use omx_ops::{Clock, SystemClock};
use omx_rehearsal::{PlayerConfig, PlayerExit, play};

use crate::cli::RehearsalAgentArgs;
use crate::exit::Exit;

/// Plays until omx closes standard input.
pub fn run(args: RehearsalAgentArgs) -> Exit {
    let config =
        PlayerConfig { scenario: args.scenario, folder: args.folder, now: || SystemClock.now() };
    match play(config, io::stdin(), io::stdout()) {
        PlayerExit::InputClosed => Exit::Done,
        PlayerExit::OutputClosed => Exit::Failed,
    }
}
