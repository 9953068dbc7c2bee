//! Every driver with a misbehaving program: it is ended in time with the right
//! cause (conductor.md 1.3), and receives none of the person's secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use omx_agents::{
    Agent, AgentEnv, AgentEvent, AgentKind, AgentLimits, AgentMessage, Conversation,
    ConversationSpec, ConversationStart, conversation,
};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::await_condition;

use super::stage::{OMX, WORKER};
use super::stand_in::{
    DEADLINE, StandInConversation, StandInFolder, apart, open_files_and_threads,
};

/// For a program that has to be waited for.
const BRIEF: AgentLimits = AgentLimits {
    start: Duration::from_secs(4),
    request: Duration::from_secs(4),
    silence: Duration::from_secs(4),
    interrupt: Duration::from_millis(700),
    end: Duration::from_millis(300),
    write: Duration::from_millis(1000),
    line: 1 << 20,
    garbage: 50,
};

/// For a program whose fault is found at once: even a busy machine starts it in this time.
const PATIENT: AgentLimits = AgentLimits {
    start: Duration::from_secs(60),
    request: Duration::from_secs(60),
    silence: Duration::from_secs(60),
    ..BRIEF
};

/// Two processes, where a driver has a fallback, each with the longest brief deadline and a
/// forced end, and much slack; less than a patient deadline.
const AT_MOST: Duration = Duration::from_secs(50);

/// The drivers of real programs, and the variable that counts as an account.
const DRIVERS: [(AgentKind, &str); 3] = [
    (AgentKind::Codex, "OPENAI_API_KEY"),
    (AgentKind::Claude, "ANTHROPIC_API_KEY"),
    (AgentKind::Gemini, "GEMINI_API_KEY"),
];

/// Name, program, limits, and the accepted causes.
const TABLE: &[(&str, &str, AgentLimits, &[&str])] = &[
    ("prints nothing", "exec sleep 1000", BRIEF, &["silent"]),
    ("never reads", "trap '' INT TERM; while :; do sleep 0.1; done", BRIEF, &["silent"]),
    ("prints garbage for ever", "exec yes garbage", PATIENT, &["garbage"]),
    ("prints garbage, then nothing", "echo hm; exec sleep 1000", BRIEF, &["garbage"]),
    ("prints foreign JSON for ever", "exec yes '{\"x\":1}'", BRIEF, &["silent"]),
    ("prints one endless line", "exec tr '\\0' x </dev/zero", PATIENT, &["line_too_long"]),
    ("is stopped", "kill -STOP $$", BRIEF, &["silent"]),
    ("closes its output", "exec >&-; exec sleep 1000", PATIENT, &["pipe_closed"]),
    ("closes everything", "exec <&- >&- 2>&-; exec sleep 1000", PATIENT, &["pipe_closed"]),
    // Nothing written before that is lost.
    ("closes its input", "exec <&-; exec sleep 1000", BRIEF, &["pipe_closed", "silent"]),
    ("exits at once", "echo why >&2; exit 7", PATIENT, &["crashed", "protocol"]),
    ("exits and leaves a child", "sleep 1000 & exit 7", PATIENT, &["crashed", "protocol"]),
    ("complains for ever", "yes complaint >&2 & exec sleep 1000", BRIEF, &["silent"]),
];

/// A machine on which an agent's program is this script.
struct Machine {
    place: StandInFolder,
    kind: AgentKind,
    agent_env: AgentEnv,
}

impl Machine {
    fn new(kind: AgentKind, account: &str, program: &str) -> Self {
        let place = StandInFolder::new();
        for folder in ["bin", "home", "project"] {
            fs::create_dir(place.at(folder)).unwrap();
        }
        let file = place.at("bin").join(kind.as_str());
        omx_testkit::write_program(&file, program);
        let path = format!("{}:/usr/bin:/bin", place.at("bin").display());
        let environment: [(&str, OsString); 3] =
            [("PATH", path.into()), ("HOME", place.at("home").into()), (account, "x".into())];
        let agent_env = AgentEnv {
            variables: environment.map(|(name, value)| (name.into(), value)).into(),
            omx: OMX.into(),
            worker_variable: WORKER.to_owned(),
            child_variables: Default::default(),
            scenario: None,
            rehearsal_folder: place.at("rehearsal"),
            clock: || omx_kernel::Timestamp::from_millis(0),
        };
        Self { place, kind, agent_env }
    }

    fn open(&self) -> StandInConversation {
        self.open_with(PATIENT)
    }

    fn open_with(&self, limits: AgentLimits) -> StandInConversation {
        let driver = driver(self.kind);
        let installation = driver.find(&self.agent_env).unwrap();
        let spec = ConversationSpec {
            start: ConversationStart::New,
            folder: self.place.at("project"),
            role: None,
            model: None,
            allow: AllowLevel::Commands,
            servers: Vec::new(),
            max_micro_usd: None,
            schema: None,
            sandbox: omx_agents::sandbox::AgentSandbox::default(),
        };
        let (agent, events) = {
            let (sender, events): (_, Receiver<AgentEvent>) = channel();
            let on_event = move |event| drop(sender.send(event));
            let agent_env = &self.agent_env;
            let agent: Conversation =
                conversation::open(driver, &installation, &spec, agent_env, limits, on_event)
                    .unwrap();
            (agent, events)
        };
        StandInConversation { agent, events, seen: Vec::new() }
    }

