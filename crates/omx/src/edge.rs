//! Reads environment, arguments, home and working directory. Nothing else does.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_agents::AgentEnv;
use omx_host::hook::{HookEvent, HookFiles, HookPayload};
use omx_host::setup::{HostHomes, SetupPaths, SetupScope};
use omx_host::{host_spec, process};
use omx_kernel::{CallingAgent, ChildContext, Dialect, Refusal, RunId, SessionId};
use omx_ops::config::ConfigSources;
use omx_ops::{Ambient, Clock, Context, Place, SystemClock, UncancelledCaller};
use omx_process::SearchPath;
use omx_process::guard::AncestorGuard;
use omx_store::identity::{self, HostSessions, record_folder};
use omx_store::{RuntimeFolders, Store};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::children;
use crate::cli::GlobalArgs;
use crate::launcher::ProcessLauncher;

/// The dialect of the name that the program was called by.
pub fn dialect_of_name(name: Option<OsString>) -> Dialect {
    let name = name.map(PathBuf::from);
    let stem = name.as_deref().and_then(|path| path.file_stem()).and_then(|stem| stem.to_str());
    stem.and_then(Dialect::parse).unwrap_or(Dialect::OMX)
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The same, as text.
pub fn text(name: &str) -> Option<String> {
    variable(name).map(|value| value.to_string_lossy().into_owned())
}

/// The dialect in effect: from the flag, a child's context, the environment, or the
/// name of the program, in this order.
pub fn dialect(global: &GlobalArgs, by_name: Dialect) -> Result<Dialect, Refusal> {
    dialect_within(global, by_name, children::inherited()?.as_ref())
}

/// The dialect that the environment names, if it names one.
pub fn environment_dialect() -> Option<Dialect> {
    let names = Dialect::ALL.map(|dialect| format!("{}DIALECT", dialect.env_prefix));
    Dialect::parse(&names.iter().find_map(|name| text(name))?)
}

fn dialect_within(
    global: &GlobalArgs,
    by_name: Dialect,
    inherited: Option<&ChildContext>,
) -> Result<Dialect, Refusal> {
    if let Some(known) = global.dialect.or(inherited.map(|inherited| inherited.dialect)) {
        return Ok(known);
    }
    let variables = Dialect::ALL.map(|dialect| format!("{}DIALECT", dialect.env_prefix));
    let Some((variable, name)) = variables.iter().find_map(|name| Some((name, text(name)?))) else {
        return Ok(by_name);
    };
    Dialect::parse(&name).ok_or_else(|| {
        let names = Dialect::ALL.map(|dialect| dialect.name).join(" or ");
        Refusal::invalid_input(format!("{variable}={name:?} is not a dialect; use {names}"))
    })
}

/// Reads what an operation needs to know about its caller.
pub fn context(
    global: &GlobalArgs,
    by_name: Dialect,
    actor: &'static str,
) -> Result<Context<'static>, Refusal> {
    let inherited = children::inherited()?;
    let dialect = dialect_within(global, by_name, inherited.as_ref())?;
    let named = |name: &str| format!("{}{name}", dialect.env_prefix);
    let path_from = |name: &str| variable(&named(name)).map(PathBuf::from);
    let working_directory = std::env::current_dir().map_err(|error| {
        Refusal::new(
            omx_kernel::RefusalCode::Io,
            format!("cannot find the working directory: {error}"),
        )
    })?;
    let home = variable("HOME").map(PathBuf::from);
    let store = Dialect::OMX.env_prefix.to_owned() + "STORE";
    let config_file = Dialect::OMX.env_prefix.to_owned() + "CONFIG";
    let user_folder = variable("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let user_file = variable(&config_file)
        .map(PathBuf::from)
        .or_else(|| user_folder.map(|folder| folder.join(dialect.name).join("config.toml")));
    let (root, state_dir, session) = match inherited {
        Some(context) => (Some(context.root), context.state_dir, context.session),
        None => (path_from("ROOT"), path_from("STATE_DIR"), None),
    };
    // Resolved once: a server looks for the project with every call.
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    Ok(Context {
        ambient: session.map_or_else(|| ambient(dialect), Ambient::Session),
        place: Place {
            working_directory,
            home,
            root: global.root.clone().or(root),
            state_dir,
            runtime: RuntimeFolders::new(runtime_folders, dialect),
        },
        clock: &SystemClock,
        dialect,
        actor,
        lock_deadline: omx_ops::LOCK_DEADLINE,
        config: ConfigSources {
            user_file,
            environment: text(&store)
                .map(|value| ("team.store", value, store))
                .into_iter()
                .collect(),
            flags: global.config.clone(),
        },
        caller: &UncancelledCaller,
        runs: &ProcessLauncher::OwnCaller,
    })
}

/// How long a hook waits for the project's lock.
const HOOK_LOCK_DEADLINE: Duration = Duration::from_millis(300);

/// What a hook is handed.
pub struct HookEnv {
    pub context: Context<'static>,
    pub files: HookFiles,
}

/// The circumstances of a host's event; `None` where omx has no say: in the
/// conversations of its own workers.
pub fn hook(payload: &HookPayload<'_>, by_name: Dialect) -> Option<HookEnv> {
    // A host's hook may call omx by the other dialect's name.
    let is_marked = |dialect: Dialect| variable(&worker_variable(dialect)).is_some();
    if Dialect::ALL.into_iter().any(is_marked) {
        return None;
    }
    let mut context = context(&GlobalArgs::default(), by_name, "hook").ok()?;
    let dialect = context.dialect;
    if let Some(folder) = hook_folder(payload) {
        context.place.working_directory = folder;
    }
    context.lock_deadline = HOOK_LOCK_DEADLINE;
    let files = HookFiles {
        // Other events pay nothing for it.
        records: match &payload.event {
            HookEvent::SessionStart(_) | HookEvent::SessionEnd => records_folder(dialect),
            _ => None,
        },
        environment_file: match &payload.event {
            HookEvent::SessionStart(_) => {
                host_spec(payload.host).environment_file.and_then(variable).map(PathBuf::from)
            }
            _ => None,
        },
    };
    Some(HookEnv { context, files })
}

/// The folder an event is about: the host's own word, else the payload's.
pub fn hook_folder(payload: &HookPayload<'_>) -> Option<PathBuf> {
    let named = host_spec(payload.host).project_folder.and_then(variable).map(PathBuf::from);
    named.or_else(|| payload.cwd.clone()).filter(|folder| folder.is_absolute())
}

/// The caller's environment, for what must hand parts of it down.
pub fn environment() -> BTreeMap<OsString, OsString> {
    let mut variables: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    // A relative entry would depend on where a program stands, such as a worktree.
    if let Some(path) = variables.get_mut(OsStr::new("PATH")) {
        *path = SearchPath::new(path).to_variable();
    }
    variables
}

/// The agent that this process works for, by the guard above it.
pub fn calling_agent() -> Option<CallingAgent> {
    let guard = AncestorGuard::find()?;
    let context =
        guard.context.as_deref().and_then(|text| serde_json::from_str(text.to_str()?).ok());
    Some(CallingAgent { context })
}

/// What agents and their drivers may know of the world.
pub fn agent_env(
    context: &Context<'_>,
    store: &Store,
    scenario: Option<PathBuf>,
    run: Option<&RunId>,
    relay: Option<&Path>,
) -> Result<AgentEnv, Refusal> {
    let omx = std::env::current_exe().map_err(|error| {
        Refusal::new(
            omx_kernel::RefusalCode::Io,
            format!("cannot find the path of this program: {error}"),
        )
    })?;
    let mut child_variables = children::variables(context, store, run, relay)?;
    child_variables.extend(context.passed_variables(store).into_iter().filter_map(|name| {
        let value = text(&name)?;
        Some((name, value))
    }));
    Ok(AgentEnv {
        variables: environment(),
        omx,
        worker_variable: worker_variable(context.dialect),
        child_variables,
        scenario: scenario.map(|file| std::path::absolute(&file).unwrap_or(file)),
        rehearsal_folder: store.tree().join("rehearsal"),
        clock: || SystemClock.now(),
    })
}

/// The variable that marks the processes of omx's workers.
fn worker_variable(dialect: Dialect) -> String {
    format!("{}WORKER", dialect.env_prefix)
}

/// Where live runs of all projects are listed; none without a home.
pub fn registry_folder(dialect: Dialect) -> Option<PathBuf> {
    Some(state_folder(dialect)?.join("runs"))
}

/// omx's folder for what is the person's and no project's; none without a home.
fn state_folder(dialect: Dialect) -> Option<PathBuf> {
    let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join(dialect.name))
}

