//! What an agent may do with omx. An agent works for the person within its project and
//! its session; whatever decides about its own limits, or reaches beyond them, is up to
//! the person.

use std::path::Path;

use crate::child_context::ChildContext;
use crate::ids::Scope;
use crate::refusal::{Refusal, RefusalCode};

/// The agent that a process works for, as the guard above it identifies it. What the
/// process itself says about it proves nothing: an agent sets and unsets variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallingAgent {
    /// Whom it works for; unknown if its guard does not say.
    pub context: Option<ChildContext>,
}

/// What a process wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardedAct<'a> {
    /// Something that only the person does; the words complete "an agent cannot …".
    OfPerson(&'a str),
    /// Change something of the project in this folder.
    InProject(&'a Path),
    /// Change documents of this scope of the project in this folder.
    InScope(&'a Path, &'a Scope),
}

/// Refuses what an agent may not do. A process that works for no agent may do all of it.
pub fn check_act(agent: Option<&CallingAgent>, act: GuardedAct<'_>) -> Result<(), Refusal> {
    let Some(agent) = agent else { return Ok(()) };
    let refuse = |what: String| Err(Refusal::new(RefusalCode::PersonOnly, what));
    let name = agent.context.as_ref().and_then(|context| context.run.as_ref());
    let name = name.map_or_else(|| "an agent".to_owned(), |run| format!("an agent of run {run}"));
    let own = |root: &Path| agent.context.as_ref().is_some_and(|context| context.root == root);
    match act {
        GuardedAct::OfPerson(act) => refuse(format!("{name} cannot {act}; the person does that")),
        GuardedAct::InProject(root) | GuardedAct::InScope(root, _) if !own(root) => {
            refuse(format!("{name} cannot change another project: {}", root.display()))
        }
        GuardedAct::InScope(_, scope) => {
            let own = agent.context.as_ref().and_then(|context| context.session.as_ref());
            match scope.session() {
                other if other == own => Ok(()),
                // An agent without a session of its own shares what belongs to none.
                None => Ok(()),
                Some(other) => refuse(format!("{name} cannot change the session {other}")),
            }
        }
        GuardedAct::InProject(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::ids::SessionId;

    fn agent(session: Option<&str>) -> CallingAgent {
        let context = ChildContext {
            root: "/p".into(),
            dialect: Dialect::OMX,
            state_dir: None,
            session: session.map(|name| SessionId::new(name).unwrap()),
            run: None,
            team: None,
            capability: None,
            relay: None,
        };
        CallingAgent { context: Some(context) }
    }

    #[test]
    fn trust_3_4_an_agent_stays_in_its_project_and_its_session() {
        let [own, other] = ["a", "b"].map(|name| Scope::Session(SessionId::new(name).unwrap()));
        let (here, there) = (Path::new("/p"), Path::new("/q"));
        let session = agent(Some("a"));
        let unknown = CallingAgent { context: None };
        for (agent, act, expected) in [
            (None, GuardedAct::OfPerson("answer"), true),
            (None, GuardedAct::InScope(there, &other), true),
            (Some(&session), GuardedAct::OfPerson("answer"), false),
            (Some(&session), GuardedAct::InProject(here), true),
            (Some(&session), GuardedAct::InProject(there), false),
            (Some(&session), GuardedAct::InScope(here, &own), true),
            (Some(&session), GuardedAct::InScope(here, &other), false),
            (Some(&session), GuardedAct::InScope(here, &Scope::Compatibility), true),
            (Some(&session), GuardedAct::InScope(there, &own), false),
            (Some(&agent(None)), GuardedAct::InScope(here, &other), false),
            (Some(&agent(None)), GuardedAct::InScope(here, &Scope::Compatibility), true),
            (Some(&unknown), GuardedAct::InProject(here), false),
        ] {
            assert_eq!(check_act(agent, act).is_ok(), expected, "{agent:?} {act:?}");
        }
    }
}
