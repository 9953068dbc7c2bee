//! Which variables of the caller's environment reach the programs that omx starts: git,
//! checks, hooks, setup commands and agents. Everything else stays with omx, so that a
//! secret meant for another program reaches none of them.

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
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables that lead to a program outside an agent's confinement, which would act for
/// it: the session bus, the container daemon, agents of keys, terminals.
const WAYS_OUT: &[&str] = &[
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "TMUX",
    "TMUX_PANE",
];

/// git's variables that carry the person's configuration. Any other one could redirect a
/// call to another repository, index or editor.
const OF_GIT: &[&str] =
    &["GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"];
const OF_GIT_PREFIXES: &[&str] = &["GIT_CONFIG_", "GIT_LFS_"];

/// Whether every program that omx starts gets this variable.
pub fn is_common(name: &str) -> bool {
    let has_prefix = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (COMMON.contains(&name) || has_prefix) && !WAYS_OUT.contains(&name)
}

/// Whether git gets this variable.
pub fn is_for_git(name: &str) -> bool {
    // The person did not set this: `git -c` exports it to its child processes.
    let is_internal = name == "GIT_CONFIG_PARAMETERS";
    let has_prefix = OF_GIT_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_common(name) || OF_GIT.contains(&name) || (has_prefix && !is_internal)
}

/// The names in the value of `environment.pass`, which are separated by commas or spaces.
pub fn passed_names(value: &str) -> Vec<String> {
    let names = value.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_3_2_only_known_variables_reach_other_programs() {
        for name in ["PATH", "HOME", "LC_ALL", "XDG_CONFIG_HOME", "GIT_AUTHOR_NAME"] {
            assert!(is_common(name) && is_for_git(name), "{name}");
        }
        for name in ["CANARY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "TMUX"] {
            assert!(!is_common(name) && !is_for_git(name), "{name}");
        }
        for name in ["GIT_CONFIG_GLOBAL", "GIT_EXEC_PATH", "GIT_LFS_SKIP_SMUDGE"] {
            assert!(is_for_git(name) && !is_common(name), "{name}");
        }
        for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "GIT_ASKPASS"] {
            assert!(!is_for_git(name), "{name}");
        }
        assert_eq!(passed_names("A, B  C,,"), ["A", "B", "C"]);
    }
}