/// Where a cancel is remembered that the project's folder cannot hold. A folder that
/// others can use does not count, so every candidate is checked when it is used.
fn runtime_folders(dialect: Dialect) -> Vec<PathBuf> {
    let named = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let user = rustix::process::geteuid().as_raw();
    // Callers without the variable must find the same folder.
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let mut folders: Vec<PathBuf> = [named, Some(usual)].into_iter().flatten().collect();
    folders.dedup();
    folders.iter_mut().for_each(|folder| folder.push(dialect.name));
    folders.extend(state_folder(dialect).map(|folder| folder.join("cancelled")));
    // Apart from the temporary folders of runs, which are swept.
    folders.push(PathBuf::from(format!("/tmp/{}-{user}-cancelled", dialect.name)));
    folders
}

/// Where it is recorded which host process holds which conversation.
fn records_folder(dialect: Dialect) -> Option<PathBuf> {
    Some(state_folder(dialect)?.join("hosts"))
}

/// Whether a host above this process holds a conversation. What the process tree shows
/// counts, because an agent sets and unsets variables.
pub fn is_in_conversation(dialect: Dialect) -> bool {
    let Some(records) = records_folder(dialect).filter(|folder| folder.is_dir()) else {
        return false;
    };
    process::ancestors()
        .any(|info| identity::sessions(&record_folder(&records, info.id)) != HostSessions::Unknown)
}

