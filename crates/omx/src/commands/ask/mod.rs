//! `ask`: asks one agent one question.

mod view;

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use omx_agents::agent::{McpServerSpec, MessageLabels};
use omx_agents::results::{ResultKind, ReviewKind, instructions};
use omx_agents::sandbox::AgentSandbox;
use omx_agents::{
    AgentEnv, AgentKind, AgentLimits, AgentMessage, ConversationId, ConversationSpec,
    ConversationStart, Failure,
};
use omx_conductor::ask::{AskArtifact, AskError, AskReply, AskRequest, AskSession};
use omx_host::{Role, RoleResult, catalog};
use omx_kernel::approval::{AllowLevel, OWN_SERVER};
use omx_kernel::confinement::WorkspaceAccess;
use omx_kernel::ids::slug;
use omx_kernel::{Dialect, Refusal, RefusalCode};
use omx_ops::Context;
use omx_ops::config::{self, Config};
use omx_rehearsal::driver;
use omx_store::{ArtifactFolder, Store};

use self::view::AskView;
use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_agents::AskArgs;
use crate::consent::ask_for_trust;
use crate::edge;
use crate::exit::Exit;
use crate::output::Format;
use crate::{relay, sandbox};

/// Runs the command.
pub fn run(args: &AskArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.json);
    with_context(global, by_name, format, |context| {
        let store = context.store()?;
        ask_for_trust(context, &store)?;
        let config = config::load_trusted(context, &store)?;
        let kind = args.agent;
        let role = args.role.as_deref().map(|name| find_role(context, &store, name)).transpose()?;
        let (allow, access) = (allow(args, &config), access(args));
        let setup = sandbox::setup(context, &config);
        sandbox::permit(context, &setup, setup.confined_by(kind, allow, access), None)?;
        let confinement = sandbox::describe(&setup, kind, allow, access);
        let sandbox = sandbox::create(setup, &format!("ask-{}", std::process::id()))?;
        let relay = sandbox.relay();
        let agent_env =
            edge::agent_env(context, &store, args.scenario.clone(), None, Some(&relay))?;
        relay::listen(&relay, context, &agent_env)?;
        let mut question = read_question(args, kind, role.as_ref(), context, &config, &agent_env)?;
        let folder = &context.place.working_directory;
        question.opening.sandbox = sandbox.of_agent(kind, allow, access, folder, &[]);
        let view = AskView::new(kind, format);
        view.begins(&question, &confinement);
        match ask_agent(kind, &question, &agent_env, &view) {
            Ok(reply) => {
                let kept = keep(context, &store, args, &question, &reply)?;
                Ok(view.reply(&reply, &kept))
            }
            Err(no_reply) => Ok(view.no_reply(&no_reply)),
        }
    })
}

/// What the agent may do without approval.
fn allow(args: &AskArgs, config: &Config) -> AllowLevel {
    let configured = config.get("allow").and_then(|setting| setting.value.as_str());
    let configured = || AllowLevel::parse(configured?);
    args.allow.or_else(configured).unwrap_or(AllowLevel::Commands)
}

/// An agent that answers a question changes nothing, unless the person allows it here.
fn access(args: &AskArgs) -> WorkspaceAccess {
    match args.allow {
        Some(_) => WorkspaceAccess::ReadWrite,
        None => WorkspaceAccess::ReadOnly,
    }
}

fn ask_agent(
    kind: AgentKind,
    question: &AskRequest,
    agent_env: &AgentEnv,
    view: &AskView,
) -> Result<AskReply, AskError> {
    let driver = driver(kind);
    let installation = driver.find(agent_env).map_err(AskError::Failed)?;
    let asking = AskSession::default();
    let stopper = asking.handle();
    let asked_before = AtomicBool::new(false);
    let stop = move || {
        if asked_before.swap(true, Ordering::Relaxed) {
            // On the second signal, exit at once: the guard terminates the agent.
            std::process::exit(Exit::Interrupted.code());
        }
        stopper.stop();
    };
    edge::on_interrupt(stop).map_err(|error| {
        let detail = format!("cannot watch for signals: {error}");
        AskError::Failed(Failure::new(
            kind,
            omx_agents::failure::FailureCause::CannotStart { detail },
        ))
    })?;
    let limits = AgentLimits::default();
    asking.ask(question, driver, &installation, agent_env, limits, |event| view.event(event))
}

