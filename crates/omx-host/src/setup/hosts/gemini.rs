//! Gemini CLI: hooks and server in its settings. Hooks of a project it calls
//! with a warning, until they are in its list of trusted ones.

use serde_json::Value;

use super::common::{
    NAME, guidance, hook_command, hook_wishes, markdown_agent, names, server_wish, skills,
};
use crate::HostKind;
use crate::setup::edit::Kind;
use crate::setup::ground::{Catalogue, Scope};
use crate::setup::part::{Own, Rule, Slot, Wish};
use crate::setup::planner::Planner;

const HOST: HostKind = HostKind::Gemini;

pub(crate) fn set_up(planner: &mut Planner<'_>, catalogue: &Catalogue) {
    let home = planner.ground.homes.gemini.clone();
    let omx = planner.ground.omx.clone();
    let scope = planner.ground.scope.clone();
    let (folder, words) = match &scope {
        Scope::User => (home.clone(), home.join("GEMINI.md")),
        Scope::Project(root) => (root.join(".gemini"), root.join("GEMINI.md")),
    };
    let mut wishes = hook_wishes(&omx, HOST);
    wishes.push(server_wish(&omx, Slot::Member(names(&["mcpServers", NAME]))));
    planner.file(HOST, &folder.join("settings.json"), Kind::Json, &wishes);
    if let Scope::Project(root) = &scope {
        let trust = Wish {
            slot: Slot::Element(vec![root.to_string_lossy().into_owned()]),
            value: Value::from(format!("{NAME}:{}", hook_command(&omx, HOST))),
            own: Own::Recorded,
            rule: Rule::Needed,
            what: "the trust in omx's hooks".to_owned(),
        };
        planner.file(HOST, &home.join("trusted_hooks.json"), Kind::Json, &[trust]);
    }
    for role in &catalogue.roles {
        let path = folder.join("agents").join(format!("{}.md", role.name));
        planner.whole(HOST, &path, &markdown_agent(role, &[]));
    }
    skills(planner, HOST, &folder.join("skills"), catalogue);
    guidance(planner, HOST, &words, catalogue);
}
