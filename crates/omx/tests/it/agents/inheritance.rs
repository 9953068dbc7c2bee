//! What an agent inherits: the environment of its launch and nothing else, three
//! standard streams and no other file (quality.md S5).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use omx_agents::Agent;
use omx_testkit::await_condition;

use super::stage::OMX;
use super::stand_in::{DEADLINE, StandInFolder, apart_as};

/// Names of the person's secrets, all with the canary as value.
const SECRETS: &[&str] =
    &["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "OMX_TEAM_TOKEN", "OMX_WORKER", "DATABASE_URL"];
const CANARY: &str = "canary-5b7e";

/// A process with secrets in its environment, and with files that a careless
/// caller left open: a lock among them.
fn careless(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 7</dev/null 8<\"$1\"; flock --shared 8; exec \"$@\"", "careless"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        shell.env(name, value);
    }
    shell.envs(SECRETS.iter().map(|name| (name, CANARY)));
    shell
}

fn entries(file: String) -> Vec<OsString> {
    let bytes = fs::read(file).unwrap();
    let entries = bytes.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    entries.map(|entry| OsStr::from_bytes(entry).to_owned()).collect()
}

fn open_files(pid: i32) -> BTreeMap<u32, String> {
    let listed = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let named = listed.map(|entry| {
        let number = entry.file_name().to_str().unwrap().parse().unwrap();
        (number, fs::read_link(entry.path()).unwrap().display().to_string())
    });
    named.collect()
}

#[test]
fn an_agent_inherits_only_its_launch_environment_and_three_streams() {
    apart_as(careless, || {
        assert_eq!(std::env::var("GITHUB_TOKEN").as_deref(), Ok(CANARY), "the canary is there");
        let own = std::process::id().cast_signed();
        assert!(open_files(own).len() > 3 && open_files(own).contains_key(&8));

        let place = StandInFolder::new();
        let mut program = place.shell("echo '{\"started\":true}'; exec cat");
        let odd = OsStr::from_bytes(b"bytes \xff\n=");
        program.launch.environment.insert("ODD".into(), odd.to_owned());
        let mut conversation = program.open();
        conversation.started();
        let (guard, agent) = (place.guard(), place.agent());
        await_condition("the shell is replaced", DEADLINE, || {
            entries(format!("/proc/{agent}/cmdline")) == ["cat"]
        });

        // `cat` has replaced the shell, which may add its own; the guard has not.
        let expected: Vec<OsString> = program.launch.environment.iter().map(pair).collect();
        assert_eq!(entries(format!("/proc/{guard}/environ")), expected);
        let seen = entries(format!("/proc/{agent}/environ"));
        let seen = seen.into_iter().filter(|entry| !entry.as_bytes().starts_with(b"PWD="));
        assert_eq!(seen.collect::<BTreeSet<_>>(), expected.into_iter().collect());

        let mut line = vec![OMX.into(), "guard".into(), "--".into(), "/bin/sh".into()];
        line.extend(program.launch.args.clone());
        assert_eq!(entries(format!("/proc/{guard}/cmdline")), line);

        let files = open_files(agent);
        assert_eq!(files.keys().copied().collect::<Vec<_>>(), [0, 1, 2], "{files:#?}");
        assert!(files.values().all(|file| file.starts_with("pipe:")), "{files:#?}");
        // The guard closes the agent's streams and holds nothing of the caller's.
        await_condition("the guard lets go", DEADLINE, || {
            open_files(guard).into_iter().all(|(number, file)| match number {
                0..=2 => file == "/dev/null",
                _ => file.starts_with("socket:"),
            })
        });
        conversation.agent.end();
        assert_eq!(conversation.over(), None);
    });
}

fn pair((name, value): (&OsString, &OsString)) -> OsString {
    let mut entry = name.clone();
    entry.push("=");
    entry.push(value);
    entry
}
