//! `list`: the catalogue, for people and programs.

use omx_host::{Role, catalogue};
use omx_kernel::{Dialect, Mode, Refusal, Value};
use omx_ops::{Context, Input};

use super::with_context;
use crate::cli::{Global, ListWhat};
use crate::exit::Exit;
use crate::output::{self, Format};

/// Lists.
pub fn run(what: ListWhat, global: &Global, by_name: Dialect) -> Exit {
    let format = match &what {
        ListWhat::Roles(flag) | ListWhat::Modes(flag) => Format::from_flag(flag.json),
        ListWhat::Show(args) => Format::from_flag(args.json),
    };
    with_context(global, by_name, format, |context| match what {
        ListWhat::Roles(_) => roles(context, format),
        ListWhat::Modes(_) => Ok(modes(format)),
        ListWhat::Show(args) => show(context, &args.name, format),
    })
}

fn load(context: &Context<'_>) -> Result<Vec<Role>, Refusal> {
    let store = context.store(&Input::default())?;
    catalogue::roles(store.tree()).map_err(|error| Refusal::input(error.to_string()))
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
        return Ok(output::value(&Value::record([("roles", Value::list(list))]), format));
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
                ("phases", Value::strings(mode.row().phases)),
                (
                    "max_iterations",
                    mode.row().max_iterations.map_or_else(Value::null, Value::whole),
                ),
            ])
        });
        return output::value(&Value::record([("modes", Value::list(list.collect()))]), format);
    }
    let lines: Vec<String> = Mode::ALL
        .iter()
        .map(|mode| {
            let phases = mode.row().phases;
            let phases =
                if phases.is_empty() { "stage:<name>".to_owned() } else { phases.join(", ") };
            format!("{:<12} {phases}", mode.name())
        })
        .collect();
    output::lines(&lines)
}

fn show(context: &Context<'_>, name: &str, format: Format) -> Result<Exit, Refusal> {
    let roles = load(context)?;
    let role = roles.iter().find(|role| role.name == name).ok_or_else(|| {
        Refusal::input(format!("there is no role {name:?}; list them with list roles"))
    })?;
    if format == Format::Json {
        let mut all = fields(role);
        all.push(("prompt".to_owned(), Value::string(&role.prompt)));
        return Ok(output::value(&Value::object(all), format));
    }
    Ok(output::text(&format!(
        "---\nname: {}\ndescription: {}\ntier: {}\ntools: {}\nresult: {}\n---\n\n{}\n",
        role.name,
        role.description,
        role.tier.as_str(),
        role.tools.as_str(),
        role.answer.as_str(),
        role.prompt
    )))
}
