//! Programs a test writes and then runs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file. Another process does the writing: a file that is
/// open for writing here would be handed to whatever another test starts in
/// that moment, and could not be run while that lives ("Text file busy").
pub fn write_program(path: &Path, text: &str) {
    let mut writer = Command::new("dd")
        .arg(format!("of={}", path.display()))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("dd runs (apt package coreutils)");
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
