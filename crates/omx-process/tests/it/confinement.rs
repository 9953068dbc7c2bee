//! Confinement of guarded programs by this machine's kernel.

use std::fs;
use std::sync::atomic::AtomicBool;

use omx_process::guard::GuardCommand;
use omx_process::{
    Confinement, ConfinementMeans, FileRules, GuardedExit, GuardedRun, Launch, find_confinement,
};

use crate::stage::{LONG, ProcessFixture};

/// Runs a launch and returns its exit status.
fn run(stage: &ProcessFixture, launch: &Launch) -> std::io::Result<GuardedExit> {
    let run = GuardedRun {
        launch,
        guard_program: &stage.guard(),
        deadline: LONG,
        keep_stdout: 1000,
        at_deadline: GuardCommand::Terminate,
        mark: "MARK",
    };
    run.run(&AtomicBool::new(false)).map(|output| output.exit)
}

#[test]
fn trust_3_0_a_confined_program_changes_only_what_its_rules_name() {
    let means = find_confinement(None);
    assert!(matches!(means, ConfinementMeans::Landlock(3..)), "this machine cannot: {means:?}");
    let stage = ProcessFixture::new();
    for folder in ["work", "home/.ssh", "other"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    for file in ["home/.ssh/id", "home/.profile", "other/file", "log"] {
        fs::write(stage.path(file), "before").unwrap();
    }
    let script = "
        echo x > work/new && mkdir work/sub && mv work/new work/sub/ && rm -r work/sub &&
        cat home/.profile > /dev/null && ls home/.ssh > /dev/null && echo more > log || exit 1
        (cat home/.ssh/id) 2>/dev/null && exit 2
        (cat home/keys) 2>/dev/null && exit 3
        (echo x > other/file) 2>/dev/null && exit 4
        (: >> other/new) 2>/dev/null && exit 5
        rm -f other/file 2>/dev/null && exit 6
        mv other/file work/ 2>/dev/null && exit 7
        ln other/file work/link 2>/dev/null && exit 8
        mkdir home/planted 2>/dev/null && exit 9
        truncate -s 0 other/file 2>/dev/null && exit 10
        rmdir work 2>/dev/null && exit 11
        setsid sh -c 'echo x > other/later' 2>/dev/null && exit 12
        kill -0 $PPID 2>/dev/null && exit 13
        exit 0";
    std::os::unix::fs::symlink(".ssh/id", stage.path("home/keys")).unwrap();
    let rules = FileRules {
        writable: vec![stage.path("work"), stage.path("log"), "/dev/null".into()],
        hidden: vec![stage.path("home/.ssh")],
    };
    let launch = Launch { confinement: Confinement::new(&means, rules), ..stage.script(script) };
    assert_eq!(run(&stage, &launch).unwrap(), GuardedExit::Exited(Some(0)));
    assert_eq!(fs::read_to_string(stage.path("other/file")).unwrap(), "before");
    assert_eq!(fs::read_to_string(stage.path("log")).unwrap(), "more\n");
    assert!(!stage.path("other/later").exists());
}

#[test]
fn trust_3_0_a_program_that_cannot_be_confined_as_described_does_not_start() {
    let stage = ProcessFixture::new();
    for rules in [
        FileRules { writable: vec![stage.path("missing")], hidden: Vec::new() },
        FileRules { writable: Vec::new(), hidden: vec![stage.path("missing")] },
    ] {
        let confinement = Confinement::Landlock(rules);
        let launch = Launch { confinement, ..stage.script("echo x > ran") };
        let error = run(&stage, &launch).unwrap_err().to_string();
        assert!(error.contains("cannot be confined") && error.contains("missing"), "{error}");
        assert!(!stage.path("ran").exists());
    }
}
