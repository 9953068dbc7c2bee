//! The context that this process inherits from the omx process that started it,
//! and the context of the processes that it starts itself (see [`ChildContext`]).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use omx_kernel::{ChildContext, Dialect, Refusal, RefusalCode, RunId, SessionId};
use omx_ops::{Ambient, Context};
use omx_store::Store;

use crate::edge;

/// The context of this process; `None` if no omx process started it for a run.
pub fn inherited() -> Result<Option<ChildContext>, Refusal> {
    for dialect in Dialect::ALL {
        let name = dialect.context_variable;
        if let Some(text) = edge::text(name) {
            return serde_json::from_str(&text).map(Some).map_err(|error| {
                Refusal::invalid_input(format!(
                    "{name} does not hold a context written by {}: {error}",
                    dialect.name
                ))
            });
        }
    }
    Ok(None)
}

/// The variables for processes that are started for a run, or for a single question.
pub fn variables(
    context: &Context<'_>,
    store: &Store,
    run: Option<&RunId>,
    relay: Option<&Path>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let session = match run {
        Some(run) => Some(SessionId::new(run.as_str())?),
        None => match &context.ambient {
            Ambient::Session(session) => Some(session.clone()),
            _ => None,
        },
    };
    let absolute = |folder| context.place.working_directory.join(folder);
    let child = ChildContext {
        root: store.root().to_owned(),
        dialect: context.dialect,
        state_dir: context.place.state_dir.as_ref().map(absolute),
        session,
        run: run.cloned(),
        team: None,
        capability: None,
        relay: relay.map(Path::to_owned),
    };
    let text = serde_json::to_string(&child).map_err(|error| {
        Refusal::new(
            RefusalCode::Io,
            format!("cannot write the context of a child process: {error}"),
        )
    })?;
    Ok([(context.dialect.context_variable.to_owned(), text)].into())
}

/// Removes the context from the environment of a process that works for nobody.
pub fn forget(command: &mut Command) {
    for dialect in Dialect::ALL {
        command.env_remove(dialect.context_variable);
    }
}
