//! Where a driver is tested: a project, a home, and a scripted model.

use std::path::PathBuf;

use omx_agents::{AgentEnv, AgentKind};
use omx_kernel::Timestamp;
use omx_ops::{Clock, SystemClock};

use super::play::AgentPlay;

/// The environment of one driver. Dropping it removes everything.
pub trait DriverStage: Sized {
    /// The driver.
    const KIND: AgentKind;

    /// How often the program requests a missing structured answer before it gives up.
    const CHATTER: usize;

    /// Runs a test's body where the agent can reach nothing else.
    fn alone<Body: FnOnce()>(body: Body);

    /// A stage on which these can be played.
    fn with(plays: Vec<AgentPlay>) -> Self;

    /// A stage whose vendor cannot be reached. Any prompt will do.
    fn without_vendor() -> Self;

    /// The driver's environment.
    fn agent_env(&self) -> AgentEnv;

    /// The environment of a machine on which nobody has logged in.
    fn logged_out(&self) -> Option<AgentEnv>;

    /// The project, a git repository.
    fn root(&self) -> PathBuf;

    /// How many answers were started for a play; failed ones count.
    fn answers(&self, play: &str) -> usize;

    /// Whether a slow answer is being streamed.
    fn is_streaming(&self, play: &str) -> bool;

    /// Whether the program has saved a conversation: one that was never saved cannot
    /// be resumed.
    fn is_kept(&self, _conversation: &str) -> bool {
        true
    }

    /// The history that the last request of a play contained.
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

/// The variables that tell an agent's processes whom they work for: session `s` of the
/// project in this folder.
pub fn child_context(root: &std::path::Path) -> std::collections::BTreeMap<String, String> {
    child_context_with(root, None)
}

/// The same with the state in another folder.
pub fn child_context_with(
    root: &std::path::Path,
    state_dir: Option<PathBuf>,
) -> std::collections::BTreeMap<String, String> {
    let context = omx_kernel::ChildContext {
        root: root.to_owned(),
        dialect: omx_kernel::Dialect::OMX,
        state_dir,
        session: Some(omx_kernel::SessionId::new("s").unwrap()),
        run: None,
        team: None,
        capability: None,
        relay: None,
    };
    let text = serde_json::to_string(&context).unwrap();
    [(context.dialect.context_variable.to_owned(), text)].into()
}
