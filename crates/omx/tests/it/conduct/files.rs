//! What a run leaves on the disk: bounded (trust.md 3.5), for the person alone, and never
//! written through a link (6.3).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use omx_testkit::{CommandOutcome, await_condition};

use super::kit::{DEADLINE, Repository, quick_scenario};

/// Every file and folder below a path, without the content of worktrees, which is the
/// project's own.
fn everything(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() && !folder.ends_with("worktrees/run") {
                folders.push(path.clone());
            }
            found.push(path);
        }
        found.push(folder);
    }
    found
}

fn size(path: &Path) -> u64 {
    let files = everything(path);
    files.iter().filter(|path| path.is_file()).map(|path| path.metadata().unwrap().len()).sum()
}

/// The program under this umask.
fn under_umask(command: &Command, umask: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    shell
}

#[test]
fn trust_6_3_everything_of_a_run_is_the_persons_alone_whatever_the_umask() {
    let repository = Repository::new();
    let command = repository.command("autopilot", &["greet people by name"]);
    let outcome = CommandOutcome::from(under_umask(&command, "0").output().unwrap());
    repository.assert_complete(&outcome);
    let detached = repository.command("ralplan", &["greet people by name", "--detach"]);
    let outcome = CommandOutcome::from(under_umask(&detached, "0").output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let project = &repository.project;
    await_condition("both runs have ended", DEADLINE, || {
        let runs = project.omx(&["runs", "--json"]).json();
        runs["runs"].as_array().unwrap().iter().all(|run| run["state"] == "complete")
    });
    let set = project.omx_command(&["config", "set", "hud.preset", "full"]);
    assert!(under_umask(&set, "0").status().unwrap().success());
    for folder in [project.root().join(".omx"), project.home().join(".local/state/omx")] {
        for path in everything(&folder) {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            let is_worktree = path.parent().unwrap().ends_with("worktrees/run");
            assert!(is_worktree || mode == expected, "{}: {mode:o}", path.display());
        }
    }
    let settings = project.home().join(".config/omx/config.toml");
    assert_eq!(settings.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn trust_6_3_nothing_of_a_run_is_written_through_a_link() {
    // Files whose names are known before they are written.
    for place in [
        "events.jsonl",
        "output",
        "output/c1.build.check1.log",
        "needs",
        "journal.jsonl",
        "scratch",
        "lock",
    ] {
        let slow = quick_scenario().replacen(
            "say = \"I read check.sh: it wants a greeting by name.\"",
            "delay_ms = 300",
            1,
        );
        let repository = Repository::playing(&slow);
        let victims = repository.project.folder().join("victims");
        fs::create_dir(&victims).unwrap();
        fs::write(victims.join("file"), "mine").unwrap();
        let mut run = repository.start("autopilot", &["greet people by name"]);
        repository.await_records(1);
        let path = repository.run_folder().join(place);
        let is_folder = ["output", "needs", "scratch"].contains(&place);
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        let target = if is_folder { victims.clone() } else { victims.join("file") };
        // The run may have made it anew in between.
        let is_planted = symlink(target, &path).is_ok();
        run.code();
        assert!(is_planted || place == "events.jsonl", "{place}");
        let resumed = repository.resume(&[]);
        assert!(resumed.code.is_some(), "{place}: {resumed:?}");
        assert_eq!(fs::read_to_string(victims.join("file")).unwrap(), "mine", "{place}");
        assert_eq!(fs::read_dir(&victims).unwrap().count(), 1, "{place}");
    }
}

#[test]
fn trust_6_3_a_detached_run_does_not_write_its_log_through_a_link() {
    let repository = Repository::new();
    let outcome = repository.run("ralplan", &["greet people by name"]);
    assert!(outcome.stdout.contains("complete: "), "{outcome:?}");
    let victim = repository.project.folder().join("victim");
    fs::write(&victim, "mine").unwrap();
    let output = repository.run_folder().join("output");
    let _ = fs::create_dir(&output);
    let _ = fs::remove_file(output.join("drive.log"));
    symlink(&victim, output.join("drive.log")).unwrap();
    let resumed = repository.resume(&["--detach"]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine", "{resumed:?}");
}

#[test]
fn trust_3_5_the_output_of_a_check_is_bounded_and_says_what_is_missing() {
    let mut repository = Repository::new();
    // 6 MB in lines, 4 MB without an end of line, and the end.
    repository.check = "yes 'a line of output' | head -c 6000000; \
                        head -c 4000000 /dev/zero | tr '\\0' x; echo; echo THE END; sh check.sh"
        .to_owned();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    let kept = size(&repository.run_folder());
    let checks = 5;
    assert!(kept < checks * 1_200_000 + 2_000_000, "{kept} bytes");
    let log = repository.run_folder().join("output/c1.build.check1.log");
    let text = fs::read_to_string(log).unwrap();
    assert!(text.starts_with("a line of output\n"), "{}", &text[..100]);
    assert!(text.contains("THE END\n"));
    let note = text.lines().find(|line| line.contains("bytes of output were not kept")).unwrap();
    let dropped: u64 = note.trim_start_matches('[').split(' ').next().unwrap().parse().unwrap();
    assert!((8_900_000..9_100_000).contains(&dropped), "{note}");
    let journal = repository.journal();
    let failed = journal
        .iter()
        .find(|record| record["kind"] == "step_finished" && record["step"] == "c1.build.check1")
        .unwrap();
    assert_eq!(failed["result"]["exit_code"], 1, "{failed}");
    assert!(failed["result"]["output"].as_str().unwrap().contains("THE END"), "{failed}");
}

#[test]
fn trust_3_5_what_an_agent_says_is_bounded() {
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    let words = format!("say = \"{}\"", "many words ".repeat(2_000));
    let steps = vec![words; 120].join("\n[[entry.do]]\n");
    let repository = Repository::playing(&quick_scenario().replacen(says, &steps, 1));
    let outcome = repository.run("ralplan", &["greet people by name"]);
    assert!(outcome.stdout.contains("complete: "), "{outcome:?}");
    let events = fs::read_to_string(repository.run_folder().join("events.jsonl")).unwrap();
    assert!(events.len() < 1_500_000, "{} bytes", events.len());
    assert!(events.contains("bytes were not kept"), "{}", &events[..1000]);
    let dropped = events.lines().find(|line| line.contains("reports of its agent were not kept"));
    assert!(dropped.is_some(), "{}", &events[..1000]);
}

/// Plays a run with this check on a small disk that is nearly full. The answer has the exit
/// code, the free KiB, and what `runs show` says when there is room again.
fn on_a_small_disk(check: &str) -> CommandOutcome {
    let mut repository = Repository::new();
    repository.check = check.to_owned();
    let command = repository.command("autopilot", &["greet people by name"]);
    let words: Vec<String> = command
        .get_args()
        .map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''")))
        .collect();
    let script = format!(
        "mkdir -p .omx && mount -t tmpfs -o size=100m,mode=700 tmpfs .omx && \
         head -c 101000000 /dev/zero > .omx/large && \
         {{ '{omx}' {words}; echo \"exit $?\"; df -k --output=avail .omx | tail -n 1; \
         rm .omx/large; '{omx}' runs show; }}",
        omx = repository.project.binary().display(),
        words = words.join(" "),
    );
    let mut shell = repository.project.command("unshare");
    shell.args(["--map-root-user", "--mount", "sh", "-u", "-c", &script]);
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    await_condition("the run stops", DEADLINE, || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap().into()
}

#[test]
fn trust_3_5_a_run_stops_before_it_fills_the_disk() {
    // A file system of 100 MB keeps 1 MB. The check takes what is left, slowly.
    let check = "while :; do head -c 65536 /dev/zero >> fill || exit 9; sleep 0.1; done";
    let outcome = on_a_small_disk(check);
    let text = &outcome.stdout;
    assert!(text.contains("needs you: the disk is nearly full: "), "{outcome:#?}");
    assert!(text.contains("exit 3"), "{outcome:#?}");
    let left: u64 = text.lines().find_map(|line| line.trim().parse().ok()).expect("the free space");
    assert!(left > 200, "{left} KiB are left: {outcome:#?}");
    assert!(text.contains("blocked_on_user: the disk is nearly full"), "{outcome:#?}");
}

/// Nothing can be written any more, and it needs the person all the same.
#[test]
fn trust_3_5_a_run_on_a_disk_that_is_full_at_once_needs_the_person() {
    let outcome = on_a_small_disk("head -c 200000000 /dev/zero > fill; sleep 30");
    let text = &outcome.stdout;
    assert!(text.contains("needs you: the disk is "), "{outcome:#?}");
    assert!(text.contains("exit 3"), "{outcome:#?}");
}
