//! `guard`: the hidden process between omx and an agent.

use omx_process::guard::{self, GuardOutcome};

use crate::cli::GuardArgs;
use crate::exit::Exit;
use crate::output;

/// Guards until no process is left.
pub fn run(args: &GuardArgs) -> Exit {
    let Some((program, rest)) = args.command.split_first() else { return Exit::Usage };
    let Some(control) = guard::take_control() else {
        output::note("error: the guard is internal and cannot be started by hand");
        return Exit::Usage;
    };
    match guard::run(control, program, rest) {
        GuardOutcome::Done => Exit::Done,
        GuardOutcome::CannotConfine => Exit::CannotConfine,
    }
}
