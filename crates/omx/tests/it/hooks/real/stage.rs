//! A fresh home with omx set up in it, as a person would have it.

use std::process::Stdio;
use std::time::Duration;

use omx_testkit::await_condition;
use omx_testkit::model::{ModelRequest, ModelScript, ModelServer, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, AgentHome};
use serde_json::{Value, json};

use super::live::LiveHost;

/// The program under test.
pub const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// A host with omx set up, and its model.
pub struct HostStage {
    pub cli: AgentCli,
    pub server: ModelServer,
    pub home: AgentHome,
}

impl HostStage {
    /// Sets omx up in a fresh home.
    pub fn new(cli: AgentCli, scripts: impl IntoIterator<Item = ModelScript>) -> Self {
        let server = ModelServer::start(scripts);
        let home = AgentHome::new(cli, &server);
        home.configure();
        let stage = Self { cli, server, home };
        stage.omx(&["setup", "--host", cli.name()]);
        stage
    }

    /// Runs omx in the project, outside any conversation.
    #[track_caller]
    pub fn omx(&self, args: &[&str]) -> String {
        let output =
            self.home.command(OMX).args(args).stdin(Stdio::null()).output().expect("omx runs");
        assert!(output.status.success(), "omx {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The host, ready for prompts.
    pub fn start(&self) -> LiveHost {
        LiveHost::start(self.cli, &self.home)
    }

    /// A mode's document in a conversation.
    #[track_caller]
    pub fn document(&self, session: &str, mode: &str) -> Value {
        let path = format!(".omx/state/sessions/{session}/{mode}-state.json");
        serde_json::from_str(&self.home.read(&path)).unwrap()
    }

    /// Whether a mode has a document in a conversation.
    pub fn has_document(&self, session: &str, mode: &str) -> bool {
        let path = format!(".omx/state/sessions/{session}/{mode}-state.json");
        self.home.root().join(path).exists()
    }

    /// What the model received during a script, by request.
    pub fn requests(&self, script: &str) -> Vec<String> {
        self.server.turns(script).iter().map(|turn: &ModelRequest| turn.body.to_string()).collect()
    }
}

/// What a ralph needs to be complete.
pub fn completion() -> Value {
    json!({"mode": "ralph", "current_phase": "complete", "completion_audit": {
        "passed": true, "checklist": ["it works"],
        "evidence": [{"command": "true", "exit_code": 0}]}})
}

/// A ralph that was held once and then interrupted during a reply: it is active, and
/// no agent works on it. It needs the script [`interrupted`].
#[track_caller]
pub fn interrupted_ralph(stage: &HostStage) -> LiveHost {
    let mut host = stage.start();
    host.prompt("$ralph make it work [[script:first]]");
    let patience = Duration::from_secs(30);
    await_condition("the model speaks", patience, || stage.requests("first").len() == 4);
    host.interrupt();
    host.ended();
    host
}

/// What the model does then; shorter conversations are not compacted.
pub fn interrupted() -> ModelScript {
    let words = "word ".repeat(300);
    ModelScript::named("first")
        .shell("echo one")
        .shell("echo two")
        .say("is that enough?")
        .turn(ScriptTurn::new().say(&words).slowly(Duration::from_millis(200)))
}