fn read_question(
    args: &AskArgs,
    kind: AgentKind,
    role: Option<&Role>,
    context: &Context<'_>,
    config: &Config,
    agent_env: &AgentEnv,
) -> Result<AskRequest, Refusal> {
    let setting =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let allow = allow(args, config);
    let tier = role.map(|role| format!("tiers.{kind}.{}", role.tier.as_str()));
    let model = args.model.clone().or_else(|| tier.as_deref().and_then(setting));
    let start = match &args.resume {
        None => ConversationStart::New,
        Some(id) => ConversationStart::Resume(ConversationId::new(id).ok_or_else(|| {
            Refusal::invalid_input(format!("{id:?} is not the id of a conversation"))
        })?),
    };
    let wants = role.and_then(wanted);
    let mut text = prompt(args)?;
    if let Some(kind) = wants {
        text = format!("{text}\n\n{}", instructions(kind));
    }
    let schema = wants.map(ResultKind::schema);
    let own = McpServerSpec {
        name: OWN_SERVER.to_owned(),
        program: agent_env.omx.clone(),
        args: vec!["mcp".to_owned()],
        env: agent_env.child_variables.clone(),
    };
    Ok(AskRequest {
        opening: ConversationSpec {
            start,
            folder: context.place.working_directory.clone(),
            role: role.map(|role| role.prompt.clone()),
            model,
            allow,
            servers: vec![own],
            max_micro_usd: None,
            schema: schema.clone(),
            sandbox: AgentSandbox::default(),
        },
        message: AgentMessage {
            text,
            schema,
            labels: MessageLabels { role: args.role.clone(), ..MessageLabels::default() },
        },
        wants,
    })
}

fn prompt(args: &AskArgs) -> Result<String, Refusal> {
    let mut text = args.prompt.clone();
    if text == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(|error| {
            Refusal::new(
                RefusalCode::Io,
                format!("cannot read the question from standard input: {error}"),
            )
        })?;
    }
    if text.trim().is_empty() {
        return Err(Refusal::invalid_input("the question is empty"));
    }
    Ok(text)
}

fn find_role(context: &Context<'_>, store: &Store, name: &str) -> Result<Role, Refusal> {
    let roles = catalog::load_roles(store.tree(), context.dialect)
        .map_err(|error| Refusal::invalid_input(error.to_string()))?;
    roles.into_iter().find(|role| role.name == name).ok_or_else(|| {
        let program = context.dialect.name;
        Refusal::invalid_input(format!("no role named {name:?}; list them: {program} list roles"))
    })
}

/// The kind of result that a role returns on its own.
fn wanted(role: &Role) -> Option<ResultKind> {
    match role.answer {
        RoleResult::Plan => Some(ResultKind::Plan),
        RoleResult::Work => Some(ResultKind::Work),
        RoleResult::Verification => Some(ResultKind::Verification),
        RoleResult::Review => Some(ResultKind::Review(match role.name.as_str() {
            "architect" => ReviewKind::Architect,
            "critic" => ReviewKind::Critic,
            _ => ReviewKind::Code,
        })),
        RoleResult::Text => None,
    }
}

/// Saves the question and the answer in the project, and returns the path.
fn keep(
    context: &Context<'_>,
    store: &Store,
    args: &AskArgs,
    question: &AskRequest,
    reply: &AskReply,
) -> Result<String, Refusal> {
    let now = context.clock.now().to_string();
    let prompt = prompt_of(args, question);
    let artifact = AskArtifact {
        agent: args.agent.as_str(),
        role: args.role.as_deref(),
        asked_at: &now,
        prompt: &prompt,
        reply,
        folder: &question.opening.folder,
    };
    let time: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
    let stem = format!("ask-{}-{}-{time}", args.agent, slug(&prompt));
    let locked = store.lock(context.lock_deadline, "ask")?;
    let path =
        locked.write_artifact(ArtifactFolder::Artifacts, &stem, "md", &artifact.markdown())?;
    Ok(path.display().to_string())
}

/// The person's own words, without the role's additions.
fn prompt_of(args: &AskArgs, question: &AskRequest) -> String {
    if args.prompt == "-" { question.message.text.clone() } else { args.prompt.clone() }
}
