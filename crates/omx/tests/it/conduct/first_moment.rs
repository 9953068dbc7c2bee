//! trust.md 4.0 and 3.6: a run can be seen and cancelled while its worktree is made, and
//! nothing of an earlier attempt works beside a new one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::kit::{DEADLINE, Repository, RunningOmx, quick_scenario};

/// Starts a run whose worktree takes forever, and waits until git is at work on it.
fn making_its_worktree(repository: &Repository) -> RunningOmx {
    waiting_in_git(repository, " worktree add ")
}

/// Starts a run whose git does not end when it is called like this, unless a file `go`
/// appears, and waits until that is so.
fn waiting_in_git(repository: &Repository, call: &str) -> RunningOmx {
    let folder = repository.project.folder();
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let git = programs.find(|git| git.exists()).unwrap();
    let slow = format!(
        "#!/bin/sh\ncase \" $* \" in *'{call}'*) if test -e '{}'/.omx/runs/*/lock; then\n\
         echo $$ > '{}'; while ! test -e '{}'; do sleep 0.05; done; fi;; esac\n\
         exec '{}' \"$@\"\n",
        repository.project.root().display(),
        folder.join("slow").display(),
        folder.join("go").display(),
        git.display()
    );
    fs::write(bin.join("git"), slow).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = repository.command("autopilot", &["greet people by name"]);
    command.env("PATH", format!("{}:{path}", bin.display()));
    let running = RunningOmx(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    await_condition("git makes the worktree", DEADLINE, || {
        fs::read_to_string(folder.join("slow")).is_ok_and(|pid| pid.ends_with('\n'))
    });
    running
}

/// Asserts that the slow git is gone.
fn assert_git_ended(repository: &Repository) {
    let pid = fs::read_to_string(repository.project.folder().join("slow")).unwrap();
    await_condition("git ends", Duration::from_secs(12), || {
        !fs::exists(format!("/proc/{}", pid.trim())).unwrap()
    });
}

#[test]
fn trust_4_0_a_run_is_listed_and_cancelled_while_its_worktree_is_made() {
    let repository = Repository::new();
    let mut running = making_its_worktree(&repository);
    let id = repository.id();
    let live = repository.project.omx(&["ps", "--json"]).ok();
    assert_eq!(live["runs"][0]["run"], id.as_str(), "{live}");
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "running", "{listed}");
    let cancelled = repository.project.omx(&["cancel", "--json"]).ok();
    assert_eq!(cancelled["cancelled"][0]["session_id"], id.as_str(), "{cancelled}");
    assert_eq!(running.code(), Some(4));
    assert_git_ended(&repository);
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled", "{listed}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

/// Before omx makes the worktree it removes old runs, which asks git about branches.
#[test]
fn trust_4_0_a_run_that_is_cancelled_at_its_very_start_exits_as_cancelled() {
    let repository = Repository::new();
    let mut running = waiting_in_git(&repository, " for-each-ref ");
    let (id, folder) = (repository.id(), repository.run_folder());
    let mut cancel = repository.project.omx_command(&["cancel", "--session-id", &id]);
    let mut cancel = cancel.stdout(Stdio::null()).spawn().unwrap();
    await_condition("the cancel is recorded", DEADLINE, || folder.join("cancelled").exists());
    // Its signal follows at once; without it the run would go on to its first look.
    fs::write(repository.project.folder().join("go"), "").unwrap();
    assert_eq!(running.code(), Some(4));
    assert_eq!(cancel.wait().unwrap().code(), Some(0));
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled", "{listed}");
}

#[test]
fn trust_4_0_an_interrupt_while_the_worktree_is_made_leaves_a_run_that_is_listed() {
    let repository = Repository::new();
    let mut running = making_its_worktree(&repository);
    running.signal(Signal::INT);
    assert_eq!(running.code(), Some(130));
    assert_git_ended(&repository);
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "interrupted", "{listed}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn trust_3_6_a_resume_ends_what_an_earlier_attempt_left_running() {
    let scenario = quick_scenario();
    let first = "say = \"I read check.sh: it wants a greeting by name.\"";
    let work = "run = { command = \"sh \\\"$HOME/../work.sh\\\"\" }";
    let repository = Repository::playing(&scenario.replace(first, work));
    let folder = repository.project.folder();
    // Only the first attempt goes on forever.
    // Its loop is in a session of its own, so it outlives the agent.
    let script = "out=$(cd \"$(dirname \"$0\")\" && pwd)\nmkdir \"$out/begun\" || exit 0\n\
                  setsid sh -c 'trap \"\" INT TERM HUP; \
                  (env -i PATH=\"$PATH\" sh \"$0/hidden.sh\" \"$0\" &); \
                  while :; do date > \"$0/beat\"; sleep 0.05; done' \"$out\" &\nwait\n";
    fs::write(folder.join("work.sh"), script).unwrap();
    // Only its session tells whose it is: it has neither the environment nor a parent.
    let hidden = "trap '' INT TERM HUP\nwhile :; do date > \"$1/hidden\"; sleep 0.05; done\n";
    fs::write(folder.join("hidden.sh"), hidden).unwrap();
    // A confined agent could not write beside its workspace.
    let mut running =
        repository.start("autopilot", &["--config", "sandbox=off", "greet people by name"]);
    await_condition("the agent works", DEADLINE, || {
        folder.join("beat").exists() && folder.join("hidden").exists()
    });
    let kill = |pid: i32, signal| {
        let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
    };
    let processes = repository.processes();
    let guards = || processes.iter().filter(|(_, line)| line.contains(" guard --"));
    assert!(guards().count() > 0, "{processes:?}");
    // Guard and omx die together, so nobody ends the agent.
    guards().for_each(|(pid, _)| kill(*pid, Signal::STOP));
    running.signal(Signal::KILL);
    running.code();
    guards().for_each(|(pid, _)| kill(*pid, Signal::KILL));
    let beat = || {
        ["beat", "hidden"].map(|name| fs::metadata(folder.join(name)).unwrap().modified().unwrap())
    };
    let before = beat();
    await_condition("its loops go on", DEADLINE, || {
        beat().iter().zip(before).all(|(now, before)| *now > before)
    });
    let outcome = repository.resume(&[]);
    let left = repository.processes();
    assert!(left.keys().all(|pid| !processes.contains_key(pid)), "{left:?}\n{outcome:?}");
    let before = beat();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(beat(), before, "the earlier attempt goes on");
    repository.assert_complete(&outcome);
}
