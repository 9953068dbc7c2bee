//! The process around the machine: one channel, one loop.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Instant;

use omx_kernel::Timestamp;
use rustix::process::{Signal, getpid, kill_process};

use super::child::Child;
use super::job::{Job, JobId, work};
use super::machine::{Effect, Input, Player};

/// What the agent is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scenario's file.
    pub scenario: PathBuf,
    /// Where conversations and plays are kept.
    pub folder: PathBuf,
    /// The clock, for limits that end after a while.
    pub now: fn() -> Timestamp,
}

/// How the agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its input was closed.
    Left,
    /// Nobody hears it any more.
    Unheard,
}

/// Plays until the input is closed.
pub fn play(setup: Setup, input: impl Read + Send + 'static, mut output: impl Write) -> Ending {
    let (sender, inputs) = channel();
    listen(input, sender.clone());
    let mut player = Player::new(setup);
    let mut job = Arc::<Child>::default();
    loop {
        let heard = match player.wake() {
            Some(wake) => inputs.recv_timeout(wake.saturating_duration_since(Instant::now())),
            None => inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let effects = player.handle(heard.unwrap_or(Input::Tick), Instant::now());
        for effect in effects {
            match effect {
                Effect::Write(line) => {
                    let written = output.write_all(format!("{line}\n").as_bytes());
                    if written.and_then(|()| output.flush()).is_err() {
                        job.stop();
                        return Ending::Unheard;
                    }
                }
                Effect::Begin(id, what) => {
                    job = Arc::default();
                    begin(id, what, player.folder(), Arc::clone(&job), sender.clone());
                }
                Effect::Stop => job.stop(),
                Effect::Die => {
                    let _ = kill_process(getpid(), Signal::KILL);
                }
                Effect::Leave => return Ending::Left,
            }
        }
    }
}

fn begin(id: JobId, job: Job, folder: PathBuf, child: Arc<Child>, tell: Sender<Input>) {
    std::thread::spawn(move || {
        let done = work(job, &folder, &child);
        let _ = tell.send(Input::Done(id, done));
    });
}

fn listen(input: impl Read + Send + 'static, tell: Sender<Input>) {
    std::thread::spawn(move || {
        for line in BufReader::new(input).split(b'\n') {
            let Ok(line) = line else { break };
            // What is no JSON is no word of the driver.
            let Ok(line) = serde_json::from_slice(&line) else { continue };
            if tell.send(Input::Line(line)).is_err() {
                return;
            }
        }
        let _ = tell.send(Input::Closed);
    });
}