    fn processes(&self) -> BTreeMap<i32, String> {
        super::stand_in::processes_in(&self.place.at("project"))
    }
}

#[test]
fn every_driver_ends_a_misbehaving_program_in_time_with_the_right_cause() {
    apart(|| {
        let before = open_files_and_threads();
        std::thread::scope(|scope| {
            for (kind, account) in DRIVERS {
                for (name, script, limits, causes) in TABLE {
                    let name = format!("{kind} {name}");
                    let thread = std::thread::Builder::new().name(name.clone());
                    let machine = Machine::new(kind, account, &format!("#!/bin/sh\n{script}\n"));
                    let row = move || ended_by_name(&name, &machine, *limits, causes);
                    thread.spawn_scoped(scope, row).unwrap();
                }
            }
        });
        await_condition("all is given back", DEADLINE, || open_files_and_threads() == before);
    });
}

fn ended_by_name(name: &str, machine: &Machine, limits: AgentLimits, causes: &[&str]) {
    let begun = Instant::now();
    let mut conversation = machine.open_with(limits);
    conversation.agent.send(AgentMessage::text("do"));
    let why = conversation.over().unwrap_or_else(|| panic!("{name}: no failure"));
    let took = begun.elapsed();
    let left = machine.processes();
    assert!(left.is_empty(), "{name}: outlived the end: {left:#?}");
    assert!(causes.contains(&why.kind()), "{name}: {}: {why}", why.kind());
    assert!(took < AT_MOST, "{name}: {took:?}");
    // The command may have come too late to start a turn.
    let last = AgentEvent::Ended(Some(why.clone()));
    let failed = [AgentEvent::TurnFailed(why), last.clone()];
    // A program that receives its prompt first may count as listening before it starts.
    conversation.seen.retain(|event| *event != AgentEvent::Listening);
    assert!(
        conversation.seen == failed || conversation.seen == [last],
        "{name}: {:#?}",
        conversation.seen
    );
}

#[test]
fn every_driver_reports_a_program_that_cannot_start() {
    for (kind, account) in DRIVERS {
        let machine = Machine::new(kind, account, "#!/nowhere/at/all\n");
        let why = machine.open().over().unwrap();
        assert_eq!(why.kind(), "cannot_start", "{why}");
        let program = machine.place.at("bin").join(kind.as_str());
        fs::set_permissions(&program, fs::Permissions::from_mode(0o644)).unwrap();
        let missing = driver(kind).find(&machine.agent_env).unwrap_err();
        assert_eq!(missing.kind(), "not_installed", "{missing}");
    }
}

/// An unrelated secret reaches neither the environment nor the command line of
/// guard and agent, nor any file.
#[test]
fn no_driver_passes_foreign_secrets_to_an_agent() {
    let secrets = [
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GITHUB_TOKEN",
        "NPM_TOKEN",
        "DATABASE_URL",
        "OMX_TEAM_TOKEN",
        "OMX_WORKER",
        "OMX_DATABASE_URL",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
    ];
    for (kind, account) in DRIVERS {
        let mut machine = Machine::new(kind, account, "#!/bin/sh\nexec sleep 1000\n");
        let foreign = secrets.into_iter().filter(|name| *name != account);
        for name in foreign {
            machine.agent_env.variables.insert(name.into(), "canary-5b7e".into());
        }
        machine.agent_env.variables.insert(account.into(), "own-key-5b7e".into());
        let mut meetings = [machine.open(), machine.open()];
        let is_up = |line: &String| line.starts_with("sleep");
        await_condition("both are up", DEADLINE, || {
            machine.processes().values().filter(|line| is_up(line)).count() == 2
        });
        let mut marks = BTreeSet::new();
        for (pid, line) in machine.processes() {
            let environment = text(&format!("/proc/{pid}/environ"));
            assert!(!environment.contains("canary"), "{kind} {line}: {environment}");
            assert!(!line.contains("canary") && !line.contains("own-key"), "{kind}: {line}");
            let mark = environment.split('\0').find_map(|entry| entry.strip_prefix("OMX_WORKER="));
            marks.insert(mark.expect("a mark").to_owned());
        }
        // The cleanup after one conversation never touches another.
        assert_eq!(marks.len(), 2, "{kind}: {marks:?}");
        for conversation in &mut meetings {
            conversation.agent.end();
            assert_eq!(conversation.over(), None);
        }
        no_secret_in(&machine.place.folder());
    }
}

fn text(file: &str) -> String {
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

fn no_secret_in(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_secret_in(&path);
        } else {
            let text = text(path.to_str().unwrap());
            assert!(!text.contains("5b7e"), "{}: {text}", path.display());
        }
    }
}
