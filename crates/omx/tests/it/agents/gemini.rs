//! The real gemini.

mod driver;

use omx_agents::AgentKind;
use omx_testkit::model::ScriptedFailure;
use omx_testkit::real_cli::AgentCli;

use super::cli_stage::{CliProgram, CliStage};
use super::stage::clock;
use super::suite::driver_suite;

pub struct Gemini;

impl CliProgram for Gemini {
    const KIND: AgentKind = AgentKind::Gemini;
    const CLI: AgentCli = AgentCli::Gemini;
    const CHATTER: usize = 1;
    const CUT: usize = 1;
    const ACCOUNT: &'static [&'static str] = &["GEMINI_API_KEY"];

    fn limited_until(epoch: u64) -> ScriptedFailure {
        // The vendor gives the delay from now.
        let now = u64::try_from(clock().millis() / 1000).unwrap();
        ScriptedFailure::status(429).retry_after(epoch - now)
    }

    fn unknown_model() -> ScriptedFailure {
        ScriptedFailure::status(404).message("the model does not exist")
    }
}

driver_suite!(CliStage<Gemini>);

/// The program is the one these tests are written for, as omx sees it too.
#[test]
fn gemini_has_the_tested_version() {
    <CliStage<Gemini> as super::stage::DriverStage>::alone(|| {
        super::suite_failures::has_the_tested_version::<Gemini>()
    });
}
