//! Every command that changes something, each with a project to change: what
//! the crash tests walk through, call by call.

use omx_testkit::strace::{Syscall, trace};
use omx_testkit::tree::{DocumentTree, copy};
use omx_testkit::{TestProject, release_binary};
use serde_json::{Value, json};

/// A command and the project it is run in.
pub struct CrashScenario {
    /// For messages.
    pub name: &'static str,
    args: Vec<String>,
    prepare: fn(&TestProject),
}

/// A scenario that was run once from end to end, undisturbed.
pub struct RecordedScenario {
    /// For messages.
    pub name: &'static str,
    /// The command.
    pub args: Vec<String>,
    /// The project as it was before.
    pub template: TestProject,
    /// Its documents before.
    pub old: DocumentTree,
    /// Documents a larger operation leaves on its way, if it has more than one step.
    pub middle: DocumentTree,
    /// Its documents after.
    pub new: DocumentTree,
    /// All calls on files of the project, the answer and the end.
    pub calls: Vec<Syscall>,
}

impl RecordedScenario {
    /// The command as it is given to the program.
    pub fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    /// A fresh project of this scenario.
    pub fn project(&self) -> TestProject {
        copy(&self.template)
    }

    /// Whether the program answers in JSON.
    pub fn answers_in_json(&self) -> bool {
        self.args.iter().any(|arg| arg == "--json")
    }
}

impl CrashScenario {
    /// Runs it undisturbed, under strace.
    #[track_caller]
    pub fn record(&self) -> RecordedScenario {
        let template = TestProject::new(release_binary());
        (self.prepare)(&template);
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let stage = copy(&template);
        let (outcome, calls) = trace(&stage, &args);
        assert_eq!(outcome.code, Some(0), "{}: {outcome:?}", self.name);
        let middle = if args.contains(&"--force") {
            let stage = copy(&template);
            stage.omx(&["cancel", "--every-session", "--json"]).ok();
            DocumentTree::read(&stage)
        } else {
            DocumentTree::default()
        };
        RecordedScenario {
            name: self.name,
            args: self.args.clone(),
            old: DocumentTree::read(&template),
            new: DocumentTree::read(&stage),
            middle,
            template,
            calls,
        }
    }
}

fn write(name: &'static str, input: Value, prepare: fn(&TestProject)) -> CrashScenario {
    let input = input.to_string();
    let args = ["state", "write", "--input", &input, "--json"].map(str::to_owned).to_vec();
    CrashScenario { name, args, prepare }
}

fn command(name: &'static str, args: &[&str], prepare: fn(&TestProject)) -> CrashScenario {
    CrashScenario { name, args: args.iter().map(|arg| (*arg).to_owned()).collect(), prepare }
}

