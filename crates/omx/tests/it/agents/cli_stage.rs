//! The stage of a real program: its home, and the scripted model.

use std::marker::PhantomData;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use omx_agents::{AgentEnv, AgentKind};
use omx_testkit::model::{ModelScript, ModelServer, ReplyProgress, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};

use super::play::{AgentPlay, PlayFailure, PlayStep};
use super::stage::{DriverStage, OMX, WORKER, child_context, clock};

/// What differs between the programs.
pub trait CliProgram {
    const KIND: AgentKind;
    const CLI: AgentCli;
    /// How often the program requests a missing structured answer before it gives up.
    const CHATTER: usize;
    /// The vendor's form of "limited until".
    fn limited_until(epoch: u64) -> ScriptedFailure;
    /// The vendor's form of "no such model".
    fn unknown_model() -> ScriptedFailure;
    /// Whether the program has saved a conversation.
    fn is_kept(_home: &AgentHome, _conversation: &str) -> bool {
        true
    }
    /// Variables without which the program has no account.
    const ACCOUNT: &'static [&'static str];
    /// The number of events after which a text answer is cut.
    const CUT: usize = 2;
    /// Additional variables of its environment.
    const VARIABLES: &'static [(&'static str, &'static str)] = &[];
}

/// The stage of a real program.
pub struct CliStage<P> {
    pub server: ModelServer,
    pub home: AgentHome,
    program: PhantomData<P>,
}

impl<P: CliProgram> CliStage<P> {
    pub fn new(server: ModelServer, home: AgentHome) -> Self {
        let add = |home: AgentHome, (name, value): &(&str, &str)| home.env(name, value);
        let home = P::VARIABLES.iter().fold(home, add);
        home.configure();
        Self { server, home, program: PhantomData }
    }
}

impl<P: CliProgram> DriverStage for CliStage<P> {
    const KIND: AgentKind = P::KIND;
    const CHATTER: usize = P::CHATTER;

    fn alone<Body: FnOnce()>(body: Body) {
        offline(&[P::CLI], body);
    }

    fn with(plays: Vec<AgentPlay>) -> Self {
        let server = ModelServer::start(plays.iter().map(script::<P>));
        let home = AgentHome::new(P::CLI, &server);
        Self::new(server, home)
    }

    fn without_vendor() -> Self {
        // A port that was free a moment ago: nothing listens there.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let home = AgentHome::with_model_at(P::CLI, format!("http://127.0.0.1:{port}"));
        Self::new(ModelServer::start([]), home)
    }

    fn agent_env(&self) -> AgentEnv {
        AgentEnv {
            variables: self.home.environment(),
            omx: OMX.into(),
            worker_variable: WORKER.to_owned(),
            child_variables: child_context(&self.home.root()),
            scenario: None,
            rehearsal_folder: self.home.folder().join("rehearsal"),
            clock,
        }
    }

    fn logged_out(&self) -> Option<AgentEnv> {
        let mut agent_env = self.agent_env();
        for name in P::ACCOUNT {
            let name = std::ffi::OsStr::new(name);
            agent_env.variables.remove(name).expect("the account was there");
        }
        Some(agent_env)
    }

    fn root(&self) -> PathBuf {
        self.home.root()
    }

    fn answers(&self, play: &str) -> usize {
        self.server.turns(play).len()
    }

    fn is_streaming(&self, play: &str) -> bool {
        let turns = self.server.turns(play);
        turns.last().is_some_and(|turn| turn.progress == ReplyProgress::Streaming)
    }

    fn is_kept(&self, conversation: &str) -> bool {
        P::is_kept(&self.home, conversation)
    }

    fn history(&self, play: &str) -> String {
        let turns = self.server.turns(play);
        turns.last().map(|turn| turn.body.to_string()).unwrap_or_default()
    }
}

fn script<P: CliProgram>(play: &AgentPlay) -> ModelScript {
    let mut script = ModelScript::named(play.name);
    for step in &play.steps {
        script = match step {
            PlayStep::Say(words) => script.say(words),
            PlayStep::SaySlowly => {
                let words = "word ".repeat(300);
                script.turn(ScriptTurn::new().say(&words).slowly(Duration::from_millis(200)))
            }
            PlayStep::Write(path, content) => script.write(path, content),
            PlayStep::Shell(command) => script.shell(command),
            PlayStep::Mcp(tool, arguments) => script.mcp("omx", tool, arguments.clone()),
            PlayStep::Answer(value) => script.answer(value.clone()),
            PlayStep::Chatter => {
                (0..P::CHATTER).fold(script, |script, _| script.say("no object here"))
            }
            PlayStep::Fail(failing) => {
                // An answer must have content to be cut in the middle.
                let turn = ScriptTurn::new().say("half of it");
                script.turn(turn.failing(failure::<P>(*failing)))
            }
        };
    }
    script
}

fn failure<P: CliProgram>(failing: PlayFailure) -> ScriptedFailure {
    match failing {
        PlayFailure::Limited => ScriptedFailure::status(429),
        PlayFailure::LimitedUntil(epoch) => P::limited_until(epoch),
        PlayFailure::Unauthorised => ScriptedFailure::status(401),
        PlayFailure::Service => ScriptedFailure::status(500),
        PlayFailure::Cut => ScriptedFailure::cut_after(P::CUT),
        PlayFailure::UnknownModel => P::unknown_model(),
    }
}
