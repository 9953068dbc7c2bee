//! The machine's floor as a process: an empty Rust program, and with a
//! directory as argument one durable replacement of a small file. omx's
//! `state write` is judged against the second.

use omx_bench::flush::FlushFloor;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(directory) = std::env::args_os().nth(1) else {
        return ExitCode::SUCCESS;
    };
    match FlushFloor::open(Path::new(&directory)).and_then(|floor| floor.replace()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}
