//! Systems that cannot confine, or confine differently: a kernel without Landlock, and a
//! namespace like a container's (trust.md 3.0).

use std::fs;
use std::process::Command;

use omx_testkit::{CommandOutcome, write_program};

use super::kit::Repository;
use super::scenario::{ralph_scenario, run};

fn repository() -> Repository {
    let mut repository =
        Repository::playing(&ralph_scenario(&run("echo built > work.txt; echo x > $HOME/planted")));
    repository.check = "test -f work.txt".to_owned();
    repository
}

/// The command line and variables that run a command of omx through another program.
fn words_through<'a>(args: &[&'a str], omx: &'a Command) -> Vec<&'a str> {
    let text = |word: &'a std::ffi::OsStr| word.to_str().unwrap();
    let own = [text(omx.get_program())].into_iter().chain(omx.get_args().map(text));
    args.iter().copied().chain(own).collect()
}

/// Runs a command of omx through another program.
fn through(args: &[&str], omx: &Command) -> CommandOutcome {
    let words = words_through(args, omx);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env_clear().current_dir(omx.get_current_dir().unwrap());
    command.envs(omx.get_envs().filter_map(|(name, value)| Some((name, value?))));
    CommandOutcome::from(command.output().unwrap())
}

/// Makes the kernel answer as one without Landlock does.
const NO_LANDLOCK: [&str; 9] = [
    "strace",
    "-f",
    "-qq",
    "-e",
    "trace=landlock_create_ruleset",
    "-e",
    "inject=landlock_create_ruleset:error=ENOSYS",
    "-o",
    "/dev/null",
];

/// A new namespace for users, files and processes, like a container's.
const CONTAINER: [&str; 7] =
    ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];

/// A `PATH` whose bubblewrap does not work, as where user namespaces are forbidden.
fn path_without_bubblewrap(repository: &Repository) -> String {
    let bin = repository.project.folder().join("no-bubblewrap");
    fs::create_dir_all(&bin).unwrap();
    write_program(&bin.join("bwrap"), "#!/bin/sh\necho 'No permissions' >&2\nexit 1\n");
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

/// Runs a mode where neither the kernel nor bubblewrap can confine.
fn without_any(repository: &Repository, more: &[&str]) -> CommandOutcome {
    let mut omx = repository.command("ralph", &[more, &["work"]].concat());
    omx.env("PATH", path_without_bubblewrap(repository));
    through(&NO_LANDLOCK, &omx)
}

fn planted(repository: &Repository) -> bool {
    let command = repository.project.omx_command(&[]);
    let home = command.get_envs().find(|(name, _)| *name == "HOME").unwrap().1.unwrap();
    std::path::Path::new(home).join("planted").exists()
}

#[test]
fn trust_3_0_without_landlock_nothing_starts_unasked() {
    let repository = repository();
    let refused = without_any(&repository, &[]);
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.stderr.contains("this kernel has no Landlock"), "{refused:#?}");
    assert!(refused.stderr.contains("--config sandbox=off"), "{refused:#?}");
    // Nothing was made.
    assert!(!repository.project.root().join(".omx/runs").exists());
    assert!(!repository.project.root().join(".omx/worktrees").exists());

    let required = without_any(&repository, &["--config", "sandbox=required"]);
    assert_eq!(required.code, Some(3), "{required:#?}");
    assert!(required.stderr.contains("required"), "{required:#?}");
    assert!(!planted(&repository));
}

#[test]
fn trust_3_0_without_landlock_the_person_can_go_unconfined() {
    let repository = repository();
    let outcome = without_any(&repository, &["--config", "sandbox=off"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("NOT confined"), "{outcome:#?}");
    assert!(planted(&repository));
}

/// The kernel decides, not the container: Landlock also works inside namespaces.
#[test]
fn trust_3_0_an_agent_is_confined_inside_a_namespace() {
    let repository = repository();
    let outcome = through(&CONTAINER, &repository.command("ralph", &["work"]));
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("confined  by the kernel"), "{outcome:#?}");
    assert!(!planted(&repository));
}

/// Where a container's filter refuses Landlock, nothing starts unasked either.
#[test]
fn trust_3_0_nothing_starts_unasked_inside_a_namespace_without_landlock() {
    let repository = repository();
    let mut omx = repository.command("ralph", &["work"]);
    omx.env("PATH", path_without_bubblewrap(&repository));
    let refused = through(&[&CONTAINER[..], &NO_LANDLOCK].concat(), &omx);
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.stderr.contains("bubblewrap does not work: No permissions"), "{refused:#?}");
    assert!(!planted(&repository));
}

/// Bubblewrap takes over, with the same effect.
#[track_caller]
fn confined_by_bubblewrap(around: &[&str]) {
    let repository = repository();
    let outcome = through(around, &repository.command("ralph", &["work"]));
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("confined  by bubblewrap: this folder"), "{outcome:#?}");
    assert!(!planted(&repository));
    let branch = format!("omx-run/{}:work.txt", repository.id());
    assert_eq!(repository.project.run_git(&["show", &branch]).stdout, "built\n");
    repository.await_nobody();
}

#[test]
fn trust_3_0_without_landlock_bubblewrap_confines() {
    confined_by_bubblewrap(&NO_LANDLOCK);
}

#[test]
fn trust_3_0_without_landlock_bubblewrap_confines_inside_a_namespace() {
    confined_by_bubblewrap(&[&CONTAINER[..], &NO_LANDLOCK].concat());
}

/// Runs a mode on a terminal, where nothing can confine, while a person types.
fn on_terminal(repository: &Repository, more: &[&str], typed: &str) -> CommandOutcome {
    let omx = repository.command("ralph", &[more, &["work"]].concat());
    let path = path_without_bubblewrap(repository);
    let words = words_through(&NO_LANDLOCK, &omx);
    repository.project.words_on_terminal(&words, &[("PATH", &path)], typed, || {})
}

#[test]
fn trust_3_0_on_a_terminal_a_start_asks_once() {
    let repository = repository();
    let refused = on_terminal(&repository, &[], "n\n");
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(!planted(&repository) && !repository.project.root().join(".omx/runs").exists());

    for detached in [&[][..], &["--detach"]] {
        let repository = self::repository();
        let outcome = on_terminal(&repository, detached, "y\n");
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
        let text = outcome.stdout;
        assert!(text.contains("NOT confined: this kernel has no Landlock"), "{text}");
        assert_eq!(text.matches("Start it all the same?").count(), 1, "{text}");
        omx_testkit::await_condition("it is over", super::kit::DEADLINE, || {
            repository.document("ralph")["run_outcome"] == "finish"
        });
        assert!(planted(&repository));
    }
}
