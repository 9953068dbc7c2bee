//! `demo`: a whole autopilot in a throw-away repository, played by the
//! rehearsal agent, and checked afterwards.
//!
//! Files, commands, checks, commits and the merge are real; only the thinking
//! is rehearsed. Nothing is claimed at the end that was not looked at.

mod verify;

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::children;
use crate::cli::DemoArgs;
use crate::exit::Exit;
use crate::output;

const SCENARIO: &str = include_str!("../../../../../assets/demo/scenario.toml");
const CHECK: &str = include_str!("../../../../../assets/demo/check.sh");
const README: &str = include_str!("../../../../../assets/demo/README.md");
const TASK: &str = "greet people by name";

/// Runs the demo.
pub fn run(args: &DemoArgs) -> Exit {
    let folder = std::env::temp_dir().join(format!("omx-demo-{:016x}", random()));
    let result = std::env::current_exe()
        .and_then(|program| {
            fs::DirBuilder::new().mode(0o700).create(&folder)?;
            Ok(Demo { program, folder: folder.clone() })
        })
        .map_err(|error| format!("the demo cannot start: {error}"))
        .and_then(|demo| demo.play(args.scenario.as_deref()));
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

struct Demo {
    program: PathBuf,
    folder: PathBuf,
}

impl Demo {
    fn play(&self, scenario: Option<&Path>) -> Result<(), String> {
        say(&[
            "A small git repository, a task, and nobody at the keyboard: omx plans,",
            "builds, checks and reviews until the review is clean. The agents are",
            "rehearsed, everything else is real.",
            "",
        ]);
        let before = self.make_repository(scenario)?;
        say(&[&format!("$ omx autopilot --check \"sh check.sh\" \"{TASK}\""), ""]);
        let scenario = self.path("scenario.toml").display().to_string();
        let words = ["autopilot", "--agent", "rehearsal", "--scenario", &scenario];
        let ended =
            self.omx(&[&words[..], &["--check", "sh check.sh", TASK]].concat(), Stdio::inherit())?;
        let shown = self.omx(&["runs", "show", "--json"], Stdio::piped())?;
        verify::story(&shown.text, ended.code)?;
        self.is_untouched(&before)?;
        say(&[
            "",
            "Your checkout was not touched: it all happened in a worktree. Now it is merged:",
            "",
        ]);
        say(&["$ omx runs integrate"]);
        self.omx(&["runs", "integrate"], Stdio::inherit())?.expect(0, "omx runs integrate")?;
        say(&["$ sh check.sh"]);
        let check = self.command("sh", &["check.sh"]);
        run_command(check, Stdio::inherit())?.expect(0, "sh check.sh")?;
        say(&[
            "",
            "What was promised was looked at: the critic's objection, the check that",
            "failed and then passed, the review that was rejected, the new plan, the",
            "approval, the merge. Next, in a repository of your own:",
            "",
            "  omx autopilot \"what you want done\"     with the agent you already use",
            "  omx ask codex \"…\"                      one question",
            "  omx status, omx runs, omx cancel       what runs, what ran, stop it",
        ]);
        Ok(())
    }

    /// Makes the repository and gives the first commit's id.
    fn make_repository(&self, scenario: Option<&Path>) -> Result<String, String> {
        let project = self.path("project");
        let text = match scenario {
            None => SCENARIO.to_owned(),
            Some(file) => {
                fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
            }
        };
        let write = |path: PathBuf, text: &str| {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        fs::create_dir(&project).map_err(|error| format!("{}: {error}", project.display()))?;
        write(self.path("scenario.toml"), &text)?;
        write(project.join("check.sh"), CHECK)?;
        write(project.join("README.md"), README)?;
        for words in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message=start"],
        ] {
            self.git(words)?.expect(0, &format!("git {}", words.join(" ")))?;
        }
        Ok(self.git(&["rev-parse", "HEAD"])?.text)
    }

    fn is_untouched(&self, before: &str) -> Result<(), String> {
        let head = self.git(&["rev-parse", "HEAD"])?.text;
        let status = self.git(&["status", "--porcelain"])?.text;
        if head != before || !status.is_empty() {
            return Err(format!("the checkout was touched: HEAD {head}, status {status:?}"));
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn git(&self, words: &[&str]) -> Result<Ended, String> {
        run_command(self.command("git", words), Stdio::piped())
    }

    fn omx(&self, words: &[&str], output: Stdio) -> Result<Ended, String> {
        run_command(self.command(&self.program, words), output)
    }

    /// A command in the demo's project, with homes of its own: nothing of the
    /// person's configuration plays a part, and nothing is left there.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path("project"));
        for (name, folder) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("HOME", "home")]
        {
            command.env(name, self.path(folder));
        }
        children::forget(&mut command);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        for (name, value) in [("NAME", "demo"), ("EMAIL", "demo@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value);
            command.env(format!("GIT_COMMITTER_{name}"), value);
        }
        command
    }
}

/// How a command ended, and what it printed if that was kept.
struct Ended {
    code: Option<i32>,
    text: String,
}

impl Ended {
    fn expect(self, code: i32, what: &str) -> Result<Self, String> {
        if self.code == Some(code) {
            Ok(self)
        } else {
            Err(format!("{what} ended with {:?}, not with {code}", self.code))
        }
    }
}

fn run_command(mut command: Command, output: Stdio) -> Result<Ended, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::inherit())
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .map_err(|error| format!("{name} cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    Ok(Ended { code: output.status.code(), text })
}

fn say(lines: &[&str]) {
    output::text(&format!("{}\n", lines.join("\n")));
}
