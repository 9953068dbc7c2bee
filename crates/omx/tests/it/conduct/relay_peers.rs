//! trust.md 3.0a and 3.4: the relay of a run serves the agents of that run alone.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::stops::{slow, started};

const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[test]
fn trust_3_4_a_process_outside_the_run_cannot_use_its_relay() {
    let repository = slow();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    started(&repository);
    let user = rustix::process::getuid().as_raw();
    let relay = Path::new("/tmp").join(format!("omx-{user}")).join(repository.id()).join("relay");
    // An agent of another run is to this one what this test is: a process of the same user.
    let mut stream = UnixStream::connect(&relay).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = String::new();
    // The connection may be closed before the request is sent.
    let _ = stream.write_all(PING);
    let _ = stream.read_to_string(&mut answer);
    assert_eq!(answer, "");
    repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    running.code();
}
