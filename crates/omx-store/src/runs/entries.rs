//! Reads a journal: complete lines only, each with its expected number.
//!
//! A reader takes no lock and changes nothing. An incomplete last line is still being
//! written, or its writer was killed; the next read picks it up once it is complete.
//! Any other unreadable line is an error that names the line. No record is ever
//! skipped.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use omx_kernel::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::journal::MAX_RECORD_BYTES;
use crate::error::StoreError;

const BUFFER: usize = 64 * 1024;

/// A record and its position in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry<R> {
    /// Its number, which is also its line: 1, 2, 3, without gaps.
    pub seq: u64,
    /// When it was appended.
    pub at: Timestamp,
    /// The record.
    pub record: R,
}

/// A journal open for reading, and a position in it.
#[derive(Debug)]
pub struct JournalReader {
    file: File,
    path: PathBuf,
    offset: u64,
    next: u64,
}

impl JournalReader {
    pub(super) fn new(file: File, path: PathBuf) -> Self {
        Self { file, path, offset: 0, next: 1 }
    }

    /// Returns the records added since the last call. Returns records before an
    /// unreadable line first; the next call returns the error.
    pub fn read_new<R: DeserializeOwned>(&mut self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        let mut entries = Vec::new();
        match self.each(|entry| entries.push(entry)) {
            Err(_) if !entries.is_empty() => Ok(entries),
            read => read.map(|_| entries),
        }
    }

    /// Returns all records from here to the end, or the error of the first unreadable line.
    pub fn read_all<R: DeserializeOwned>(&mut self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        let mut entries = Vec::new();
        self.each(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// How many bytes of complete lines have been read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Passes every complete line to `visit` and moves past the last one.
    pub(super) fn each<R: DeserializeOwned>(
        &mut self,
        mut visit: impl FnMut(JournalEntry<R>),
    ) -> Result<(), StoreError> {
        let fail = |path: &Path, error| StoreError::io("read", path, error);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.offset)).map_err(|error| fail(&self.path, error))?;
        let mut reader = BufReader::with_capacity(BUFFER, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            // Reading one byte more than allowed detects a line that is too long.
            let limited = reader.by_ref().take(MAX_RECORD_BYTES as u64 + 1);
            match { limited }.read_until(b'\n', &mut line) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(fail(&self.path, error)),
            }
            let Some((b'\n', text)) = line.split_last() else {
                return if line.len() > MAX_RECORD_BYTES {
                    Err(self.unreadable(&format!("is longer than {MAX_RECORD_BYTES} bytes")))
                } else {
                    Ok(())
                };
            };
            match parse_line(text, self.next) {
                Ok(entry) => {
                    self.offset += line.len() as u64;
                    self.next += 1;
                    visit(entry);
                }
                Err(why) => {
                    let rest = reader.fill_buf().map_err(|error| fail(&self.path, error))?;
                    return if rest.is_empty() && is_torn(text) {
                        Ok(())
                    } else {
                        Err(self.unreadable(&why))
                    };
                }
            }
        }
    }

    fn unreadable(&self, why: &str) -> StoreError {
        let why = format!("line {} {why}", self.next);
        StoreError::Corrupt { path: self.path.clone(), why }
    }
}

/// A power loss can leave a last line whose end is on disk but whose middle is not:
/// missing parts read as zeros, which no record contains. Such a line was never
/// flushed, so its record was never acknowledged.
fn is_torn(line: &[u8]) -> bool {
    line.contains(&0)
}

fn parse_line<R: DeserializeOwned>(line: &[u8], number: u64) -> Result<JournalEntry<R>, String> {
    let entry: JournalEntry<R> = serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        // "at line 1" refers to a line within this record and would mislead.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("is not a record: {what} (column {})", error.column())
    })?;
    if entry.seq == number { Ok(entry) } else { Err(format!("has the number {}", entry.seq)) }
}
