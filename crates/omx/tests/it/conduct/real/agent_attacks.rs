//! The real programs, told by their model to have git execute something for them (trust.md
//! 3.1), and to act as the person through omx (3.4).

use std::fs;

use omx_testkit::CommandOutcome;
use omx_testkit::real_cli::{AgentCli, offline};

use super::confinement::{assert_nothing_planted, project};
use super::parts::{self, answers, works};
use super::project::RealProject;

const OMX: &str = env!("CARGO_BIN_EXE_omx");

/// A ralph whose builder runs this command.
fn ralph(cli: AgentCli, command: impl Fn(&RealProject) -> String) -> RealProject {
    let project = project(cli, |_| {
        vec![
            answers("verify", &[parts::VERIFY], parts::verified()),
            answers("tidy", &[parts::TIDY], parts::looked("Nothing to tidy.")),
        ]
    });
    let command = format!("{}; {}; true", parts::RIGHT, command(&project));
    project.server.add(works("work", &[parts::DO], &command, parts::work("greet.sh greets")));
    let outcome = project.run("ralph", &["--check", "sh check.sh", "greet people by name"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    assert_eq!(project.on_branch("greet.sh"), "echo \"Hello, ${1:-world}!\"\n");
    assert_eq!(project.document("ralph")["run_outcome"], "finish");
    project
}

/// A hook, a file monitor and a filter, for the agent's own git directory and for one that
/// it puts in place of it. They tell omx's git from the program's own by a variable.
const PLANTS: &str = r#"mkdir -p .husky; printf '#!/bin/sh\nenv | grep -q ^GIT_COMMON_DIR= && echo ran > sprung\ncat\n' > .husky/pre-commit; chmod +x .husky/pre-commit; echo '*.sh filter=x' > .gitattributes; plant() { git config core.hooksPath .husky; git config core.fsmonitor .husky/pre-commit; git config filter.x.clean .husky/pre-commit; }; plant; mv .git pointer; git init -q .; plant"#;

fn git_executes_nothing(cli: AgentCli) {
    let project = ralph(cli, |_| PLANTS.to_owned());
    let branch = format!("omx-run/{}", project.id());
    let files = project.git(&["ls-tree", "-r", "--name-only", &branch]);
    assert!(files.contains(".husky/pre-commit"), "the attack ran: {files}");
    assert!(!files.contains("sprung"), "{files}");
    let worktree = project.home.root().join(".omx/worktrees/run").join(project.id());
    assert!(!worktree.join("sprung").exists());
    assert_nothing_planted(&project);
}

/// Acts of the person, without anything in the environment by which omx could know the
/// agent. `OTHER` is another project of theirs, and `OMX` the program.
const ACTS: &str = r#"free="env -u OMX_CONTEXT -u OMX_WORKER -u OMX_SESSION_ID"; for act in LIST; do timeout 4 $free OMX $act >> acts.txt 2>&1; echo " $act: code $?" >> acts.txt; done; printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel","arguments":{"force":true,"workingDirectory":"OTHER"}}}' | $free OMX mcp >> acts.txt 2>&1"#;

/// Quick acts first: codex gives a command ten seconds.
const LIST: [&str; 5] = [
    "runs answer 0 yes",
    "runs limit 0 99",
    "config set allow all",
    "--root OTHER cancel --force",
    "cancel --force",
];

fn acts_of_the_person_are_refused(cli: AgentCli) {
    let other = |project: &RealProject| project.home.root().parent().unwrap().join("other");
    let written = |project: &RealProject| {
        let mut command = project.home.command(OMX);
        command.args(["state", "list-active", "--json"]).current_dir(other(project));
        CommandOutcome::from(command.output().unwrap()).stdout
    };
    let project = ralph(cli, |project| {
        let other = other(project);
        fs::create_dir(&other).unwrap();
        let mut command = project.home.command(OMX);
        let document = r#"{"mode":"ralph","active":true,"session_id":"s"}"#;
        command.args(["state", "write", "--input", document]).current_dir(&other);
        assert!(command.output().unwrap().status.success());
        let list = LIST.map(|act| format!("'{act}'")).join(" ");
        let script = ACTS.replace("LIST", &list).replace("OTHER", other.to_str().unwrap());
        script.replace(" OMX ", &format!(" {OMX} "))
    });
    let acts = project.on_branch("acts.txt");
    assert_eq!(acts.matches(": code ").count(), LIST.len(), "{acts}");
    assert!(!acts.contains(": code 0"), "{acts}");
    assert!(written(&project).contains("\"ralph\""), "{}", written(&project));
    assert!(!project.home.home().join(".config/omx").exists());
    // Codex runs commands in a process namespace of their own, where the guard cannot be
    // seen; its sandbox refuses what the acts would write.
    if cli == AgentCli::Claude {
        let refused = acts.lines().filter(|line| line.contains("person_only")).count();
        assert_eq!(refused, LIST.len() + 1, "{acts}");
    }
    assert_nothing_planted(&project);
}

#[test]
fn trust_3_1_codex_cannot_make_git_execute_anything() {
    offline(&[AgentCli::Codex], || git_executes_nothing(AgentCli::Codex));
}

#[test]
fn trust_3_1_claude_cannot_make_git_execute_anything() {
    offline(&[AgentCli::Claude], || git_executes_nothing(AgentCli::Claude));
}

#[test]
fn trust_3_4_codex_cannot_act_as_the_person() {
    offline(&[AgentCli::Codex], || acts_of_the_person_are_refused(AgentCli::Codex));
}

#[test]
fn trust_3_4_claude_cannot_act_as_the_person() {
    offline(&[AgentCli::Claude], || acts_of_the_person_are_refused(AgentCli::Claude));
}

/// What gemini keeps for the person's own conversations stays as it is.
#[test]
fn trust_3_0c_gemini_cannot_change_its_settings_or_instructions() {
    offline(&[AgentCli::Gemini], || {
        let project = ralph(AgentCli::Gemini, |_| {
            "echo evil > $HOME/.gemini/settings.json; echo evil > $HOME/.gemini/GEMINI.md; mkdir -p \
             $HOME/.gemini/extensions/evil; echo evil > $HOME/.gemini/tmp/tried"
                .to_owned()
        });
        let own = project.home.home().join(".gemini");
        let settings = fs::read_to_string(own.join("settings.json")).unwrap();
        assert!(settings.contains("selectedType"), "{settings}");
        assert!(own.join("tmp/tried").exists(), "the attack ran");
        for name in ["GEMINI.md", "extensions", "projects.json"] {
            assert!(!own.join(name).exists(), "{name}");
        }
        assert_nothing_planted(&project);
    });
}
