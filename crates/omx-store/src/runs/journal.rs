//! Writes a run's journal: each record is one line, written with one call and flushed
//! before the call returns. Only the process that holds the run's lock can open it
//! for writing.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use omx_kernel::Timestamp;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::IgnoredAny;

use super::entries::JournalReader;
use crate::dir::open_file;
use crate::error::StoreError;
use crate::flush::{flush_all, flush_data};

pub(super) const JOURNAL_FILE: &str = "journal.jsonl";

/// The longest line of a journal.
pub const MAX_RECORD_BYTES: usize = 4 * 1024 * 1024;

/// A journal open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// Where the last complete line ends.
    end: u64,
    next: u64,
    /// Whether the content after `end` is unknown.
    failed: bool,
}

#[derive(Serialize)]
struct Line<'a, R> {
    seq: u64,
    at: Timestamp,
    record: &'a R,
}

impl Journal {
    /// Opens the journal in a run's folder, or creates it. Checks every line, and
    /// cuts off an incomplete last line that a killed writer left.
    pub(super) fn open(folder: &OwnedFd, path: PathBuf) -> Result<Self, StoreError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
        let file = open_journal(folder, &path, flags)?;
        flush_all(folder).map_err(|error| StoreError::io("flush the folder of", &path, error))?;
        let fail = |doing, error| StoreError::io(doing, &path, error);
        let copy = file.try_clone().map_err(|error| fail("open", error))?;
        let mut reader = JournalReader::new(copy, path.clone());
        reader.each::<IgnoredAny>(drop)?;
        let (end, next) = (reader.offset(), reader.next());
        let length = file.metadata().map_err(|error| fail("look at", error))?.len();
        if length > end {
            file.set_len(end).map_err(|error| fail("cut", error))?;
            flush_all(&file).map_err(|error| fail("flush", error))?;
        }
        Ok(Self { file, path, end, next, failed: false })
    }

    /// Appends a record and returns its number. After `Ok`, the record survives a power loss.
    pub fn append<R: Serialize>(&mut self, at: Timestamp, record: &R) -> Result<u64, StoreError> {
        if self.failed {
            return Err(StoreError::JournalFailed { path: self.path.clone() });
        }
        let seq = self.next;
        let mut line = serde_json::to_vec(&Line { seq, at, record })
            .map_err(|error| StoreError::io("write", &self.path, error))?;
        // Line breaks occur only between the tokens of a raw value.
        for byte in line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        line.push(b'\n');
        if line.len() > MAX_RECORD_BYTES {
            let (path, bytes) = (self.path.clone(), line.len());
            return Err(StoreError::LongRecord { path, bytes, most: MAX_RECORD_BYTES });
        }
        self.write(&line)?;
        if let Err(error) = flush_data(&self.file) {
            // The kernel reports a lost page only once, so only a new reader can find
            // out what is on disk.
            self.failed = true;
            let (path, source) = (self.path.clone(), error);
            return Err(StoreError::Unflushed { done: "written", path, source });
        }
        self.end += line.len() as u64;
        self.next += 1;
        Ok(seq)
    }

    /// The number of records.
    pub fn len(&self) -> u64 {
        self.next - 1
    }

    /// Whether there is no record yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes a line with one call, and removes an incomplete one.
    fn write(&mut self, line: &[u8]) -> Result<(), StoreError> {
        let error = loop {
            match self.file.write(line) {
                Ok(written) if written == line.len() => return Ok(()),
                Ok(_) => break ErrorKind::StorageFull.into(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error,
            }
        };
        self.failed = self.file.set_len(self.end).is_err();
        Err(StoreError::io("write", &self.path, error))
    }
}

/// Opens the journal for reading, while another process may write it.
pub(super) fn reader(folder: &OwnedFd, path: PathBuf) -> Result<JournalReader, StoreError> {
    Ok(JournalReader::new(open_journal(folder, &path, OFlags::RDONLY)?, path))
}

fn open_journal(folder: &OwnedFd, path: &Path, flags: OFlags) -> Result<File, StoreError> {
    open_file(folder, JOURNAL_FILE, path, flags)?
        .ok_or_else(|| StoreError::io("open", path, ErrorKind::NotFound))
}