/// All of them.
pub fn all() -> Vec<CrashScenario> {
    let iteration = json!({"mode":"ralph","session_id":"one","iteration":3,"state":{"note":"new"}});
    vec![
        write(
            "first write in a project",
            json!({"mode":"ralph","active":true,"session_id":"one","state":{"note":"first"}}),
            |_| {},
        ),
        write(
            "first write outside a session",
            json!({"mode":"ultrawork","active":true,"task_description":"all of it"}),
            |project| {
                project.write(".omx/plans/prd.md", "a plan\n");
            },
        ),
        write("write on a document", iteration.clone(), two_sessions),
        write("write among leftovers", iteration, |project| {
            two_sessions(project);
            for name in [".ralph-state.json.tmp", ".ultraqa-state.json.tmp"] {
                project.write(&format!(".omx/state/sessions/one/{name}"), "{\"mode\":");
            }
        }),
        write(
            "write that links two documents",
            json!({"mode":"ralph","session_id":"one","linked_ultrawork":true}),
            |project| {
                two_sessions(project);
                project.put(json!({"mode":"ultrawork","active":true,"session_id":"one"}));
            },
        ),
        write(
            "hand-over from ralplan to ralph",
            json!({"mode":"ralph","active":true,"session_id":"one"}),
            agreed_plan,
        ),
        write(
            "write that ends a linked chain",
            json!({"mode":"autopilot","session_id":"one","run_outcome":"failed","error":"x"}),
            chain,
        ),
        write(
            "write over a corrupt document",
            json!({"mode":"ralph","active":true,"session_id":"one"}),
            |project| {
                two_sessions(project);
                project.write(CORRUPT_PATH, CORRUPT);
            },
        ),
        command(
            "clear",
            &["state", "clear", "--mode", "ralph", "--session-id", "one", "--json"],
            two_sessions,
        ),
        command(
            "clear of all sessions",
            &["state", "clear", "--input", r#"{"mode":"ralph","all_sessions":true}"#, "--json"],
            |project| {
                project.put(json!({"mode":"ralph","active":true}));
                two_sessions(project);
                project.omx(&["cancel", "--session-id", "two", "--json"]).ok();
            },
        ),
        command("cancel of a linked chain", &["cancel", "--json"], chain),
        command("cancel of a session", &["cancel", "--session-id", "one", "--json"], two_sessions),
        command(
            "cancel beside a corrupt document",
            &["cancel", "--session-id", "one", "--json"],
            |project| {
                chain(project);
                project.write(".omx/state/sessions/one/ultraqa-state.json", CORRUPT);
            },
        ),
        command("cancel of every session", &["cancel", "--every-session", "--json"], everywhere),
        command("cancel by force", &["cancel", "--force", "--json"], |project| {
            everywhere(project);
            project.write(".omx/state/checkpoints/one/two.json", "{}");
            project.write(".omx/state/boulder.json", "{}");
            project.write(".omx/plans/prd.md", "a plan\n");
        }),
        command("first config set", &["config", "set", "keywords", "phrases"], |_| {}),
        command("config set", &["config", "set", "team.maxAgents", "7", "--project"], |project| {
            project.write(".omx/config.toml", "# mine\n[team]\nmaxAgents = 3 # three\n");
        }),
    ]
}

/// Where the unreadable document of these tests is.
const CORRUPT_PATH: &str = ".omx/state/sessions/one/ralph-state.json";
/// What it says.
pub const CORRUPT: &str = "{\"mode\":\"ralph\",\"active\":tr";

fn two_sessions(project: &TestProject) {
    project.put(json!({"mode":"ralph","active":true,"session_id":"one","state":{"note":"old"}}));
    project.put(json!({"mode":"ralph","active":true,"session_id":"two","state":{"big":1.10}}));
}

fn chain(project: &TestProject) {
    project.put(json!({"mode":"autopilot","active":true,"session_id":"one"}));
    project.put(
        json!({"mode":"ralph","active":true,"session_id":"one","state":{"linked_to":"autopilot"}}),
    );
    project.put(json!({
        "mode":"ultrawork","active":true,"session_id":"one","state":{"linked_to_ralph":true}
    }));
    assert_eq!(project.session_document("one", "ralph")["linked_ultrawork"], true);
}

fn everywhere(project: &TestProject) {
    project.put(json!({"mode":"ecomode","active":true}));
    chain(project);
    project.put(json!({"mode":"ultraqa","active":true,"session_id":"two"}));
    project.put(json!({"mode":"team","active":true,"session_id":"three"}));
    project.omx(&["cancel", "--session-id", "three", "--json"]).ok();
}

fn agreed_plan(project: &TestProject) {
    project.write(".omx/plans/prd.md", "a plan\n");
    project.write(".omx/plans/test-spec.md", "tests\n");
    project.put(json!({"mode":"ralplan","active":true,"session_id":"one"}));
    for phase in ["architect-review", "critic-review"] {
        project.put(json!({"mode":"ralplan","session_id":"one","current_phase":phase}));
    }
    project.put(json!({"mode":"ralplan","session_id":"one","state":{
        "consensus":{"critic":"APPROVE","architect":"APPROVE"},
        "plan_path":".omx/plans/prd.md","test_spec_path":".omx/plans/test-spec.md"
    }}));
}
