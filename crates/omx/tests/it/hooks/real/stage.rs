//! A fresh home with omx set up in it, as a person would have it.

use std::process::Stdio;

use omx_testkit::model::{ModelServer, Request, Script};
use omx_testkit::real_cli::{AgentHome, Cli};
use serde_json::Value;

use super::live::Live;

/// The program under test.
pub const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// A host with omx set up, and its model.
pub struct Stage {
    pub cli: Cli,
    pub server: ModelServer,
    pub home: AgentHome,
}

impl Stage {
    /// Sets omx up in a fresh home.
    pub fn new(cli: Cli, scripts: impl IntoIterator<Item = Script>) -> Self {
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
    pub fn start(&self) -> Live {
        Live::start(self.cli, &self.home)
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

    /// What the model was sent in the course of a script, from each request on.
    pub fn requests(&self, script: &str) -> Vec<String> {
        self.server.turns(script).iter().map(|turn: &Request| turn.body.to_string()).collect()
    }
}
