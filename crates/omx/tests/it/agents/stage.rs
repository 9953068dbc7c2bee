//! Where a driver is tested: a project, a home, and something that answers.

use std::path::PathBuf;

use omx_agents::{AgentEnv, AgentKind};
use omx_kernel::Timestamp;
use omx_ops::{Clock, SystemClock};

use super::play::Play;

/// One driver's place of work. Everything is gone when it is dropped.
pub trait Stage: Sized {
    /// The driver.
    const KIND: AgentKind;

    /// How often the model is asked for a structured answer it does not give,
    /// before the program itself gives up.
    const CHATTER: usize;

    /// Runs a test's body where the agent can reach nothing else.
    fn alone<Body: FnOnce()>(body: Body);

    /// A place where these can be played.
    fn with(plays: Vec<Play>) -> Self;

    /// A place whose vendor cannot be reached. Any prompt will do.
    fn without_vendor() -> Self;

    /// What the driver knows of the world.
    fn surroundings(&self) -> AgentEnv;

    /// The world of a machine on which nobody has logged in.
    fn logged_out(&self) -> Option<AgentEnv>;

    /// The project, a git repository.
    fn root(&self) -> PathBuf;

    /// How many answers were begun for a play; a failed one counts.
    fn answers(&self, play: &str) -> usize;

    /// Whether words of a slow answer are under way.
    fn is_streaming(&self, play: &str) -> bool;

    /// Whether the program has written a conversation down: one that was never
    /// kept cannot be gone on with, whoever kills it.
    fn is_kept(&self, _conversation: &str) -> bool {
        true
    }

    /// All that was said before, as the last answer of a play was given it.
    fn history(&self, play: &str) -> String;
}

/// The program under test.
pub const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// The machine's clock.
pub fn clock() -> Timestamp {
    SystemClock.now()
}

/// The variable that marks processes of workers.
pub const WORKER: &str = "OMX_WORKER";
