//! Systems that cannot confine, or confine differently: a kernel without Landlock, and a
//! namespace like a container's (trust.md 3.0).

use std::process::Command;

use omx_testkit::CommandOutcome;

use super::kit::Repository;

const SCENARIO: &str = r#"
[[entry]]
role = "executor"
phase = "executing"
do = [
  { run = { command = "echo built > work.txt; echo x > $HOME/planted" } },
  { result = { summary = "built it", changed_files = ["work.txt"], commands = [], done = true } },
]

[[entry]]
role = "executor"
do = [{ result = { summary = "tidy", changed_files = [], commands = [], done = true } }]

[[entry]]
do = [{ result = { passed = true, findings = [], checks = [{ name = "read", evidence = "read it" }] } }]
"#;

fn repository() -> Repository {
    let mut repository = Repository::playing(SCENARIO);
    repository.check = "test -f work.txt".to_owned();
    repository
}

/// Runs a command of omx through another program.
fn through(program: &str, args: &[&str], omx: &Command) -> CommandOutcome {
    let mut command = Command::new(program);
    command.args(args).arg(omx.get_program()).args(omx.get_args());
    command.env_clear().current_dir(omx.get_current_dir().unwrap());
    command.envs(omx.get_envs().filter_map(|(name, value)| Some((name, value?))));
    CommandOutcome::from(command.output().unwrap())
}

/// Runs a mode where the kernel answers as one without Landlock does.
fn without_landlock(repository: &Repository, more: &[&str]) -> CommandOutcome {
    let inject = "inject=landlock_create_ruleset:error=ENOSYS";
    let args =
        ["-f", "-qq", "-e", "trace=landlock_create_ruleset", "-e", inject, "-o", "/dev/null"];
    through("strace", &args, &repository.command("ralph", &[more, &["work"]].concat()))
}

fn planted(repository: &Repository) -> bool {
    let command = repository.project.omx_command(&[]);
    let home = command.get_envs().find(|(name, _)| *name == "HOME").unwrap().1.unwrap();
    std::path::Path::new(home).join("planted").exists()
}

#[test]
fn trust_3_0_without_landlock_nothing_starts_unasked() {
    let repository = repository();
    let refused = without_landlock(&repository, &[]);
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.stderr.contains("this kernel has no Landlock"), "{refused:#?}");
    assert!(refused.stderr.contains("--config sandbox=off"), "{refused:#?}");
    // Nothing was made.
    assert!(!repository.project.root().join(".omx/runs").exists());
    assert!(!repository.project.root().join(".omx/worktrees").exists());

    let required = without_landlock(&repository, &["--config", "sandbox=required"]);
    assert_eq!(required.code, Some(3), "{required:#?}");
    assert!(required.stderr.contains("required"), "{required:#?}");
    assert!(!planted(&repository));
}

#[test]
fn trust_3_0_without_landlock_the_person_can_go_unconfined() {
    let repository = repository();
    let outcome = without_landlock(&repository, &["--config", "sandbox=off"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("NOT confined"), "{outcome:#?}");
    assert!(planted(&repository));
}

/// The kernel decides, not the container: Landlock also works inside namespaces.
#[test]
fn trust_3_0_an_agent_is_confined_inside_a_namespace() {
    let repository = repository();
    let args = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
    let outcome = through("unshare", &args, &repository.command("ralph", &["work"]));
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("confined  by the kernel"), "{outcome:#?}");
    assert!(!planted(&repository));
}
