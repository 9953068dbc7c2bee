//! Logs of a run's steps, one file each. They are for people: omx bases no decision
//! on them, so they are not flushed.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use omx_kernel::Refusal;
use rustix::fs::OFlags;

use crate::dir::{open_file, open_or_make};
use crate::error::StoreError;

/// The name of a log, safe as a file name: at most 64 lowercase letters, digits and
/// `-`, not starting with `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLogName(String);

impl StepLogName {
    /// Checks a name.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = !text.is_empty()
            && text.len() <= 64
            && !text.starts_with('-')
            && text.bytes().all(fits);
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(Refusal::invalid_input(format!("{text:?} is not a valid log name")))
        }
    }
}

/// An open log. Writes append to it.
#[derive(Debug)]
pub struct StepLog {
    /// The file.
    pub file: File,
    /// Its path.
    pub path: PathBuf,
}

pub(super) fn open_step_log(
    folder: &OwnedFd,
    folder_path: &Path,
    name: &StepLogName,
) -> Result<StepLog, StoreError> {
    let path = folder_path.join("output");
    let output = open_or_make(folder, "output", &path)?;
    let name = format!("{}.log", name.0);
    let path = path.join(&name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
    let file = open_file(&output, &name, &path, flags)?
        .ok_or_else(|| StoreError::io("open", &path, std::io::ErrorKind::NotFound))?;
    Ok(StepLog { file, path })
}
