//! A repository in which a real agent program works for omx: both run in the
//! program's own home, with the scripted model as the only reachable server.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use omx_testkit::model::{ModelRequest, ModelScript, ModelServer};
use omx_testkit::real_cli::{AgentCli, AgentHome};
use omx_testkit::{CommandOutcome, await_condition, write_program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No run takes longer, on a slow machine with other work to do.
pub const DEADLINE: Duration = Duration::from_secs(240);

const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// A git repository with a check, an agent program and its model.
pub struct RealProject {
    pub server: ModelServer,
    pub home: AgentHome,
    pub cli: AgentCli,
    /// The person's files before anything ran.
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl RealProject {
    /// A repository whose check is the demo's.
    pub fn new(cli: AgentCli, scripts: impl IntoIterator<Item = ModelScript>) -> Self {
        let server = ModelServer::start(scripts);
        let home = AgentHome::new(cli, &server);
        Self::at(server, home, cli)
    }

    /// The same with a codex that has no app-server yet.
    pub fn with_old_codex(scripts: impl IntoIterator<Item = ModelScript>) -> Self {
        let server = ModelServer::start(scripts);
        let home = AgentHome::new(AgentCli::Codex, &server);
        let (folder, codex) = (home.folder().join("bin"), AgentCli::Codex.program());
        fs::create_dir(&folder).unwrap();
        let old = "[ \"$1\" = app-server ] && { echo 'unknown command' >&2; exit 2; }";
        let text = format!("#!/bin/sh\n{old}\nexec {} \"$@\"\n", codex.display());
        write_program(&folder.join("codex"), &text);
        let path = home.environment()[OsStr::new("PATH")].clone();
        let path = format!("{}:{}", folder.display(), path.to_str().unwrap());
        Self::at(server, home.env("PATH", &path), AgentCli::Codex)
    }

    fn at(server: ModelServer, home: AgentHome, cli: AgentCli) -> Self {
        home.configure();
        let identity = "[user]\n\tname = tester\n\temail = tester@example.invalid\n";
        fs::write(home.home().join(".gitconfig"), identity).unwrap();
        for (name, text) in [
            ("check.sh", include_str!("../../../../../../assets/demo/check.sh")),
            ("README.md", include_str!("../../../../../../assets/demo/README.md")),
        ] {
            fs::write(home.root().join(name), text).unwrap();
        }
        let mut project = Self { server, home, cli, before: BTreeMap::new() };
        project.git(&["add", "-A"]);
        project.git(&["commit", "-qm", "start"]);
        // The person's own changes: the run must not touch either.
        fs::write(project.home.root().join("README.md"), "half a sentence\n").unwrap();
        fs::write(project.home.root().join("notes.txt"), "not in git\n").unwrap();
        project.before = project.checkout();
        project
    }

    /// Runs git in the checkout.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let outcome = CommandOutcome::from(self.home.command("git").args(args).output().unwrap());
        assert_eq!(outcome.code, Some(0), "git {args:?}: {outcome:#?}");
        outcome.stdout
    }

    /// The command line of a mode with this program.
    fn mode(&self, mode: &str, more: &[&str]) -> Command {
        let mut command = self.home.command(OMX);
        command.args([mode, "--agent", self.cli.name()]).args(more);
        command
    }

    /// Runs a mode to its end.
    pub fn run(&self, mode: &str, more: &[&str]) -> CommandOutcome {
        self.ended(self.mode(mode, more))
    }

    /// Starts a mode in the background.
    pub fn start(&self, mode: &str, more: &[&str]) -> DrivenOmx {
        self.driven(self.mode(mode, more))
    }

    /// Resumes the only run and waits for its end.
    pub fn resume(&self) -> CommandOutcome {
        self.ended(self.resume_command())
    }

    /// Resumes the only run in the background.
    pub fn start_resume(&self) -> DrivenOmx {
        self.driven(self.resume_command())
    }

    fn resume_command(&self) -> Command {
        let mut command = self.home.command(OMX);
        command.args(["runs", "resume"]);
        command
    }

    fn ended(&self, command: Command) -> CommandOutcome {
        self.driven(command).outcome()
    }

    fn driven(&self, mut command: Command) -> DrivenOmx {
        let folder = self.home.folder();
        let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
        command.stdout(File::create(&stdout).unwrap()).stderr(File::create(&stderr).unwrap());
        DrivenOmx { child: command.spawn().unwrap(), stdout, stderr }
    }

    /// The folder of the only run, as soon as it exists.
    pub fn run_folder(&self) -> PathBuf {
        let runs = self.home.root().join(".omx/runs");
        let mut found = None;
        await_condition("there is a run", DEADLINE, || {
            let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
            found = entries.map(|entry| entry.path()).find(|path| path.join("run.json").exists());
            found.is_some()
        });
        found.unwrap()
    }

    /// The only run's id.
    pub fn id(&self) -> String {
        self.run_folder().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// The document of a mode.
    #[track_caller]
    pub fn document(&self, mode: &str) -> Value {
        let path = format!(".omx/state/sessions/{}/{mode}-state.json", self.id());
        serde_json::from_str(&self.home.read(&path)).unwrap()
    }

    /// A file on the run's branch.
    #[track_caller]
    pub fn on_branch(&self, path: &str) -> String {
        self.git(&["show", &format!("omx-run/{}:{path}", self.id())])
    }

    /// The first lines of the commits on the run's branch, oldest first.
    pub fn commits(&self) -> Vec<String> {
        let range = format!("main..omx-run/{}", self.id());
        let log = self.git(&["log", "--reverse", "--format=%s", &range]);
        log.lines().map(str::to_owned).collect()
    }

    /// The person's files: all but omx's and git's.
    fn checkout(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.home.root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let name = entry.file_name();
                if name == ".git" || name == ".omx" {
                    continue;
                }
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        files
    }

    /// Asserts that the person's checkout is unchanged and nothing is left running.
    #[track_caller]
    pub fn assert_left_alone(&self) {
        assert_eq!(self.checkout(), self.before);
        assert_eq!(self.git(&["status", "--porcelain"]), " M README.md\n?? notes.txt\n");
        assert_eq!(self.git(&["branch", "--show-current"]), "main\n");
        assert_eq!(self.git(&["log", "--format=%s", "main"]), "start\n");
        self.await_nobody();
    }

    /// Every process of this home, by command line.
    pub fn processes(&self) -> BTreeMap<i32, String> {
        let folder = self.home.folder().to_str().unwrap().to_owned();
        let mut found = BTreeMap::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            let read = |file: &str| {
                let bytes = fs::read(entry.path().join(file)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = read("cmdline");
            // A zombie has no command line.
            if !line.is_empty() && read("environ").contains(&folder) {
                found.insert(pid, line);
            }
        }
        found
    }

    /// The processes of the agent program and its children.
    pub fn agents(&self) -> Vec<Pid> {
        let of_agent = |line: &String| !line.starts_with(OMX);
        let agents = self.processes().into_iter().filter(|(_, line)| of_agent(line));
        agents.map(|(pid, _)| Pid::from_raw(pid).unwrap()).collect()
    }

    /// Waits until no process of this home is left.
    #[track_caller]
    pub fn await_nobody(&self) {
        let start = std::time::Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "left running: {left:#?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The conversation a request belongs to, by the program's own id.
    pub fn conversation(request: &ModelRequest) -> Option<String> {
        let codex = request.codex()["session_id"].as_str().map(str::to_owned);
        codex.or_else(|| request.header("x-claude-code-session-id").map(str::to_owned))
    }
}

/// A running omx; it ends with the test.
pub struct DrivenOmx {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl DrivenOmx {
    pub fn kill(&self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }

    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn outcome(&mut self) -> CommandOutcome {
        let mut status = None;
        await_condition("omx ends", DEADLINE, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let message = |path: &PathBuf| fs::read_to_string(path).unwrap();
        let code = status.unwrap().code();
        CommandOutcome { code, stdout: message(&self.stdout), stderr: message(&self.stderr) }
    }
}

impl Drop for DrivenOmx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
