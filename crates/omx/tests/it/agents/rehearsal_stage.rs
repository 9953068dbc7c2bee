//! The stage of the rehearsal agent: a project and a scenario.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use omx_agents::{AgentEnv, AgentKind};
use omx_testkit::TestProject;
use serde_json::{Value, json};

use super::play::{AgentPlay, PlayFailure, PlayStep};
use super::stage::{DriverStage, OMX, WORKER, child_context, clock};

/// A project, and a scenario that is played in it.
pub struct RehearsalStage {
    pub project: TestProject,
    plays: Vec<AgentPlay>,
}

impl RehearsalStage {
    /// A stage with a scenario as a person writes it.
    pub fn playing(name: &str, text: &str) -> Self {
        let project = TestProject::new(OMX);
        project.git();
        let stage = Self { project, plays: Vec::new() };
        fs::write(stage.folder().join(name), text).unwrap();
        stage
    }

    pub fn folder(&self) -> PathBuf {
        self.project.folder()
    }

    pub fn scenario(&self) -> PathBuf {
        self.folder().join("scenario.toml")
    }

    /// Where the agents save their state: the same folder as in the program.
    pub fn kept(&self) -> PathBuf {
        self.root().join(".omx/rehearsal")
    }

    /// The recorded uses of all entries.
    pub fn played(&self) -> Vec<Value> {
        let Ok(folder) = fs::read_dir(self.kept()) else { return Vec::new() };
        let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let files = folder
            .map(|entry| entry.unwrap().path())
            .filter(|path| name(path).starts_with("plays.") && name(path).ends_with(".json"));
        let read = |path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
        files.flat_map(|path| read(path)["plays"].as_array().unwrap().clone()).collect()
    }

    fn plays_named(&self, play: &str) -> Vec<Value> {
        let names: Vec<&str> =
            self.plays.iter().flat_map(|play| turns(play).map(|_| play.name)).collect();
        let of_play = |played: &Value| {
            let entry = usize::try_from(played["entry"].as_u64().unwrap()).unwrap();
            names.get(entry) == Some(&play)
        };
        self.played().into_iter().filter(of_play).collect()
    }
}

impl DriverStage for RehearsalStage {
    const KIND: AgentKind = AgentKind::Rehearsal;
    const CHATTER: usize = 1;

    /// It needs no isolation.
    fn alone<Body: FnOnce()>(body: Body) {
        body();
    }

    fn with(plays: Vec<AgentPlay>) -> Self {
        let mut entries: Vec<Value> = plays.iter().flat_map(entries_of).collect();
        // A scenario needs at least one entry.
        entries.push(json!({"match": "[[script:none]]", "do": [{"say": "nothing"}]}));
        let text = format!("entry = {}", toml(&json!(entries)));
        Self { plays, ..Self::playing("scenario.toml", &text) }
    }

    fn without_vendor() -> Self {
        let fail = "[[entry]]\ndo = [{ fail = { kind = \"network\" } }]\n";
        Self::playing("scenario.toml", fail)
    }

    fn agent_env(&self) -> AgentEnv {
        let variables: [(&str, OsString); 2] = [
            ("PATH", std::env::var_os("PATH").unwrap_or_default()),
            ("HOME", self.project.home().into()),
        ];
        let environment: BTreeMap<OsString, OsString> =
            variables.map(|(name, value)| (name.into(), value)).into();
        AgentEnv {
            variables: environment,
            omx: OMX.into(),
            worker_variable: WORKER.to_owned(),
            child_variables: child_context(&self.project.root()),
            scenario: Some(self.scenario()),
            rehearsal_folder: self.kept(),
            clock,
        }
    }

    fn logged_out(&self) -> Option<AgentEnv> {
        None
    }

    fn root(&self) -> PathBuf {
        self.project.root()
    }

    fn answers(&self, play: &str) -> usize {
        let known = self.plays.iter().find(|known| known.name == play).unwrap();
        let longest = turns(known).map(<[PlayStep]>::len).max().unwrap_or_default();
        // The last step of an entry reports usage; it is not an answer.
        let begun = |played: &Value| (played["step"].as_u64().unwrap() as usize + 1).min(longest);
        self.plays_named(play).iter().map(begun).sum()
    }

    fn is_streaming(&self, play: &str) -> bool {
        self.plays_named(play).last().is_some_and(|played| played["finished"] == json!(false))
    }

    fn history(&self, play: &str) -> String {
        let played = self.plays_named(play);
        let conversation = played.last().unwrap()["conversation"].as_str().unwrap();
        fs::read_to_string(self.kept().join(format!("{conversation}.json"))).unwrap()
    }
}

/// A JSON value as TOML, which writes strings and numbers alike.
fn toml(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name:?} = {}", toml(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

/// The turns of a play: each ends with text instead of the requested answer.
fn turns(play: &AgentPlay) -> impl Iterator<Item = &[PlayStep]> {
    play.steps.split_inclusive(|step| matches!(step, PlayStep::Chatter))
}

/// One entry for each turn. Only the first matches the cue; the others are played
/// once each, in order.
fn entries_of(play: &AgentPlay) -> Vec<Value> {
    let several = turns(play).count() > 1;
    let entry = |(number, turn): (usize, &[PlayStep])| {
        let mut steps: Vec<Value> = turn.iter().map(step).collect();
        if !matches!(turn.last(), Some(PlayStep::Fail(_))) {
            let usage = 1000 * turn.len();
            steps.push(json!({"usage": {"input": usage, "output": usage / 50}}));
        }
        let mut entry = json!({"do": steps});
        if number == 0 {
            entry["match"] = json!(format!("[[script:{}]]", play.name));
        }
        if several {
            entry["times"] = json!(1);
            entry["required"] = json!(false);
        }
        entry
    };
    turns(play).enumerate().map(entry).collect()
}

fn step(step: &PlayStep) -> Value {
    match step {
        PlayStep::Say(words) => json!({ "say": words }),
        PlayStep::SaySlowly => json!({"delay_ms": 60_000}),
        PlayStep::Write(path, content) => json!({"write": {"path": path, "content": content}}),
        PlayStep::Shell(command) => json!({"run": {"command": command}}),
        PlayStep::Mcp(tool, args) => json!({"mcp": {"tool": tool, "args": args}}),
        PlayStep::Answer(value) => json!({ "result": value }),
        PlayStep::Chatter => json!({"say": "no object here"}),
        PlayStep::Fail(failing) => json!({"fail": failure(*failing)}),
    }
}

fn failure(failing: PlayFailure) -> Value {
    match failing {
        PlayFailure::Limited => json!({"kind": "rate_limit"}),
        PlayFailure::LimitedUntil(epoch) => {
            let until = jiff::Timestamp::from_second(epoch.try_into().unwrap()).unwrap();
            json!({"kind": "rate_limit", "until": until.to_string()})
        }
        PlayFailure::Unauthorised => json!({"kind": "auth"}),
        PlayFailure::Service => json!({"kind": "service", "status": 500}),
        PlayFailure::Cut => json!({"kind": "cut"}),
        PlayFailure::UnknownModel => json!({"kind": "unknown_model"}),
    }
}
