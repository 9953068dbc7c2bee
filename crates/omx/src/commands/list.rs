//! `list`: lists agents, roles, skills and modes.

use std::time::Duration;

use omx_agents::version::version;
use omx_agents::{AgentKind, Failure};
use omx_host::{Role, Skill, catalog};
use omx_kernel::{Dialect, Mode, Refusal, Value};
use omx_ops::Context;
use omx_rehearsal::driver;

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_agents::ListCommand;
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::printable;

/// Runs the command.
pub fn run(what: ListCommand, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = match &what {
        ListCommand::Agents(flag)
        | ListCommand::Roles(flag)
        | ListCommand::Skills(flag)
        | ListCommand::Modes(flag) => Format::from_flag(flag.json),
        ListCommand::Show(args) => Format::from_flag(args.json),
    };
    with_context(global, by_name, format, |context| match what {
        ListCommand::Agents(_) => agents(context, format),
        ListCommand::Roles(_) => roles(context, format),
        ListCommand::Skills(_) => skills(context, format),
        ListCommand::Modes(_) => Ok(modes(format)),
        ListCommand::Show(args) => show(context, &args.name, format),
    })
}

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lists the agents, and what keeps each from working.
fn agents(context: &Context<'_>, format: Format) -> Result<Exit, Refusal> {
    let store = context.store()?;
    let agent_env = edge::agent_env(context, &store, None, None, None)?;
    let mut rows = Vec::new();
    for kind in AgentKind::ALL.into_iter().filter(|kind| *kind != AgentKind::Rehearsal) {
        let found = driver(kind).find(&agent_env);
        let version = found.as_ref().ok().map(|found| version(found, &agent_env, PATIENCE));
        let failure = match (&found, &version) {
            (Err(trouble), _) | (_, Some(Err(trouble))) => Some(trouble.clone()),
            _ => None,
        };
        rows.push((kind, found.ok(), version.and_then(Result::ok), failure));
    }
    if format == Format::Json {
        let list = rows.iter().map(|(kind, found, version, trouble)| {
            let program = found.as_ref().map(|found| found.program.to_string_lossy());
            Value::record([
                ("name", Value::string(kind.as_str())),
                ("ready", Value::bool(trouble.is_none())),
                ("program", Value::string_or_null(program.as_deref())),
                ("version", Value::string_or_null(version.as_deref())),
                ("problem", Value::string_or_null(trouble.as_ref().map(Failure::kind))),
                (
                    "remedy",
                    Value::string_or_null(trouble.as_ref().and_then(Failure::remedy).as_deref()),
                ),
            ])
        });
        let list = Value::array(list.collect());
        return Ok(output::value(&Value::record([("agents", list)]), format));
    }
    let line = |(kind, _, version, trouble): &(AgentKind, _, Option<String>, Option<Failure>)| {
        let words = match (version, trouble) {
            (_, Some(trouble)) => {
                let remedy = trouble.remedy().map(|remedy| format!("; {remedy}"));
                format!("{trouble}{}", remedy.unwrap_or_default())
            }
            (version, None) => {
                format!("ready, version {}", version.as_deref().unwrap_or("unknown"))
            }
        };
        format!("{:<9}  {words}", kind.as_str())
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.push("rehearsal  built in; plays a --scenario".to_owned());
    Ok(output::lines(&lines))
}

fn load(context: &Context<'_>) -> Result<Vec<Role>, Refusal> {
    let store = context.store()?;
    catalog::load_roles(store.tree(), context.dialect)
        .map_err(|error| Refusal::invalid_input(error.to_string()))
}

fn fields(role: &Role) -> Vec<(String, Value)> {
    let file = role.file.as_ref().map(|path| path.to_string_lossy());
    [
        ("name", Value::string(&role.name)),
        ("description", Value::string(&role.description)),
        ("tier", Value::string(role.tier.as_str())),
        ("tools", Value::string(role.tools.as_str())),
        ("result", Value::string(role.answer.as_str())),
        ("file", Value::string_or_null(file.as_deref())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn roles(context: &Context<'_>, format: Format) -> Result<Exit, Refusal> {
    let roles = load(context)?;
    if format == Format::Json {
        let list = roles.iter().map(|role| Value::object(fields(role))).collect();
        return Ok(output::value(&Value::record([("roles", Value::array(list))]), format));
    }
    let width = roles.iter().map(|role| role.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = roles
        .iter()
        .map(|role| {
            let (tier, own) = (role.tier.as_str(), role.file.as_ref().map_or("", |_| " (own)"));
            format!("{:<width$}  {tier:<6}  {}{own}", role.name, role.description)
        })
        .collect();
    Ok(output::lines(&lines))
}

fn modes(format: Format) -> Exit {
    if format == Format::Json {
        let list = Mode::ALL.iter().map(|mode| {
            Value::record([
                ("name", Value::string(mode.name())),
                ("phases", Value::strings(mode.spec().phases)),
                (
                    "max_iterations",
                    mode.spec().max_iterations.map_or_else(Value::null, Value::integer),
                ),
            ])
        });
        return output::value(&Value::record([("modes", Value::array(list.collect()))]), format);
    }
    let lines: Vec<String> = Mode::ALL
        .iter()
        .map(|mode| {
            let phases = mode.spec().phases;
            let phases =
                if phases.is_empty() { "stage:<name>".to_owned() } else { phases.join(", ") };
            format!("{:<12} {phases}", mode.name())
        })
        .collect();
    output::lines(&lines)
}

fn load_skills(context: &Context<'_>) -> Result<Vec<Skill>, Refusal> {
    let store = context.store()?;
    catalog::load_skills(store.tree(), context.dialect)
        .map_err(|error| Refusal::invalid_input(error.to_string()))
}

fn skill_fields(skill: &Skill) -> Vec<(String, Value)> {
    let file = skill.file.as_ref().map(|path| path.to_string_lossy());
    [
        ("name", Value::string(&skill.name)),
        ("description", Value::string(&skill.description)),
        ("file", Value::string_or_null(file.as_deref())),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

fn skills(context: &Context<'_>, format: Format) -> Result<Exit, Refusal> {
    let skills = load_skills(context)?;
    if format == Format::Json {
        let list = skills.iter().map(|skill| Value::object(skill_fields(skill))).collect();
        return Ok(output::value(&Value::record([("skills", Value::array(list))]), format));
    }
    let width = skills.iter().map(|skill| skill.name.len()).max().unwrap_or(0);
    let lines: Vec<String> = skills
        .iter()
        .map(|skill| {
            let own = skill.file.as_ref().map_or("", |_| " (own)");
            format!("{:<width$}  {}{own}", skill.name, skill.description)
        })
        .collect();
    Ok(output::lines(&lines))
}

fn show(context: &Context<'_>, asked: &str, format: Format) -> Result<Exit, Refusal> {
    let (kind, name) = match asked.split_once(':') {
        Some((kind @ ("role" | "skill"), name)) => (Some(kind), name),
        _ => (None, asked),
    };
    // Read only what was requested: a broken role must not hide a skill.
    let roles = if kind == Some("skill") { Vec::new() } else { load(context)? };
    let skills = if kind == Some("role") { Vec::new() } else { load_skills(context)? };
    let role = roles.iter().find(|role| role.name == name);
    let skill = skills.iter().find(|skill| skill.name == name);
    match (role, skill) {
        (Some(_), Some(_)) => Err(Refusal::invalid_input(format!(
            "{name:?} is a role and a skill; show role:{name} or skill:{name}"
        ))),
        (Some(role), None) => Ok(show_role(role, format)),
        (None, Some(skill)) => Ok(show_skill(skill, format)),
        (None, None) => Err(Refusal::invalid_input(format!(
            "no {} named {name:?}; see list roles and list skills",
            kind.unwrap_or("role or skill")
        ))),
    }
}

fn show_role(role: &Role, format: Format) -> Exit {
    if format == Format::Json {
        let mut all = fields(role);
        all.push(("prompt".to_owned(), Value::string(&role.prompt)));
        return output::value(&Value::object(all), format);
    }
    output::text(&format!(
        "---\nname: {}\ndescription: {}\ntier: {}\ntools: {}\nresult: {}\n---\n\n{}\n",
        printable(&role.name),
        printable(&role.description),
        role.tier.as_str(),
        role.tools.as_str(),
        role.answer.as_str(),
        role.prompt
    ))
}

fn show_skill(skill: &Skill, format: Format) -> Exit {
    if format == Format::Json {
        let mut all = skill_fields(skill);
        all.push(("prompt".to_owned(), Value::string(&skill.prompt)));
        return output::value(&Value::object(all), format);
    }
    output::text(&skill.text)
}