/// Where hosts keep their files, and the program that they call.
pub fn setup_paths(dialect: Dialect, scope: SetupScope) -> Result<SetupPaths, Refusal> {
    let lost = |what: String| Refusal::new(omx_kernel::RefusalCode::Io, what);
    let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let home = home
        .ok_or_else(|| lost("HOME is not set, so the hosts' files cannot be found".to_owned()))?;
    let manifests =
        state_folder(dialect).unwrap_or_else(|| home.join(dialect.dir_name)).join("setup");
    let named = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    Ok(SetupPaths {
        homes: HostHomes::locate(&home, named),
        scope,
        dialect,
        omx: own_program()?,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        manifests,
        hooked: Vec::new(),
        of_others: Vec::new(),
    })
}

/// The path of this program as the person knows it. The target of a link may be gone
/// after the next update.
pub fn own_program() -> Result<PathBuf, Refusal> {
    let lost = |error: std::io::Error| {
        Refusal::new(
            omx_kernel::RefusalCode::Io,
            format!("cannot find the path of this program: {error}"),
        )
    };
    let real = std::env::current_exe().map_err(lost)?;
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let found = if called.components().count() > 1 {
        std::path::absolute(&called).ok()
    } else {
        on_path(&called)
    };
    let is_this = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|path| path == real);
    Ok(found.filter(is_this).unwrap_or(real))
}

/// A program on the search path, outside the project.
pub fn on_path(name: &Path) -> Option<PathBuf> {
    search_path().find(name)
}

/// Where programs are looked up: not in the project that this process stands in.
pub fn search_path() -> SearchPath {
    let folders = SearchPath::new(&variable("PATH").unwrap_or_default());
    let Ok(here) = std::env::current_dir() else { return folders };
    folders.outside_worktree_of(&here, variable("HOME").map(PathBuf::from).as_deref())
}

/// Calls this for every Ctrl-C and every request to terminate.
pub fn on_interrupt(mut call: impl FnMut() + Send + 'static) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for _ in signals.forever() {
            call();
        }
    })?;
    Ok(())
}

/// The variables that name the session of a process.
pub fn session_variables(dialect: Dialect) -> [String; 2] {
    [format!("{}SESSION_ID", dialect.env_prefix), HOST_SESSION.to_owned()]
}

/// The variable in which Claude Code passes its session.
const HOST_SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// The session the caller lives in: our own variable first, then the host's,
/// then what the hosts among the caller's ancestors hold.
fn ambient(dialect: Dialect) -> Ambient {
    let variables = session_variables(dialect);
    let Some((name, value)) = variables.iter().find_map(|name| Some((name, text(name)?))) else {
        let Some(records) = records_folder(dialect).filter(|folder| folder.is_dir()) else {
            return Ambient::None;
        };
        let folders = process::ancestors().map(|info| record_folder(&records, info.id));
        return Ambient::Processes(folders.collect());
    };
    match SessionId::new(&value) {
        Ok(session) => Ambient::Session(session),
        Err(refusal) => Ambient::Unusable(Refusal {
            message: format!("{name}: {}", refusal.message),
            ..refusal
        }),
    }
}
