//! The shell around the machine: one channel, one loop.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Instant;

use omx_kernel::Timestamp;
use rustix::process::{Signal, getpid, kill_process};

use super::job::{PlayerJob, PlayerJobId, carry_out};
use super::job_process::JobProcess;
use super::machine::{Player, PlayerEffect, PlayerEvent};

/// What the player is started with.
#[derive(Clone, Debug)]
pub struct PlayerConfig {
    /// The scenario's file.
    pub scenario: PathBuf,
    /// Where conversations and the uses of entries are saved.
    pub folder: PathBuf,
    /// The clock, for limits that end after a while.
    pub now: fn() -> Timestamp,
}

/// Why the player ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerExit {
    /// Its input was closed.
    InputClosed,
    /// Its output was closed, so nobody reads it anymore.
    OutputClosed,
}

/// Plays until the input is closed.
pub fn play(
    config: PlayerConfig,
    input: impl Read + Send + 'static,
    mut output: impl Write,
) -> PlayerExit {
    let (sender, events) = channel();
    read_input(input, sender.clone());
    let mut player = Player::new(config);
    let mut job = Arc::<JobProcess>::default();
    loop {
        let event = match player.wake() {
            Some(wake) => events.recv_timeout(wake.saturating_duration_since(Instant::now())),
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let effects = player.handle(event.unwrap_or(PlayerEvent::Tick), Instant::now());
        for effect in effects {
            match effect {
                PlayerEffect::Write(line) => {
                    let written = output.write_all(format!("{line}\n").as_bytes());
                    if written.and_then(|()| output.flush()).is_err() {
                        job.stop();
                        return PlayerExit::OutputClosed;
                    }
                }
                PlayerEffect::Start(id, what) => {
                    job = Arc::default();
                    start(id, what, player.folder(), Arc::clone(&job), sender.clone());
                }
                PlayerEffect::StopJob => job.stop(),
                PlayerEffect::Crash => {
                    let _ = kill_process(getpid(), Signal::KILL);
                }
                PlayerEffect::Exit => return PlayerExit::InputClosed,
            }
        }
    }
}

fn start(
    id: PlayerJobId,
    job: PlayerJob,
    folder: PathBuf,
    process: Arc<JobProcess>,
    events: Sender<PlayerEvent>,
) {
    std::thread::spawn(move || {
        let outcome = carry_out(job, &folder, &process);
        let _ = events.send(PlayerEvent::JobFinished(id, outcome));
    });
}

fn read_input(input: impl Read + Send + 'static, events: Sender<PlayerEvent>) {
    std::thread::spawn(move || {
        for line in BufReader::new(input).split(b'\n') {
            let Ok(line) = line else { break };
            // The driver sends only JSON.
            let Ok(line) = serde_json::from_slice(&line) else { continue };
            if events.send(PlayerEvent::Line(line)).is_err() {
                return;
            }
        }
        let _ = events.send(PlayerEvent::InputClosed);
    });
}
