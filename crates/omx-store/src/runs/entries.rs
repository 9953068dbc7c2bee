//! Reading a journal: whole lines only, each with the number it must have.
//!
//! A reader takes no lock and changes nothing. A last line without an end is
//! one that is being written, or was when its writer was killed: it is left
//! for the next look. Anything else that cannot be read is an error that names
//! the line; no record is ever passed over.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use omx_kernel::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::journal::MAX_RECORD_BYTES;
use crate::error::StoreError;

const BUFFER: usize = 64 * 1024;

/// A record with its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry<R> {
    /// Its number, which is also its line: 1, 2, 3, without a gap.
    pub seq: u64,
    /// When it was appended.
    pub at: Timestamp,
    /// What was recorded.
    pub record: R,
}

/// A journal open for reading, with a place in it.
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

    /// The records that were added since the last call; none if there are none.
    /// Those before a line that cannot be read are handed out first, then the error.
    pub fn read_new<R: DeserializeOwned>(&mut self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        let mut entries = Vec::new();
        match self.each(|entry| entries.push(entry)) {
            Err(_) if !entries.is_empty() => Ok(entries),
            read => read.map(|_| entries),
        }
    }

    /// All records from here to the end, or the first line that cannot be read.
    pub fn read_all<R: DeserializeOwned>(&mut self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        let mut entries = Vec::new();
        self.each(|entry| entries.push(entry))?;
        Ok(entries)
    }

    /// How many bytes of whole lines were read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Shows every whole line to `visit` and stands behind the last one.
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
            // One byte more than a line may have tells one that is too long.
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
            match understand(text, self.next) {
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

/// A power loss can leave a last line with its end on the disk but not its
/// middle: what was never written reads as zeros, which no record holds. Such
/// a line was not flushed, so nobody was told that it is there.
fn is_torn(line: &[u8]) -> bool {
    line.contains(&0)
}

fn understand<R: DeserializeOwned>(line: &[u8], number: u64) -> Result<JournalEntry<R>, String> {
    let entry: JournalEntry<R> = serde_json::from_slice(line).map_err(|error| {
        let text = error.to_string();
        // "at line 1": within this one, which helps nobody.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("is no record: {what} (column {})", error.column())
    })?;
    if entry.seq == number { Ok(entry) } else { Err(format!("has the number {}", entry.seq)) }
}
