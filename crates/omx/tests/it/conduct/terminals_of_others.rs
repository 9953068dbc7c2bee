//! trust.md 3.0c: the person's terminals and devices are closed to agents.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use omx_testkit::await_condition;

use super::confinement::{Attack, agent_texts, assert_built};
use super::kit::DEADLINE;

#[test]
fn trust_3_0c_an_agent_can_neither_write_nor_read_the_persons_terminals() {
    let repository = Attack {
        builder: "echo built > work.txt; t=$(cat ROOT/terminal); echo forged > $t; \
                  timeout 5 head -c 1 < $t && echo I have read it",
        ..Attack::default()
    }
    .repository();
    let root = repository.project.root();
    let shell = format!(
        "stty -echo; tty > '{0}/draft'; mv '{0}/draft' '{0}/terminal'; cat",
        root.display()
    );
    let mut terminal = Command::new("script")
        .args(["-qfc", &shell, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    await_condition("the terminal is open", DEADLINE, || root.join("terminal").exists());
    let outcome = repository.run("ralph", &["attack"]);
    // The end of input ends `cat`, and with it the terminal.
    terminal.stdin.take().unwrap().write_all(b"\x04").unwrap();
    let seen = terminal.wait_with_output().unwrap();
    assert_built(&repository, &outcome);
    assert!(!String::from_utf8_lossy(&seen.stdout).contains("forged"), "{seen:?}");
    let texts = agent_texts(&repository);
    assert_eq!(texts.matches("Permission denied").count(), 2, "{texts}");
    assert!(!texts.contains("I have read it"), "{texts}");
    fs::remove_file(root.join("terminal")).unwrap();
}

#[test]
fn trust_3_0_an_agent_cannot_make_device_nodes() {
    let (repository, outcome) = Attack {
        builder: "echo built > work.txt; mknod null c 1 3 && echo I have made it; \
                  mknod disk b 7 0 && echo I have made it",
        ..Attack::default()
    }
    .run();
    assert_built(&repository, &outcome);
    assert!(!agent_texts(&repository).contains("I have made it"), "{}", agent_texts(&repository));
}
