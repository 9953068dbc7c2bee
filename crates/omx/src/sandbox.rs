//! Reads what the person and the system say about confining agents.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use omx_conductor::sandbox::{RunSandbox, SandboxSetup};
use omx_kernel::approval::AllowLevel;
use omx_kernel::confinement::{
    ConfinedBy, SandboxSetting, UnconfinedReason, UnconfinedStart, WorkspaceAccess,
    unconfined_start,
};
use omx_kernel::{AgentKind, Dialect, EscapedText, Refusal, RefusalCode};
use omx_ops::Context;
use omx_ops::config::Config;
use omx_process::{ConfinementMeans, find_confinement};
use omx_runs::PrivatePlaces;

use crate::consent::{confirm, is_interactive};
use crate::edge;
use crate::output;

/// What agents cannot read unless the person says otherwise: keys, tokens, passwords, and
/// the histories of shells and clients, in which people leave such things.
const SECRETS: [&str; 42] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".password-store",
    ".boto",
    ".s3cfg",
    ".mozilla",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/containers/auth.json",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".docker/config.json",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".kaggle",
    ".local/share/keyrings",
    ".m2/settings.xml",
    ".terraform.d/credentials.tfrc.json",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".mysql_history",
    ".psql_history",
];

/// The person's terminals: who can open one reads what is typed there, and writes as if
/// omx did. A program that needs terminals of its own gets them by `sandbox.write`.
const TERMINALS: &str = "/dev/pts";

/// The longest path for temporary folders, in bytes. A socket's path has at most 107.
const MAX_TEMPORARY: usize = 40;

/// The file in a run's folder that records the person's consent to go unconfined.
const CONSENT_FILE: &str = "unconfined";

/// Whether the person agreed to go unconfined, in this process.
static WAS_AGREED: AtomicBool = AtomicBool::new(false);

/// What the person and the system say.
pub fn setup(context: &Context<'_>, config: &Config) -> SandboxSetup {
    let home = context.place.home.as_deref();
    // An agent can still read its own login.
    let logins = || AgentKind::ALL.into_iter().flat_map(AgentKind::login_files);
    let secret = |home: &Path| SECRETS.iter().chain(logins()).map(|name| home.join(name)).collect();
    let secrets = || home.map(secret).unwrap_or_default();
    let existing = |paths: Vec<PathBuf>| paths.into_iter().filter(|path| path.exists()).collect();
    let mode = config.get("sandbox.mode").and_then(|setting| setting.value.as_str());
    let writable: Vec<PathBuf> = existing(paths(config, "sandbox.write", home).unwrap_or_default());
    let mut hidden: Vec<PathBuf> =
        existing(paths(config, "sandbox.hide", home).unwrap_or_else(secrets));
    let terminals = Path::new(TERMINALS);
    if terminals.exists() && !writable.iter().any(|path| terminals.starts_with(path)) {
        hidden.push(terminals.to_owned());
    }
    SandboxSetup {
        setting: mode.and_then(SandboxSetting::parse).unwrap_or_default(),
        means: find_confinement(edge::on_path(Path::new("bwrap")).as_deref()),
        hidden,
        writable,
        places: places(context.dialect, home),
    }
}

/// The paths of a key; `None` if it is not set.
fn paths(config: &Config, key: &str, home: Option<&Path>) -> Option<Vec<PathBuf>> {
    let items = config.get(key)?.value.as_array()?;
    let path = |text: &str| match text.strip_prefix("~/") {
        Some(below) => Some(home?.join(below)),
        None => Some(PathBuf::from(text)),
    };
    Some(items.iter().filter_map(|item| path(item.as_str()?)).collect())
}

/// The sandbox of a run, or of a question, with this name.
pub fn create(setup: SandboxSetup, name: &str) -> Result<RunSandbox, Refusal> {
    RunSandbox::create(setup, name, &edge::environment()).map_err(|error| {
        Refusal::new(RefusalCode::Io, format!("cannot make private folders for agents: {error}"))
    })
}

/// Whether the person was asked to go unconfined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnconfinedConsent {
    /// There was no need.
    NotNeeded,
    /// They agreed just now.
    Given,
}

