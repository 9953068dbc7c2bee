//! Values of arguments. Names of agents, hosts and levels come from the lists
//! of the crates that own them, so that help and completions show all of them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use omx_kernel::approval::AllowLevel;
use omx_kernel::{AgentKind, Dialect, HostKind, presets};

/// The name of an agent.
pub fn agent() -> impl TypedValueParser<Value = AgentKind> {
    named(AgentKind::NAMES.to_vec(), AgentKind::parse)
}

/// The name of a host.
pub fn host() -> impl TypedValueParser<Value = HostKind> {
    named(HostKind::NAMES.to_vec(), HostKind::parse)
}

/// The name of a host, or `all`.
pub fn hosts() -> impl TypedValueParser<Value = HostSelection> {
    let names = HostKind::NAMES.into_iter().chain([ALL_HOSTS]).collect();
    named(names, HostSelection::parse)
}

/// The name of a dialect.
pub fn dialect() -> impl TypedValueParser<Value = Dialect> {
    named(Dialect::ALL.map(|dialect| dialect.name).to_vec(), Dialect::parse)
}

/// What agents may do without asking.
pub fn allow() -> impl TypedValueParser<Value = AllowLevel> {
    named(AllowLevel::ALL.map(AllowLevel::as_str).to_vec(), AllowLevel::parse)
}

/// The name of a built-in pipeline.
pub fn pipeline() -> PossibleValuesParser {
    PossibleValuesParser::new(presets::names())
}

/// The word for every host.
const ALL_HOSTS: &str = "all";

/// The hosts that a flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSelection(pub Vec<HostKind>);

impl HostSelection {
    fn parse(name: &str) -> Option<Self> {
        match name {
            ALL_HOSTS => Some(Self(HostKind::ALL.to_vec())),
            name => HostKind::parse(name).map(|host| Self(vec![host])),
        }
    }
}

fn named<T: Clone + Send + Sync + 'static>(
    names: Vec<&'static str>,
    parse: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| parse(&name).ok_or("unknown name"))
}
