//! Cards of what is shared by a project and still belongs to one session: the
//! teams' `config.json` and the swarm's marker.

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
const MAX_CARD_BYTES: usize = 256 * 1024;

impl StateDir {
    /// Where a team's files are.
    pub fn team_path(&self, name: &str) -> PathBuf {
        self.path().join(TEAMS).join(name)
    }

    /// The cards of all teams that can be read; others belong to nobody.
    pub fn team_configs(&self) -> Vec<TeamCard> {
        let path = self.path().join(TEAMS);
        let Ok(Some(folder)) = open(&self.fd, TEAMS, &path) else { return Vec::new() };
        let names = dir::names(&folder, &path).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| {
                let path = path.join(&name);
                let team = open(&folder, &name, &path).ok()??;
                let file = dir::read(&team, "config.json", &path, MAX_CARD_BYTES).ok()??;
                let card = understood(&file.bytes)?;
                let text = |field: &str| card.get(field).and_then(Value::as_str);
                let created = text("created_at").or_else(|| text("created"));
                Some(TeamCard {
                    name,
                    session: text("session_id").map(str::to_owned),
                    created: created.and_then(Timestamp::parse),
                })
            })
            .collect()
    }

    /// The session the swarm's marker names; `None` if there is no marker.
    fn swarm_session(&self) -> Option<Option<String>> {
        let path = self.path().join(MARKER);
        let file = dir::read(&self.fd, MARKER, &path, MAX_CARD_BYTES).ok()??;
        let card = understood(&file.bytes);
        Some(card.and_then(|card| card.get("session_id")?.as_str().map(str::to_owned)))
    }
}

impl LockedStore {
    /// Removes the swarm's marker if it belongs to this scope.
    pub fn remove_swarm_marker(&self, scope: &Scope) -> Result<bool, StoreError> {
        match self.state.swarm_session() {
            Some(session) if is_in_scope(scope, session.as_deref()) => {
                remove_file(&self.state.fd, MARKER, &self.state.path().join(MARKER))
            }
            _ => Ok(false),
        }
    }
}

fn understood(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    json::parse(text).ok().filter(|value| value.as_object().is_some())
}
