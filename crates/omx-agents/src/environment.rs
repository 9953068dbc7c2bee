//! The environment of an agent's process: the variables it needs and nothing
//! else, so that a secret meant for another program never reaches an agent, its
//! tools or its logs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::driver::AgentEnv;

/// Variables that every program gets.
const COMMON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    // Locations of the project's compilers and package managers.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOFLAGS",
    "JAVA_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PNPM_HOME",
    "VOLTA_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "NIX_PATH",
    "NIX_SSL_CERT_FILE",
    "LD_LIBRARY_PATH",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

/// Prefixes of variables that every program gets.
const COMMON_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables that lead to a program outside the agent's confinement, which would act for
/// it: the session bus, the container daemon, agents of keys, terminals. Dropping them
/// hides those programs; it does not close their sockets.
const WAYS_OUT: &[&str] = &[
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "TMUX",
    "TMUX_PANE",
];

/// The environment of an agent: the common variables, the names and prefixes
/// its driver adds, the run's context, and the mark of a worker.
pub fn agent_environment(
    env: &AgentEnv,
    names: &[&str],
    prefixes: &[&str],
    mark: &str,
) -> BTreeMap<OsString, OsString> {
    let wanted = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        if WAYS_OUT.contains(&name) {
            return false;
        }
        COMMON.contains(&name)
            || names.contains(&name)
            || COMMON_PREFIXES.iter().chain(prefixes).any(|prefix| name.starts_with(prefix))
    };
    let own = env.variables.iter().filter(|(name, _)| wanted(name));
    let mut environment: BTreeMap<_, _> =
        own.map(|(name, value)| (name.clone(), value.clone())).collect();
    let child_variables = env.child_variables.iter();
    environment.extend(child_variables.map(|(name, value)| (name.into(), value.into())));
    environment.insert(env.worker_variable.clone().into(), mark.into());
    environment
}

/// Finds a program on the caller's `PATH`.
pub fn find_on_path(env: &AgentEnv, name: &str) -> Option<PathBuf> {
    let path = env.variables.get(OsStr::new("PATH"))?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| {
            rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
        })
}

/// The value of a variable, if it is set and not empty.
pub fn variable<'a>(env: &'a AgentEnv, name: &str) -> Option<&'a OsStr> {
    let value = env.variables.get(OsStr::new(name))?;
    (!value.is_empty()).then_some(value)
}
