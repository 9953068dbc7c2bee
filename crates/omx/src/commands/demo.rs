//! `demo`: shows in a throw-away folder what omx is for, and checks that it was so.
//!
//! Every step is the real program with real files; nothing is told that was
//! not read back.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use omx_kernel::Dialect;

use crate::exit::Exit;
use crate::output;

/// How many writers are killed in the middle of their work.
const KILLED_WRITERS: u64 = 20;

/// Runs the tour.
pub fn run() -> Exit {
    let folder = std::env::temp_dir().join(format!("omx-demo-{:016x}", random()));
    let result = std::env::current_exe()
        .and_then(|program| {
            fs::DirBuilder::new().mode(0o700).create(&folder)?;
            Ok(Tour { program, folder: folder.clone() })
        })
        .map_err(|error| format!("the demo cannot start: {error}"))
        .and_then(|tour| tour.walk());
    let _ = fs::remove_dir_all(&folder);
    match result {
        Ok(()) => Exit::Done,
        Err(why) => {
            output::note(&format!("error: {why}"));
            Exit::Failed
        }
    }
}

/// A number nobody can guess, for a name in a folder everybody can write to.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

struct Tour {
    program: PathBuf,
    folder: PathBuf,
}

impl Tour {
    fn walk(&self) -> Result<(), String> {
        say("Two agent sessions work in one folder. Each has its own state.");
        self.show(&["state", "write", "--input", r#"{"mode":"autopilot","active":true,"session_id":"blue","task_description":"add a search page"}"#, "--json"], "\"success\":true")?;
        self.show(&["state", "write", "--input", r#"{"mode":"ralph","active":true,"session_id":"green","linked_ultrawork":true,"task_description":"fix the parser"}"#, "--json"], "\"success\":true")?;
        self.show(
            &[
                "state",
                "write",
                "--input",
                r#"{"mode":"ultrawork","active":true,"session_id":"green","linked_to_ralph":true}"#,
                "--json",
            ],
            "\"success\":true",
        )?;
        self.show(&["status"], "is held by ralph")?;

        say("An agent says it is done. It has shown nothing, so it is refused.");
        self.show(
            &[
                "state",
                "write",
                "--input",
                r#"{"mode":"ralph","session_id":"green","current_phase":"complete"}"#,
            ],
            "illegal_transition",
        )?;

        say(&format!(
            "{KILLED_WRITERS} writers are killed in the middle of their work. The document is whole."
        ));
        self.kill_writers()?;
        self.show(
            &["state", "read", "--mode", "ralph", "--session-id", "green", "--json"],
            "\"active\":true",
        )?;

        say(
            "Cancel ends session green: first what hangs on ralph, then ralph. Blue is not touched.",
        );
        let blue =
            self.folder.join(Dialect::OMX.tree).join("state/sessions/blue/autopilot-state.json");
        let before = read(&blue)?;
        self.show(&["cancel", "--session-id", "green"], "Ralph cancelled.")?;
        if read(&blue)? != before {
            return Err("cancelling green changed blue".to_owned());
        }

        say("A late write of the cancelled run comes in. Cancelled stays cancelled.");
        self.show(
            &[
                "state",
                "write",
                "--input",
                r#"{"mode":"ralph","active":true,"session_id":"green"}"#,
            ],
            "recently_cancelled",
        )?;

        say("Autopilot is cancelled too, and goes on where it was.");
        self.show(&["cancel"], "Progress preserved for resume.")?;
        self.show(
            &[
                "state",
                "write",
                "--input",
                r#"{"mode":"autopilot","session_id":"blue","resume":true}"#,
                "--json",
            ],
            "\"success\":true",
        )?;
        self.show(&["status"], "autopilot  blue")?;

        say("All of this was read back and is as it should be. In your own project:");
        say(
            "  omx status     what runs\n  omx cancel     end it\n  omx mcp        the tools for your agent\n  omx --help     the rest",
        );
        Ok(())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(&self.folder).env_clear().env("HOME", &self.folder);
        command.arg("--root").arg(&self.folder).stdin(Stdio::null());
        command
    }

    /// Runs a command before the reader's eyes and checks what it said.
    fn show(&self, args: &[&str], expected: &str) -> Result<(), String> {
        let shown: Vec<String> = args
            .iter()
            .map(
                |arg| if arg.contains(['{', ' ']) { format!("'{arg}'") } else { (*arg).to_owned() },
            )
            .collect();
        output::text(&format!("$ omx {}\n", shown.join(" ")));
        let Output { stdout, stderr, .. } =
            self.command(args).output().map_err(|error| format!("omx does not run: {error}"))?;
        let said =
            format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        output::text(&said);
        if said.contains(expected) { Ok(()) } else { Err(format!("expected to read {expected:?}")) }
    }

    /// Starts writers and kills each at another point of its work.
    fn kill_writers(&self) -> Result<(), String> {
        let fail = |error: std::io::Error| format!("a writer does not run: {error}");
        for round in 0..KILLED_WRITERS {
            let input =
                format!(r#"{{"mode":"ralph","session_id":"green","note_{round}":{round}}}"#);
            let mut writer = self
                .command(&["state", "write", "--json", "--input", &input])
                .stdout(Stdio::null())
                .spawn()
                .map_err(fail)?;
            std::thread::sleep(std::time::Duration::from_micros(150 * round));
            writer.kill().map_err(fail)?;
            writer.wait().map_err(fail)?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn say(text: &str) {
    output::text(&format!("\n{text}\n"));
}
