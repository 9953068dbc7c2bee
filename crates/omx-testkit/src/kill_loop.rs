//! quality.md R2: commands that change something are killed at random moments,
//! over and over, in one project with several sessions.
//!
//! What is checked each time: what was answered is there, no file is torn,
//! nothing lies in the way, and the next command succeeds at once.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::binary::release_binary;
use crate::project::TestProject;
use crate::random::Random;
use crate::tree::{DocumentTree, leftovers};

const SESSIONS: [&str; 3] = ["one", "two", "three"];
/// "At once", on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(3);
/// The longest a command is let run before it is killed.
const LONGEST_MICROS: usize = 3_000;

/// What a loop went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct KillLoopReport {
    /// Commands that were started.
    pub started: usize,
    /// Those that had answered when they were killed or ended.
    pub answered: usize,
    /// Those of which nothing was seen when they were killed.
    pub silent: usize,
    /// Rounds in which something was written and not answered.
    pub unanswered_effects: usize,
}

/// A command and what its success means.
#[derive(Clone, Debug)]
enum KillLoopCommand {
    /// This session's ralph carries this note.
    Note { session: &'static str, value: u64 },
    /// These two modes of this session are linked.
    Link { session: &'static str },
    /// Nothing is active in this session.
    Cancel { session: &'static str },
    /// Nothing is active anywhere.
    CancelAll,
    /// This session has no such document.
    Clear { session: &'static str },
    /// No session has one.
    ClearAll,
    /// There is no document at all.
    Force,
    /// The configuration says so.
    Config { value: u64 },
}

impl KillLoopCommand {
    fn random(random: &mut Random, value: u64) -> Self {
        let session = *random.choose(&SESSIONS);
        match random.below(16) {
            0..=6 => Self::Note { session, value },
            7 | 8 => Self::Link { session },
            9 | 10 => Self::Cancel { session },
            11 => Self::CancelAll,
            12 => Self::Clear { session },
            13 => Self::ClearAll,
            14 => Self::Force,
            _ => Self::Config { value: 1 + value % 20 },
        }
    }

    fn args(&self) -> Vec<String> {
        let write = |input: Value| {
            ["state", "write", "--json", "--input", &input.to_string()].map(str::to_owned).to_vec()
        };
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match self {
            Self::Note { session, value } => write(
                json!({"mode":"ralph","session_id":session,"state":{"note":value,"again":value}}),
            ),
            Self::Link { session } => {
                write(json!({"mode":"ralph","session_id":session,"linked_ultrawork":true}))
            }
            Self::Cancel { session } => words(&format!("cancel --json --session-id {session}")),
            Self::CancelAll => words("cancel --json --every-session"),
            Self::Clear { session } => {
                words(&format!("state clear --json --mode ralph --session-id {session}"))
            }
            Self::ClearAll => {
                words(r#"state clear --json --input {"mode":"ralph","all_sessions":true}"#)
            }
            Self::Force => words("cancel --json --force"),
            Self::Config { value } => words(&format!("config set team.maxAgents {value}")),
        }
    }

    /// What must be seen after its answer.
    fn check(&self, project: &TestProject, at: &str) {
        let documents = DocumentTree::read(project);
        let scopes = documents.scopes();
        let scope_of = |session: &str| scopes.get(&folder(session)).cloned().unwrap_or_default();
        let is_active = |document: &Value| document["active"] == true;
        match self {
            Self::Note { session, value } => {
                let ralph = &scope_of(session)["ralph"];
                assert!(ralph["note"] == *value && ralph["again"] == *value, "{at}: {ralph}");
            }
            Self::Link { session } => {
                let scope = scope_of(session);
                assert_eq!(scope["ralph"]["linked_ultrawork"], true, "{at}");
                assert_eq!(scope["ultrawork"]["linked_to_ralph"], true, "{at}");
            }
            Self::Cancel { session } => assert!(!scope_of(session).values().any(is_active), "{at}"),
            Self::CancelAll => {
                assert!(!scopes.values().flat_map(BTreeMap::values).any(is_active), "{at}");
            }
            Self::Clear { session } => assert!(!scope_of(session).contains_key("ralph"), "{at}"),
            Self::ClearAll => {
                assert!(!scopes.values().any(|scope| scope.contains_key("ralph")), "{at}");
            }
            Self::Force => assert!(scopes.is_empty(), "{at}: {scopes:?}"),
            Self::Config { value } => {
                let text = documents.raw("home/.config/omx/config.toml").unwrap_or_default();
                assert!(text.contains(&format!("maxAgents = {value}")), "{at}: {text}");
            }
        }
    }
}

fn folder(session: &str) -> String {
    format!("project/.omx/state/sessions/{session}")
}

/// Runs the loop; a broken rule is a panic that names seed and round.
pub fn kill_loop(rounds: usize, seed: u64) -> KillLoopReport {
    let mut random = Random::new(seed);
    let project = TestProject::new(release_binary());
    let mut report = KillLoopReport::default();
    for round in 0..rounds {
        let at = format!("seed {seed}, round {round}");
        if round % 5 == 4 {
            several_at_once(&project, &mut random, round, &at, &mut report);
        } else {
            one_alone(&project, &mut random, round, &at, &mut report);
        }
    }
    report
}

fn one_alone(
    project: &TestProject,
    random: &mut Random,
    round: usize,
    at: &str,
    tally: &mut KillLoopReport,
) {
    make_ready(project);
    let old = DocumentTree::read(project);
    let command = KillLoopCommand::random(random, 1_000 + round as u64);
    let at = format!("{at}: {command:?}");
    let mut child = start(project, &command.args());
    std::thread::sleep(Duration::from_micros(random.below(LONGEST_MICROS) as u64));
    let answer = kill(&mut child);
    tally.started += 1;
    let is_answered = answer.ends_with('\n');
    if is_answered {
        tally.answered += 1;
        assert!(!answer.contains("\"error\":"), "{at}: {answer}");
        command.check(project, &at);
    } else {
        tally.silent += 1;
        tally.unanswered_effects += usize::from(DocumentTree::read(project) != old);
    }
    nothing_is_torn(project, &old, &at);
    next_succeeds(project, &command, &at);
}

/// Four write different fields of one document, and two of them are killed.
fn several_at_once(
    project: &TestProject,
    random: &mut Random,
    round: usize,
    at: &str,
    tally: &mut KillLoopReport,
) {
    make_ready(project);
    let old = DocumentTree::read(project);
    let before = project.session_document("one", "ralph");
    let mut children: Vec<Child> = (0..4)
        .map(|writer| {
            let field = json!({(format!("f{writer}")): round, (format!("g{writer}")): round});
            let input = json!({"mode":"ralph","session_id":"one","state":field}).to_string();
            start(project, &["state", "write", "--json", "--input", &input].map(str::to_owned))
        })
        .collect();
    tally.started += 4;
    std::thread::sleep(Duration::from_micros(random.below(2 * LONGEST_MICROS) as u64));
    let first = random.below(2);
    let killed = [first, 2 + random.below(2)];
    let mut answers = vec![String::new(); 4];
    for writer in killed {
        answers[writer] = kill(&mut children[writer]);
    }
    for writer in (0..4).filter(|writer| !killed.contains(writer)) {
        answers[writer] = finish(&mut children[writer]);
        assert!(answers[writer].contains("\"success\":true"), "{at}: {}", answers[writer]);
    }
    let after = project.session_document("one", "ralph");
    let mut effects = 0;
    for (writer, answer) in answers.iter().enumerate() {
        let (one, other) = (&after[format!("f{writer}")], &after[format!("g{writer}")]);
        assert_eq!(one, other, "{at}: half of a write");
        let is_there = *one == round;
        effects += u64::from(is_there);
        if answer.ends_with('\n') {
            tally.answered += 1;
            assert!(is_there, "{at}: writer {writer} was answered {answer:?}, and it is lost");
        } else {
            tally.silent += 1;
            tally.unanswered_effects += usize::from(is_there);
        }
    }
    let revision = |document: &Value| document["revision"].as_u64().expect("a revision");
    assert_eq!(revision(&after), revision(&before) + effects, "{at}: {after}");
    nothing_is_torn(project, &old, at);
    next_succeeds(project, &KillLoopCommand::Note { session: "one", value: round as u64 }, at);
}

/// Every session has an active ralph with an ultrawork beside it.
fn make_ready(project: &TestProject) {
    for session in SESSIONS {
        for mode in ["ralph", "ultrawork"] {
            let path = project.session(session, &format!("{mode}-state.json"));
            let text = std::fs::read_to_string(path).unwrap_or_else(|_| "{}".into());
            let document: Value = serde_json::from_str(&text).expect("a whole document");
            if document["active"] != true {
                project.put(json!({"mode":mode,"session_id":session,"active":true,"start":true}));
            }
        }
    }
}

fn start(project: &TestProject, args: &[String]) -> Child {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut command = project.omx_command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("omx starts")
}

/// Kills a command; what it had said until then comes back.
fn kill(child: &mut Child) -> String {
    let _ = child.kill();
    finish(child)
}

fn finish(child: &mut Child) -> String {
    let mut text_seen = String::new();
    let stdout = child.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut text_seen).expect("text");
    child.wait().expect("it ends");
    text_seen
}

/// Each document is the old one or a later one, whole.
fn nothing_is_torn(project: &TestProject, old: &DocumentTree, at: &str) {
    let now = DocumentTree::read(project);
    for path in now.paths().filter(|path| path.ends_with(".json")) {
        let text = now.raw(path).unwrap_or_default();
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{at}: {path}: {error}"));
        let before: Value = serde_json::from_str(old.raw(path).unwrap_or("{}")).expect("whole");
        let (revision, last) = (document["revision"].as_u64(), before["revision"].as_u64());
        assert!(revision >= last, "{at}: {path} went back from {last:?} to {revision:?}");
        assert!(revision > last || now.raw(path) == old.raw(path), "{at}: {path} changed silently");
        assert_eq!(document["active"] == true, document["completed_at"].is_null(), "{at}: {path}");
    }
    for scope in now.scopes().values() {
        let is_live = |mode: &str| scope.get(mode).is_some_and(|it| it["active"] == true);
        let linked = scope.get("ultrawork").is_some_and(|it| it["linked_to_ralph"] == true);
        let has_ended = scope
            .get("ralph")
            .is_some_and(|it| it["active"] == false && it["linked_ultrawork"] == true);
        assert!(!(linked && has_ended && is_live("ultrawork")), "{at}: ultrawork outlived ralph");
    }
    let listed = project.omx(&["state", "list-active", "--json"]).ok();
    assert!(listed.get("unreadable").is_none(), "{at}: {listed}");
}

/// The command once more, and another one: both at once, and nothing is left over.
fn next_succeeds(project: &TestProject, command: &KillLoopCommand, at: &str) {
    let needs_ralph =
        matches!(command, KillLoopCommand::Note { .. } | KillLoopCommand::Link { .. });
    let start = Instant::now();
    let args = command.args();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = project.omx(&args);
    assert_eq!(outcome.code, Some(0), "{at}: the next command: {outcome:?}");
    assert!(start.elapsed() < AT_ONCE, "{at}: it took {:?}", start.elapsed());
    if needs_ralph || !outcome.stdout.contains("\"error\"") {
        command.check(project, at);
    }
    assert_eq!(leftovers(project), Vec::<String>::new(), "{at}");
}
