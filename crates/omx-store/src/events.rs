//! The event log: one line for each change, after the change.
//!
//! It tells a person what happened; nothing is decided by it. So it is best
//! effort: no failure here fails or delays what it tells of.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use omx_kernel::{Timestamp, Value};
use rustix::fs::{FileType, OFlags, fstat, openat};

use crate::dir::{FILE_MODE, open_or_make};
use crate::lock::Locked;

const FILE: &str = "events.jsonl";
const MAX_LINE: usize = 64 * 1024;

/// One change.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub time: Timestamp,
    /// In which session, if any.
    pub session: Option<String>,
    /// Through which door: command line, MCP, hook.
    pub actor: &'static str,
    /// What, in one word.
    pub kind: &'static str,
    /// Of what.
    pub data: Value,
}

impl Event {
    fn line(&self, data: &Value) -> String {
        let record = Value::record([
            ("time", Value::string(&self.time.to_string())),
            ("run", Value::null()),
            ("session", Value::string_or_null(self.session.as_deref())),
            ("team", Value::null()),
            ("actor", Value::string(self.actor)),
            ("kind", Value::string(self.kind)),
            ("data", data.clone()),
        ]);
        let mut line = crate::json::compact(record.text());
        line.push('\n');
        line
    }
}

impl Locked {
    /// Appends events. Whatever goes wrong is nobody's concern.
    pub fn log(&self, events: &[Event]) {
        let _ = self.append(events);
    }

    fn append(&self, events: &[Event]) -> std::io::Result<()> {
        let path = self.tree_path.join("log");
        let folder = open_or_make(&self.tree, "log", &path).map_err(std::io::Error::other)?;
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let fd = openat(&folder, FILE, flags, FILE_MODE)?;
        let stat = fstat(&fd)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(());
        }
        let mut file = File::from(fd);
        let mut text = String::new();
        let mut last = [b'\n'];
        if let Some(end) = u64::try_from(stat.st_size).ok().and_then(|size| size.checked_sub(1)) {
            file.read_exact_at(&mut last, end)?;
        }
        if last != [b'\n'] {
            // A writer was killed in the middle of its line.
            text.push('\n');
        }
        for event in events {
            let line = event.line(&event.data);
            if line.len() <= MAX_LINE {
                text.push_str(&line);
            } else {
                text.push_str(&event.line(&Value::record([("cut", Value::bool(true))])));
            }
        }
        file.write_all(text.as_bytes())
    }
}