/// Lets a start proceed if what it starts is confined, or if the person goes without:
/// asked here on a terminal, or earlier for the run in this folder.
pub fn permit(
    context: &Context<'_>,
    setup: &SandboxSetup,
    confined: ConfinedBy,
    run: Option<&Path>,
) -> Result<UnconfinedConsent, Refusal> {
    let ConfinementMeans::Missing(why) = &setup.means else {
        return Ok(UnconfinedConsent::NotNeeded);
    };
    let program = context.dialect.name;
    let refuse = |advice: String| {
        let why = format!("agents cannot be confined: {why}; {advice}");
        Err(Refusal::new(RefusalCode::NotConfined, why))
    };
    match unconfined_start(setup.setting, &[confined]) {
        // A process that drives the run in the background does not see this flag.
        UnconfinedStart::Permitted if setup.setting == SandboxSetting::Off => {
            Ok(UnconfinedConsent::Given)
        }
        UnconfinedStart::Permitted => Ok(UnconfinedConsent::NotNeeded),
        UnconfinedStart::Forbidden => refuse(format!(
            "your configuration requires it (sandbox = \"required\"); to go without: {program} \
             config set sandbox off"
        )),
        UnconfinedStart::NeedsPerson if run.is_some_and(|run| run.join(CONSENT_FILE).exists()) => {
            Ok(UnconfinedConsent::NotNeeded)
        }
        // A start in the background comes here twice, before and after the run is made.
        UnconfinedStart::NeedsPerson if WAS_AGREED.load(Ordering::Relaxed) => {
            Ok(UnconfinedConsent::Given)
        }
        UnconfinedStart::NeedsPerson if is_interactive() => {
            output::note(&format!("NOT confined: {why}; the agent can change anything you can"));
            if confirm("Start it all the same?") {
                WAS_AGREED.store(true, Ordering::Relaxed);
                return Ok(UnconfinedConsent::Given);
            }
            refuse("you did not agree to go without".to_owned())
        }
        UnconfinedStart::NeedsPerson => refuse(format!(
            "to go without, add --config sandbox=off, or for good: {program} config set sandbox off"
        )),
    }
}

/// Records the person's consent for a run, so that a resume need not ask again.
pub fn record(consent: UnconfinedConsent, run: &Path) {
    if consent == UnconfinedConsent::Given {
        // At worst the person is asked again.
        let _ = std::fs::write(run.join(CONSENT_FILE), "");
    }
}

/// What confines an agent, for the person.
pub fn describe(
    setup: &SandboxSetup,
    agent: AgentKind,
    allow: AllowLevel,
    access: WorkspaceAccess,
) -> String {
    let free = |why: &str| format!("NOT confined: {why}; the agent can change anything you can");
    match setup.confined_by(agent, allow, access) {
        ConfinedBy::Agent => format!("confined  by {agent}'s own sandbox"),
        ConfinedBy::Omx => {
            let what = match access {
                WorkspaceAccess::ReadWrite => "this folder, its own temporary and cache folders",
                WorkspaceAccess::ReadOnly => "can change nothing but temporary and cache folders",
            };
            let mut line = format!("confined  by {}: {what}", setup.means);
            if access == WorkspaceAccess::ReadWrite && !setup.writable.is_empty() {
                let folders: Vec<String> = setup
                    .writable
                    .iter()
                    .map(|path| EscapedText::one_line(&path.to_string_lossy()).to_string())
                    .collect();
                line += &format!(", and {} (sandbox.write)", folders.join(", "));
            }
            line
        }
        ConfinedBy::Nobody(UnconfinedReason::AllAllowed) => free("--allow all"),
        ConfinedBy::Nobody(UnconfinedReason::SwitchedOff) => free("sandbox is off"),
        ConfinedBy::Nobody(UnconfinedReason::Impossible) => free(&setup.means.to_string()),
    }
}

fn places(dialect: Dialect, home: Option<&Path>) -> PrivatePlaces {
    let user = rustix::process::getuid().as_raw();
    let named = |name: &str| edge::text(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let is_short = |path: &PathBuf| path.as_os_str().len() <= MAX_TEMPORARY;
    let base = named("TMPDIR").filter(is_short).unwrap_or_else(|| "/tmp".into());
    let temporary = base.join(format!("{}-{user}", dialect.name));
    let caches = named("XDG_CACHE_HOME").or_else(|| Some(home?.join(".cache")));
    let caches = match caches {
        Some(caches) => caches.join(dialect.name).join("runs"),
        None => temporary.join("caches"),
    };
    PrivatePlaces { temporary, caches }
}
