//! The real codex.

mod approvals;
mod exec;
mod interrupts;
mod wire;

use omx_agents::AgentKind;
use omx_testkit::model::{ModelScript, ModelServer, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome};

use super::cli_stage::{CliProgram, CliStage};
use super::suite::driver_suite;

pub struct Codex;

impl CliProgram for Codex {
    const KIND: AgentKind = AgentKind::Codex;
    const CLI: AgentCli = AgentCli::Codex;
    const CHATTER: usize = 1;
    const ACCOUNT: &'static [&'static str] = &["SCRIPTED_KEY"];

    /// The service reports it twice: in the answer, and precisely in these headers.
    fn limited_until(epoch: u64) -> ScriptedFailure {
        limited_in_words(epoch)
            .header("x-codex-primary-used-percent", "100")
            .header("x-codex-primary-window-minutes", "300")
            .header("x-codex-primary-reset-at", &epoch.to_string())
    }

    fn unknown_model() -> ScriptedFailure {
        ScriptedFailure::status(404).message("the model does not exist")
    }
}

fn limited_in_words(epoch: u64) -> ScriptedFailure {
    ScriptedFailure::status(429).code("usage_limit_reached").resets_at(epoch)
}

driver_suite!(CliStage<Codex>);
driver_suite!(CliStage<Codex>, suite_cleanup: an_interrupt_leaves_no_runaway);

/// A stage for scripts that only codex can play.
fn stage(scripts: impl IntoIterator<Item = ModelScript>) -> CliStage<Codex> {
    let server = ModelServer::start(scripts);
    let home = AgentHome::new(AgentCli::Codex, &server);
    CliStage::new(server, home)
}

/// The program is the one these tests are written for, as omx sees it too.
#[test]
fn codex_has_the_tested_version() {
    <CliStage<Codex> as super::stage::DriverStage>::alone(|| {
        super::suite_failures::has_the_tested_version::<Codex>()
    });
}
