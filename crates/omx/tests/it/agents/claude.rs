//! The real claude.

use omx_agents::AgentKind;
use omx_testkit::model::Failure;
use omx_testkit::real_cli::Cli;

use super::cli_stage::{CliStage, Program};
use super::suite::driver_suite;

pub struct Claude;

impl Program for Claude {
    const KIND: AgentKind = AgentKind::Claude;
    const CLI: Cli = Cli::Claude;
    const CHATTER: usize = 2;
    const ACCOUNT: &'static [&'static str] = &["CLAUDE_CODE_OAUTH_TOKEN"];
    // A subscription: only to one claude says when a limit ends.
    const VARIABLES: &'static [(&'static str, &'static str)] =
        &[("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-scripted")];

    fn limited_until(epoch: u64) -> Failure {
        Failure::status(429).resets_at(epoch)
    }

    fn unknown_model() -> Failure {
        Failure::status(404).message("the model does not exist")
    }
}

driver_suite!(CliStage<Claude>);
