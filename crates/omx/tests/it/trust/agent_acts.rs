//! trust.md 3.4: what an agent cannot do with omx, whatever it does to its environment.

use std::fs;
use std::path::Path;

use omx_testkit::TestProject;
use serde_json::json;

use crate::conduct::Repository;
use crate::conduct::scenario::{ralph_scenario, run};

/// A ralph whose builder runs a script of the repository.
fn repository() -> Repository {
    Repository::playing(&ralph_scenario(&run("sh attack.sh")))
}

/// Runs a script as an agent of a run and returns what it wrote to `acts.txt`.
fn as_agent(repository: &mut Repository, script: &str) -> String {
    repository.check = "true".to_owned();
    repository.project.write("attack.sh", script);
    repository.project.run_git(&["add", "--all"]);
    repository.project.run_git(&["commit", "--quiet", "-m", "attack"]);
    let outcome = repository.run("ralph", &["--allow", "commands", "make acts.txt"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    fs::read_to_string(worktree.join("acts.txt")).unwrap()
}

/// Lines of a script that run an act and write `NAME CODE OUTPUT`. The agent has removed
/// everything from the environment by which omx could know it.
fn act(omx: &Path, name: &str, line: &str) -> String {
    let clean = "env -u OMX_CONTEXT -u OMX_WORKER -u OMX_SESSION_ID";
    format!(
        "out=$({clean} {} {line} 2>&1); echo {name} $? $(echo \"$out\" | tr '\\n' ' ') >> acts.txt\n",
        omx.display()
    )
}

/// Another project of the person with something active in it.
fn other_project(repository: &Repository) -> std::path::PathBuf {
    let other = repository.project.folder().join("other");
    fs::create_dir(&other).unwrap();
    let mut command = repository.project.omx_command(&["state", "write", "--input"]);
    command.arg(json!({"mode":"ralph","active":true,"session_id":"s"}).to_string());
    assert!(command.current_dir(&other).status().unwrap().success());
    other
}

fn active(project: &TestProject, folder: &Path) -> serde_json::Value {
    let mut command = project.omx_command(&["state", "list-active", "--json"]);
    let output = command.current_dir(folder).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn trust_3_4_acts_of_the_person_are_refused_to_an_agent() {
    let mut repository = repository();
    let other = other_project(&repository);
    repository.project.put(json!({"mode":"ultrawork","active":true,"session_id":"mine"}));
    fs::write(other.join(".omx-config.json"), r#"{"check":"id"}"#).unwrap();
    let before = active(&repository.project, &other);
    let omx = repository.project.binary().to_owned();
    let other_root = other.to_str().unwrap();
    let input = "'{\"mode\":\"ralph\",\"active\":false,\"session_id\":\"s\",\"run_outcome\":\"cancelled\"}'";
    let refused = [
        ("answer", "runs answer 0 yes".to_owned()),
        ("limit", "runs limit 0 99".to_owned()),
        ("integrate", "runs integrate".to_owned()),
        ("discard", "runs discard 0 --force".to_owned()),
        ("adopt", "runs adopt 0 --yes".to_owned()),
        ("resume", "runs resume".to_owned()),
        ("start", "ralph x --agent rehearsal --scenario s.toml".to_owned()),
        ("trust", format!("--root {other_root} trust --yes")),
        ("revoke", "trust --revoke".to_owned()),
        ("set", "config set allow all".to_owned()),
        ("set-project", "config set --project check id".to_owned()),
        ("setup", "setup --host claude".to_owned()),
        ("uninstall", "uninstall".to_owned()),
        ("gc", "runs gc".to_owned()),
        ("force", "cancel --force".to_owned()),
        ("every", "cancel --every-session".to_owned()),
        ("session", "cancel --session-id mine".to_owned()),
        ("root", format!("--root {other_root} cancel")),
        ("write", format!("--root {other_root} state write --input {input}")),
        ("clear", format!("--root {other_root} state clear --mode ralph --session-id s")),
        ("read", format!("--root {other_root} state list-active")),
    ];
    let mut script: String = refused.iter().map(|(name, line)| act(&omx, name, line)).collect();
    // By standing in the other project, from a daemon, and by another copy of the program.
    script += &format!("here=$PWD; cd {other_root}\n");
    script += &act(&omx, "cd", "cancel --session-id s").replace("acts.txt", "$here/acts.txt");
    script += "cd $here\n";
    let daemon = act(&omx, "daemon", "config set allow all");
    fs::write(repository.project.folder().join("daemon.sh"), daemon).unwrap();
    let daemon = repository.project.folder().join("daemon.sh");
    script += &format!(
        "setsid sh -c 'sh {} & exit' </dev/null\nuntil grep -q daemon acts.txt; do sleep 0.05; done\n",
        daemon.display()
    );
    script += &format!("cp {} copy\n", omx.display());
    script += &act(Path::new("./copy"), "copy", "config set allow all");
    script += "rm copy\n";
    let acts = as_agent(&mut repository, &script);
    let names = refused.iter().map(|(name, _)| *name).chain(["cd", "daemon", "copy"]);
    for name in names {
        let line = acts.lines().find(|line| line.split(' ').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {acts}"));
        assert!(line.starts_with(&format!("{name} 1 ")), "{line}");
        assert!(line.contains("[person_only]"), "{line}");
    }
    assert_eq!(active(&repository.project, &other), before);
    let here = active(&repository.project, &repository.project.root());
    assert!(here.to_string().contains("mine"), "{here}");
    assert!(!repository.project.home().join(".config/omx").exists());
}

#[test]
fn trust_3_4_over_mcp_alike() {
    let mut repository = repository();
    let other = other_project(&repository);
    let before = active(&repository.project, &other);
    let call = |name: &str, arguments: serde_json::Value| {
        json!({"jsonrpc":"2.0","id":1,"method":"tools/call",
               "params":{"name":name,"arguments":arguments}})
        .to_string()
    };
    let other_root = other.to_str().unwrap();
    let calls = [
        call("cancel", json!({"force":true,"workingDirectory":other_root})),
        call("cancel", json!({"force":true})),
        call("cancel", json!({"session_id":"s","workingDirectory":other_root})),
        call("state_clear", json!({"mode":"ralph","all_sessions":true})),
        call("state_write", json!({"mode":"ralph","workingDirectory":other_root,"x":1})),
        call("state_get_status", json!({"workingDirectory":other_root})),
        call("run_answer", json!({"id":"0","answer":"yes"})),
    ];
    let omx = repository.project.binary().display().to_string();
    let mut script = String::new();
    for call in &calls {
        script += &format!(
            "printf '%s\\n' '{call}' | env -u OMX_CONTEXT -u OMX_WORKER {omx} mcp >> acts.txt\n"
        );
    }
    let acts = as_agent(&mut repository, &script);
    let answers: Vec<&str> = acts.lines().collect();
    assert_eq!(answers.len(), calls.len(), "{acts}");
    for (call, answer) in calls.iter().zip(&answers).take(calls.len() - 1) {
        assert!(answer.contains("person_only"), "{call}: {answer}");
    }
    // The tools about runs are not even offered.
    assert!(answers.last().unwrap().contains("unknown tool"), "{acts}");
    assert_eq!(active(&repository.project, &other), before);
}

#[test]
fn trust_3_4_what_an_agent_may_do_for_its_own_run_it_may() {
    let mut repository = repository();
    let omx = repository.project.binary().to_owned();
    let omx_line = |name: &str, line: &str| {
        format!(
            "out=$({} {line} 2>&1); echo {name} $? $(echo \"$out\" | tr '\\n' ' ') >> acts.txt\n",
            omx.display()
        )
    };
    let mut script = omx_line("list", "state list-active --json");
    script += &omx_line("status", "status");
    script += &omx_line("runs", "runs");
    script += &omx_line("config", "config get allow");
    script += &omx_line("write", "state write --input '{\"mode\":\"ultrawork\",\"active\":true}'");
    script += &omx_line("read", "state read --mode ultrawork");
    script += &omx_line("cancel", "cancel --mode ultrawork");
    let acts = as_agent(&mut repository, &script);
    for line in acts.lines() {
        assert_eq!(line.split(' ').nth(1), Some("0"), "{acts}");
    }
    assert_eq!(acts.lines().count(), 7, "{acts}");
    assert!(acts.contains("\"active\": true"), "{acts}");
    assert_eq!(repository.document("ultrawork")["run_outcome"], "cancelled");
}

/// What a confined agent writes on the command line goes the way of its server.
#[test]
fn trust_3_0a_a_relayed_command_is_checked_like_a_call() {
    let mut repository = repository();
    repository.project.put(json!({"mode":"ultrawork","active":true,"session_id":"mine"}));
    let omx = repository.project.binary().display().to_string();
    let script = [
        "state clear --mode ultrawork --session-id mine",
        "state write --json --input '{\"mode\":\"ultrawork\",\"session_id\":\"mine\",\"active\":false}'",
        "state write --input '{\"mode\":\"nothing\"}'",
        "cancel --session-id mine",
        "cancel --force",
    ]
    .map(|line| format!("{omx} {line} >> acts.txt 2>&1; echo \" code $?\" >> acts.txt\n"));
    let acts = as_agent(&mut repository, &script.concat());
    assert_eq!(acts.matches(" code 1").count(), 5, "{acts}");
    assert_eq!(acts.matches("person_only").count(), 4, "{acts}");
    assert!(acts.contains("[unknown_mode]"), "{acts}");
    assert!(active(&repository.project, &repository.project.root()).to_string().contains("mine"));
}
