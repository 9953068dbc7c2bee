//! How each of the three systems is called, and the projects they work on.
//! Nothing else in the benchmark knows a foreign program's path or a state
//! file's place. In names, `old` marks the npm packages.

use crate::clock;
use crate::error::{BenchError, BenchResult, WithContext};
use crate::measure::{ProbeRunner, ProgramCall};
use crate::options::BenchOptions;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The session of OMC's documents (its shared scope is deprecated).
pub const SESSION: &str = "bench";

/// The phase in every prepared document; answers are checked for it.
pub const PHASE: &str = "executing";

/// The three systems, ready to be called.
#[derive(Debug)]
pub struct ComparedSystems {
    /// The measuring helper.
    pub probe: ProbeRunner,
    /// The `floor` program.
    pub floor: PathBuf,
    /// The omx to be judged.
    pub omx: PathBuf,
    /// Whether oh-my-codex can write (its native helper was given).
    pub old_omx_writes: bool,
    /// Size of the installed packages: oh-my-codex, oh-my-claude-sisyphus.
    pub installed: (PathBuf, PathBuf),
    /// The throw-away folder.
    pub work: PathBuf,
    node: String,
    old_omx: PathBuf,
    old_omc: PathBuf,
    old_omx_environment: Vec<(String, String)>,
}

impl ComparedSystems {
    /// Finds the programs.
    ///
    /// # Errors
    /// When one is missing.
    pub fn find(options: &BenchOptions) -> BenchResult<Self> {
        let own = std::env::current_exe().context(|| "find the driver's own folder")?;
        let beside = own.parent().context(|| "the driver has no folder")?;
        let systems = Self {
            probe: ProbeRunner {
                program: beside.join("probe"),
                answer: options.work.join("answer"),
            },
            floor: beside.join("floor"),
            omx: options.omx.clone(),
            old_omx_writes: options.helper.is_some(),
            installed: (options.old_omx.clone(), options.old_omc.clone()),
            work: options.work.clone(),
            node: text(&options.node),
            old_omx: options.old_omx.join("node_modules/oh-my-codex"),
            old_omc: options.old_omc.join("node_modules/oh-my-claude-sisyphus"),
            old_omx_environment: options
                .helper
                .iter()
                .map(|path| ("OMX_RUNTIME_BINARY".to_owned(), text(path)))
                .collect(),
        };
        for path in [
            &systems.probe.program,
            &systems.floor,
            &systems.omx,
            &systems.old_omx,
            &systems.old_omc,
        ] {
            if !path.exists() {
                return Err(BenchError::new(format!("{} is missing", path.display())));
            }
        }
        Ok(systems)
    }

    /// omx in this project.
    #[must_use]
    pub fn omx(&self, project: &Path, arguments: &[&str]) -> ProgramCall {
        run(vec![text(&self.omx)], project, arguments, &[])
    }

    /// oh-my-codex's command line in this project.
    #[must_use]
    pub fn old_omx(&self, project: &Path, arguments: &[&str]) -> ProgramCall {
        let program = self.old_omx.join("dist/cli/omx.js");
        let argv = vec![self.node.clone(), text(&program)];
        run(argv, project, arguments, &self.old_omx_environment)
    }

    /// omx's hook; each host's calls are the same to it.
    #[must_use]
    pub fn omx_hook(&self, project: &Path, payload: &Path) -> ProgramCall {
        let run = self.omx(project, &["hook", "--host", "codex"]);
        ProgramCall { input: Some(payload.to_owned()), ..run }
    }

    /// oh-my-codex's hook.
    #[must_use]
    pub fn old_omx_hook(&self, project: &Path, payload: &Path) -> ProgramCall {
        let program = self.old_omx.join("dist/scripts/codex-native-hook.js");
        let argv = vec![self.node.clone(), text(&program)];
        let run = run(argv, project, &[], &self.old_omx_environment);
        ProgramCall { input: Some(payload.to_owned()), ..run }
    }

    /// One of OMC's hooks, called as its own table of hooks says.
    #[must_use]
    pub fn old_omc_hook(&self, project: &Path, script: &str, payload: &Path) -> ProgramCall {
        let scripts = self.old_omc.join("scripts");
        let argv =
            vec![self.node.clone(), text(&scripts.join("run.cjs")), text(&scripts.join(script))];
        let environment = [("CLAUDE_PLUGIN_ROOT".to_owned(), text(&self.old_omc))];
        ProgramCall { input: Some(payload.to_owned()), ..run(argv, project, &[], &environment) }
    }

