//! The real claude: the suite, and what is special to it.

mod interrupts;
mod permissions;
mod schemas;
mod steering;
mod turns;

use omx_agents::AgentKind;
use omx_testkit::model::{ModelScript, ModelServer, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome};

use super::cli_stage::{CliProgram, CliStage};
use super::suite::driver_suite;

pub struct Claude;

impl CliProgram for Claude {
    const KIND: AgentKind = AgentKind::Claude;
    const CLI: AgentCli = AgentCli::Claude;
    const CHATTER: usize = 2;
    const ACCOUNT: &'static [&'static str] = &["CLAUDE_CODE_OAUTH_TOKEN"];
    // A subscription: only to one claude says when a limit ends.
    const VARIABLES: &'static [(&'static str, &'static str)] =
        &[("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-scripted")];

    fn limited_until(epoch: u64) -> ScriptedFailure {
        ScriptedFailure::status(429).resets_at(epoch)
    }

    /// Claude saves a conversation with a delay.
    fn is_kept(home: &AgentHome, conversation: &str) -> bool {
        let projects = home.home().join(".claude/projects");
        let folders = std::fs::read_dir(projects).into_iter().flatten().flatten();
        let mut files = folders.map(|entry| entry.path().join(format!("{conversation}.jsonl")));
        files.any(|file| {
            std::fs::read_to_string(file).is_ok_and(|text| text.contains("\"type\":\"user\""))
        })
    }

    fn unknown_model() -> ScriptedFailure {
        ScriptedFailure::status(404).message("the model does not exist")
    }
}

/// The same with an API key, with which claude behaves slightly differently.
pub struct ClaudeWithKey;

impl CliProgram for ClaudeWithKey {
    const KIND: AgentKind = AgentKind::Claude;
    const CLI: AgentCli = AgentCli::Claude;
    const CHATTER: usize = 2;
    const ACCOUNT: &'static [&'static str] = &["ANTHROPIC_API_KEY"];
    const VARIABLES: &'static [(&'static str, &'static str)] = &[("CLAUDE_CODE_MAX_RETRIES", "2")];

    fn limited_until(epoch: u64) -> ScriptedFailure {
        Claude::limited_until(epoch)
    }

    fn unknown_model() -> ScriptedFailure {
        Claude::unknown_model()
    }
}

type ClaudeStage = CliStage<Claude>;

driver_suite!(ClaudeStage);
driver_suite!(ClaudeStage, suite_cleanup: an_interrupt_leaves_no_runaway);

/// A stage whose model plays these.
fn stage_of<P: CliProgram>(scripts: impl IntoIterator<Item = ModelScript>) -> CliStage<P> {
    let server = ModelServer::start(scripts);
    let home = AgentHome::new(P::CLI, &server);
    CliStage::new(server, home)
}

/// The program is the one these tests are written for, as omx sees it too.
#[test]
fn claude_has_the_tested_version() {
    <CliStage<Claude> as super::stage::DriverStage>::alone(|| {
        super::suite_failures::has_the_tested_version::<Claude>()
    });
}
