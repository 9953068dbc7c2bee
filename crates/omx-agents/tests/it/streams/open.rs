//! The protocol of each driver, without a file or a program behind it.

use std::collections::BTreeMap;
use std::ffi::OsString;

use omx_agents::agent::{ConversationSpec, ConversationStart, McpServerSpec};
use omx_agents::protocol::Protocol;
use omx_agents::{AgentEnv, AgentInstallation, AgentKind, AgentLimits};
use omx_kernel::Timestamp;
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;

/// Enough variables for every driver, so that none reads a file.
fn environment() -> BTreeMap<OsString, OsString> {
    let set = [
        ("PATH", "/bin"),
        ("HOME", "/h"),
        ("GEMINI_API_KEY", "x"),
        ("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "/h/defaults.json"),
    ];
    set.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

pub fn protocol(kind: AgentKind, start: ConversationStart, allow: AllowLevel) -> Box<dyn Protocol> {
    let server = McpServerSpec {
        name: "omx".into(),
        program: "/bin/omx".into(),
        args: vec!["mcp".into()],
        env: Default::default(),
    };
    let spec = ConversationSpec {
        start,
        folder: "/w".into(),
        role: Some("You build.".to_owned()),
        model: Some("some-model".to_owned()),
        allow,
        servers: vec![server],
        max_micro_usd: None,
        schema: None,
        sandbox: omx_agents::sandbox::AgentSandbox::default(),
    };
    let installation = AgentInstallation { kind, program: "/bin/agent".into() };
    let env = AgentEnv {
        variables: environment(),
        omx: "/bin/omx".into(),
        worker_variable: "OMX_WORKER".to_owned(),
        child_variables: Default::default(),
        scenario: Some("/w/scenario.toml".into()),
        rehearsal_folder: "/w/rehearsal".into(),
        clock: || Timestamp::from_millis(1_794_747_160_000),
    };
    let made = driver(kind).protocol(&spec, &installation, &env, &AgentLimits::default());
    made.unwrap()
}
