//! What a project's sessions share although it belongs to one of them: the teams'
//! `config.json` and the swarm's marker.

use std::path::PathBuf;

use omx_kernel::cancel::{TeamCard, is_in_scope};
use omx_kernel::{Scope, Timestamp, Value};

use crate::dir::{self, open};
use crate::documents::remove_file;
use crate::error::StoreError;
use crate::json;
use crate::lock::LockedStore;
use crate::tree::StateDir;

const TEAMS: &str = "team";
const MARKER: &str = "swarm-active.marker";
const MAX_BYTES: usize = 256 * 1024;

impl StateDir {
    /// The folder of a team.
    pub fn team_path(&self, name: &str) -> PathBuf {
        self.path().join(TEAMS).join(name)
    }

    /// The configuration of every team that can be read. Teams without one belong to no
    /// session.
    pub fn team_configs(&self) -> Vec<TeamCard> {
        let path = self.path().join(TEAMS);
        let Ok(Some(folder)) = open(&self.fd, TEAMS, &path) else { return Vec::new() };
        let names = dir::names(&folder, &path).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| {
                let path = path.join(&name);
                let team = open(&folder, &name, &path).ok()??;
                let file = dir::read(&team, "config.json", &path, MAX_BYTES).ok()??;
                let config = parse_record(&file.bytes)?;
                let text = |field: &str| config.get(field).and_then(Value::as_str);
                let created = text("created_at").or_else(|| text("created"));
                Some(TeamCard {
                    name,
                    session: text("session_id").map(str::to_owned),
                    created: created.and_then(Timestamp::parse),
                })
            })
            .collect()
    }

    /// The session that the swarm's marker names. `None` if there is no marker.
    fn swarm_session(&self) -> Option<Option<String>> {
        let path = self.path().join(MARKER);
        let file = dir::read(&self.fd, MARKER, &path, MAX_BYTES).ok()??;
        let config = parse_record(&file.bytes);
        Some(config.and_then(|config| config.get("session_id")?.as_str().map(str::to_owned)))
    }
}

impl LockedStore {
    /// Removes the swarm's marker if it belongs to this scope, and returns whether it did.
    pub fn remove_swarm_marker(&self, scope: &Scope) -> Result<bool, StoreError> {
        match self.state.swarm_session() {
            Some(session) if is_in_scope(scope, session.as_deref()) => {
                remove_file(&self.state.fd, MARKER, &self.state.path().join(MARKER))
            }
            _ => Ok(false),
        }
    }
}

fn parse_record(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    json::parse(text).ok().filter(|value| value.as_object().is_some())
}
