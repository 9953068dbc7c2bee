//! The environment of an agent's process: the variables it needs and nothing
//! else, so that a secret meant for another program never reaches an agent, its
//! tools or its logs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use omx_kernel::environment::is_common;
use omx_process::SearchPath;

use crate::driver::AgentEnv;

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
        is_common(name)
            || names.contains(&name)
            || prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let own = env.variables.iter().filter(|(name, _)| wanted(name));
    let mut environment: BTreeMap<_, _> =
        own.map(|(name, value)| (name.clone(), value.clone())).collect();
    let child_variables = env.child_variables.iter();
    environment.extend(child_variables.map(|(name, value)| (name.into(), value.into())));
    environment.insert(env.worker_variable.clone().into(), mark.into());
    environment
}

/// Finds a program on the caller's `PATH`, outside the project.
pub fn find_on_path(env: &AgentEnv, name: &str) -> Option<PathBuf> {
    let path = env.variables.get(OsStr::new("PATH"))?;
    let home = variable(env, "HOME").map(Path::new);
    // omx's own folder for the project is inside it, or outside with nothing to exclude.
    SearchPath::new(path).outside_worktree_of(&env.rehearsal_folder, home).find(name)
}

/// The value of a variable, if it is set and not empty.
pub fn variable<'a>(env: &'a AgentEnv, name: &str) -> Option<&'a OsStr> {
    let value = env.variables.get(OsStr::new(name))?;
    (!value.is_empty()).then_some(value)
}
