//! The real codex.

use omx_agents::AgentKind;
use omx_testkit::model::Failure;
use omx_testkit::real_cli::Cli;

use super::cli_stage::{CliStage, Program};
use super::suite::driver_suite;

pub struct Codex;

impl Program for Codex {
    const KIND: AgentKind = AgentKind::Codex;
    const CLI: Cli = Cli::Codex;
    const CHATTER: usize = 1;
    const ACCOUNT: &'static [&'static str] = &["SCRIPTED_KEY"];

    fn limited_until(epoch: u64) -> Failure {
        Failure::status(429).resets_at(epoch)
    }

    fn unknown_model() -> Failure {
        Failure::status(404).message("the model does not exist")
    }
}

driver_suite!(CliStage<Codex>);
