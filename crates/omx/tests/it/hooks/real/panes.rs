//! A host as a person uses it: in a terminal, which tmux provides.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omx_testkit::real_cli::AgentCli;
use serde_json::{Value, json};

use super::stage::HostStage;

/// No wait of a test takes longer.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often the pane is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// A paste bracket and an Enter right after it are one paste for some hosts.
const ENTER_EVERY: Duration = Duration::from_secs(1);

/// A host in a terminal of its own.
pub struct HostPane<'a> {
    stage: &'a HostStage,
    socket: PathBuf,
}

impl<'a> HostPane<'a> {
    /// Starts the host and waits until it takes prompts.
    pub fn start(stage: &'a HostStage) -> Self {
        let (program, ready) = match stage.cli {
            AgentCli::Codex => (stage.cli.program().display().to_string(), "GPT-5.5 default"),
            _ => {
                skip_first_questions(stage);
                let program = stage.cli.program();
                let flag = "--dangerously-skip-permissions";
                (format!("{} {flag}", program.display()), "bypass permissions")
            }
        };
        // A short path: sockets have a limit.
        let socket = stage.home.folder().join("t");
        let pane = Self { stage, socket };
        // Tall and wide: Codex keeps only what is visible.
        let size = ["-x", "180", "-y", "120"];
        pane.tmux(
            &[&["-f", "/dev/null", "new-session", "-d", "-s", "p"], &size[..], &[&program]]
                .concat(),
        );
        pane.wait_for(ready);
        pane
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.stage.home.command("tmux");
        command.arg("-S").arg(&self.socket).args(args);
        command
    }

    #[track_caller]
    fn tmux(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("tmux runs (apt package tmux)");
        assert!(output.status.success(), "tmux {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What the terminal shows. Hosts wrap lines at different places, so white space
    /// counts as one space.
    pub fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p", "-t", "p", "-S", "-500"]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits until the terminal shows a text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, || {}, || self.screen().contains(text));
    }

    #[track_caller]
    fn wait_until(&self, what: &str, mut repeat: impl FnMut(), condition: impl Fn() -> bool) {
        let begun = Instant::now();
        let mut repeated = begun;
        while !condition() {
            assert!(begun.elapsed() < DEADLINE, "no {what:?} in: {}", self.screen());
            if repeated.elapsed() >= ENTER_EVERY {
                repeat();
                repeated = Instant::now();
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Types a prompt and waits until the terminal shows a text of the answer that it did
    /// not show before.
    #[track_caller]
    pub fn ask(&self, prompt: &str, answer: &str) {
        let before = self.screen().matches(answer).count();
        let mut load = self.command(&["load-buffer", "-"]);
        let mut child = load.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        self.tmux(&["paste-buffer", "-p", "-t", "p"]);
        self.wait_for(prompt);
        // Enter may come too early to count; on an empty line it does nothing.
        let enter = || {
            self.tmux(&["send-keys", "-t", "p", "Enter"]);
        };
        self.wait_until(answer, enter, || self.screen().matches(answer).count() > before);
    }

    /// Presses Esc until the host shows that it was interrupted once more.
    #[track_caller]
    pub fn interrupt(&self) {
        // The word of Codex, then Claude Code's.
        let count = |text: &str| {
            ["Conversation interrupted", "Interrupted ·"].map(|word| text.matches(word).count())
        };
        let before = count(&self.screen());
        self.tmux(&["send-keys", "-t", "p", "Escape"]);
        self.wait_until("interrupt", || {}, || count(&self.screen()) != before);
    }

    /// Waits until the agent has ended its turn: a spinner leads the title until then.
    #[track_caller]
    pub fn wait_idle(&self) {
        let is_busy = || {
            let title = self.tmux(&["display-message", "-p", "-t", "p", "#{pane_title}"]);
            title.starts_with(|c| ('\u{2800}'..='\u{28ff}').contains(&c))
        };
        self.wait_until("end of the turn", || {}, || !is_busy());
    }
}

impl Drop for HostPane<'_> {
    fn drop(&mut self) {
        // The server ends with its only session.
        let _ = self.command(&["kill-session", "-t", "p"]).output();
    }
}

/// Answers in advance what Claude Code asks on its first start.
fn skip_first_questions(stage: &HostStage) {
    let key = stage.home.environment()[std::ffi::OsStr::new("ANTHROPIC_API_KEY")].clone();
    let key = key.into_string().unwrap();
    let root = stage.home.root().display().to_string();
    let add = |file: &str, fields: Value| {
        let path = stage.home.home().join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        for (name, value) in fields.as_object().unwrap() {
            settings[name] = value.clone();
        }
        std::fs::write(path, settings.to_string()).unwrap();
    };
    add(".claude/settings.json", json!({"skipDangerousModePermissionPrompt": true}));
    add(
        ".claude.json",
        json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [&key[key.len() - 20..]], "rejected": []},
            "projects": {root: {"hasTrustDialogAccepted": true}}
        }),
    );
}
