//! Running the program elsewhere than in the project's root, and never longer
//! than a person would wait.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::project::TestProject;
use crate::run::{CommandOutcome, await_condition};

/// Every mode there is, as modes.md 1 lists them.
pub const MODES: [&str; 11] = [
    "autopilot",
    "ralph",
    "ralplan",
    "code-review",
    "ultrawork",
    "ecomode",
    "ultraqa",
    "pipeline",
    "team",
    "swarm",
    "ultrapilot",
];

/// No answer of one command takes longer, unless it waits for a lock.
const PROMPT: Duration = Duration::from_secs(4);

impl TestProject {
    /// Runs the program in another folder.
    pub fn omx_in(&self, folder: impl AsRef<Path>, args: &[&str]) -> CommandOutcome {
        self.omx_command(args).current_dir(folder).output().expect("omx runs").into()
    }

    /// Runs the program; fails the test if it hangs.
    #[track_caller]
    pub fn omx_promptly(&self, args: &[&str]) -> CommandOutcome {
        promptly(self.omx_command(args))
    }

    /// Everything in the project's tree but what every writer touches even if
    /// it is refused: the lock, in which it notes its name, and `.gitignore`.
    /// Equal maps mean that not a byte of what is kept changed.
    pub fn kept(&self) -> SavedTree {
        let mut files = self.bytes(".omx");
        files.remove(&self.state(".lock"));
        files.remove(&self.root().join(".omx/.gitignore"));
        SavedTree(files)
    }

    /// The program under another name, as an installation links it.
    pub fn link_binary(&self, name: &str) -> PathBuf {
        let folder = self.folder().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let link = folder.join(name);
        symlink(self.binary(), &link).unwrap();
        link
    }
}

/// The content of a tree; in messages only its text.
#[derive(Clone, PartialEq, Eq)]
pub struct SavedTree(BTreeMap<PathBuf, Vec<u8>>);

impl fmt::Debug for SavedTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = self.0.iter().map(|(path, bytes)| {
            let start = &bytes[..bytes.len().min(400)];
            (path, String::from_utf8_lossy(start).into_owned())
        });
        f.debug_map().entries(texts).finish()
    }
}

/// Runs a command to its end; kills it and fails the test if that takes too long.
#[track_caller]
pub fn promptly(mut command: Command) -> CommandOutcome {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        await_condition("the end of the command", PROMPT, || child.try_wait().unwrap().is_some());
    }));
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
        panic!("{command:?} did not end within {PROMPT:?}");
    }
    child.wait_with_output().expect("it ends").into()
}
