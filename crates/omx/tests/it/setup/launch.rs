//! hosts.md 7.0: `omx launch` becomes the agent's program.

use std::fs;

use omx_testkit::{CommandOutcome, TestProject, write_program};

use crate::project;

/// Runs `launch` with only these programs to be found.
fn launch(project: &TestProject, args: &[&str]) -> CommandOutcome {
    let bin = project.folder().join("bin");
    let mut command = project.omx_command(&[&["launch"], args].concat());
    command.env("PATH", format!("{}:/bin:/usr/bin", bin.display()));
    command.env("OMX_SESSION_ID", "one").env("CLAUDE_CODE_SESSION_ID", "two");
    command.output().expect("omx runs").into()
}

/// A program that prints how it was called.
fn agent(project: &TestProject, name: &str) {
    let bin = project.folder().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let text = "#!/bin/sh\necho \"$(basename \"$0\") [$*] $OMX_SESSION_ID$CLAUDE_CODE_SESSION_ID$$\"\nexit 7\n";
    write_program(&bin.join(name), text);
}

#[test]
fn hosts_7_0_launch_says_what_is_missing_and_how_to_fix_it() {
    let project = project();
    let refused = launch(&project, &["claude"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("npm install -g @anthropic-ai/claude-code"), "{refused:?}");
    assert!(
        launch(&project, &[])
            .stderr
            .contains("no agent is installed: looked for codex, claude, gemini")
    );

    agent(&project, "claude");
    let started = launch(&project, &["claude"]);
    assert_eq!(started.code, Some(7), "{started:?}");
    assert_eq!(
        started.stderr,
        "note: omx is not set up for claude; run: omx setup --host claude\n"
    );
    project.omx(&["setup", "--host", "claude", "--scope", "project"]);
    assert_eq!(launch(&project, &["claude"]).stderr, "");
}

#[test]
fn hosts_7_0_launch_becomes_the_agent_without_its_callers_session() {
    let project = project();
    agent(&project, "codex");
    agent(&project, "gemini");
    let mut command = project.omx_command(&["launch", "gemini", "--", "-m", "a b"]);
    let bin = project.folder().join("bin");
    command.env("PATH", format!("{}:/bin:/usr/bin", bin.display())).env("OMX_SESSION_ID", "one");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let child = command.spawn().unwrap();
    // The same process: nothing sits between the terminal and the agent.
    let wanted = format!("gemini [-m a b] {}\n", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), wanted);
    // The configured agent, otherwise the first installed one.
    assert!(launch(&project, &[]).stdout.starts_with("codex "));
    project.omx(&["config", "set", "agent", "gemini"]);
    assert!(launch(&project, &[]).stdout.starts_with("gemini "));
}