    /// omx's one MCP server.
    #[must_use]
    pub fn omx_server(&self, project: &Path) -> ProgramCall {
        self.omx(project, &["mcp"])
    }

    /// The state server, one of oh-my-codex's six.
    #[must_use]
    pub fn old_omx_server(&self, project: &Path) -> ProgramCall {
        let program = self.old_omx.join("dist/mcp/state-server.js");
        let argv = vec![self.node.clone(), text(&program)];
        run(argv, project, &[], &self.old_omx_environment)
    }

    /// OMC's one server.
    #[must_use]
    pub fn old_omc_server(&self, project: &Path) -> ProgramCall {
        let program = self.old_omc.join("bridge/mcp-server.cjs");
        run(vec![self.node.clone(), text(&program)], project, &[], &[])
    }

    /// The floor program; with a folder, one durable write in it.
    #[must_use]
    pub fn floor(&self, folder: Option<&Path>) -> ProgramCall {
        let mut argv = vec![text(&self.floor)];
        argv.extend(folder.map(text));
        run(argv, &self.work, &[], &[])
    }

    /// A new git project with one active ralph document for each system.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn project(&self, name: &str) -> BenchResult<PathBuf> {
        let project = self.empty_project(name)?;
        write(&project.join(".omx/state/ralph-state.json"), &active(None))?;
        let session = project.join(".omc/state/sessions").join(SESSION);
        write(&session.join("ralph-state.json"), &active_omc(SESSION))?;
        Ok(project)
    }

    /// Removes all projects, so that the next measurement finds none.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn clear(&self) -> BenchResult<()> {
        let entries = std::fs::read_dir(&self.work).context(|| "list the work folder")?;
        for entry in entries {
            let path = entry.context(|| "list the work folder")?.path();
            if path.join(".git").exists() {
                std::fs::remove_dir_all(&path).context(|| format!("remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// A new git project without any state.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn empty_project(&self, name: &str) -> BenchResult<PathBuf> {
        let project = self.work.join(name);
        std::fs::create_dir_all(&project).context(|| format!("make {}", project.display()))?;
        let made = Command::new("git")
            .args(["init", "--quiet", "."])
            .current_dir(&project)
            .status()
            .context(|| "start git")?;
        if made.success() {
            Ok(project)
        } else {
            Err(BenchError::new(format!("git init in {} failed", project.display())))
        }
    }
}

/// An active ralph document in the form omx and OMX share.
#[must_use]
pub fn active(session: Option<&str>) -> Value {
    let now = clock::now();
    let mut document = json!({
        "mode": "ralph", "active": true, "current_phase": PHASE, "iteration": 1,
        "max_iterations": 50, "run_outcome": "continue", "task_description": "measure",
        "started_at": now, "updated_at": now, "revision": 1,
    });
    if let Some(session) = session {
        document["session_id"] = json!(session);
    }
    document
}

/// A finished ralph document of a session.
#[must_use]
pub fn finished(session: &str) -> Value {
    let now = clock::now();
    json!({
        "mode": "ralph", "active": false, "current_phase": "complete", "iteration": 4,
        "max_iterations": 50, "run_outcome": "finish", "lifecycle_outcome": "finished",
        "task_description": "measure", "started_at": now, "updated_at": now,
        "completed_at": now, "session_id": session, "revision": 7,
    })
}

/// An active ralph document as OMC's own tool writes it.
#[must_use]
pub fn active_omc(session: &str) -> Value {
    json!({
        "active": true, "iteration": 1, "max_iterations": 50, "current_phase": PHASE,
        "task_description": "measure",
        "_meta": {"mode": "ralph", "sessionId": session, "updatedAt": clock::now(),
            "updatedBy": "state_write_tool"},
    })
}

/// Writes a document where a system expects it.
///
/// # Errors
/// When the folder or the file cannot be made.
pub fn write(path: &Path, document: &Value) -> BenchResult<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).context(|| format!("make {}", folder.display()))?;
    }
    std::fs::write(path, document.to_string()).context(|| format!("write {}", path.display()))
}

fn run(
    argv: Vec<String>,
    folder: &Path,
    more: &[&str],
    environment: &[(String, String)],
) -> ProgramCall {
    ProgramCall {
        argv: argv.into_iter().chain(more.iter().map(|&argument| argument.to_owned())).collect(),
        folder: folder.to_path_buf(),
        environment: environment.to_vec(),
        input: None,
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
