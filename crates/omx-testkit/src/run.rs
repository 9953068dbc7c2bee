//! Running the program and waiting for things, always with a deadline.

use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How a run of the program ended.
#[derive(Debug, Clone)]
pub struct CommandOutcome {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for CommandOutcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl CommandOutcome {
    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same, after checking that the run succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.json()
    }

    /// The code of a refusal, after checking exit code and shape.
    #[track_caller]
    pub fn refused(&self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        let value = self.json();
        let fields: Vec<&String> = value.as_object().expect("an object").keys().collect();
        // The report of a cancel also says what was done.
        assert!(fields.len() == 2 || value.get("unrecorded").is_some(), "{value}");
        assert!(value["error"].as_str().is_some_and(|text| !text.is_empty()), "{value}");
        value["code"].as_str().expect("a code").to_owned()
    }
}

/// Waits until a condition holds; fails the test if it does not in time.
#[track_caller]
pub fn await_condition(what: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < deadline, "{what} did not happen within {deadline:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
