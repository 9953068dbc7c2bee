//! Reads small files that others put in omx's way, such as git's own. Whatever lies under
//! the name, the read ends: a pipe is not waited for, and a device is not read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// Reads a regular file of at most this many bytes as text. Follows links.
pub fn read_plain_file(path: &Path, most: u64) -> io::Result<String> {
    let (file, size) = open_plain_file(path)?;
    if size > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    let mut text = String::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads the last bytes of a regular file, at most this many. Follows links.
pub fn read_plain_tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (mut file, size) = open_plain_file(path)?;
    file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most)).unwrap_or_default() + 1);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a regular file and returns it with its size.
fn open_plain_file(path: &Path) -> io::Result<(File, u64)> {
    // Without NONBLOCK, opening a pipe would block.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    Ok((File::from(file), u64::try_from(stat.st_size).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn trust_6_1_only_a_regular_file_is_read_and_nothing_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text\n").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for name in ["file", "link"] {
            assert_eq!(read_plain_file(&path(name), 100).unwrap(), "text\n");
            assert_eq!(read_plain_tail(&path(name), 3).unwrap(), b"xt\n");
            assert_eq!(read_plain_tail(&path(name), 100).unwrap(), b"text\n");
        }
        assert!(read_plain_tail(&path("pipe"), 3).is_err());
        let kind = |name: &str, most| read_plain_file(&path(name), most).unwrap_err().kind();
        assert_eq!(kind("pipe", 100), io::ErrorKind::InvalidInput);
        assert_eq!(kind(".", 100), io::ErrorKind::InvalidInput);
        assert_eq!(kind("file", 4), io::ErrorKind::FileTooLarge);
        assert_eq!(kind("missing", 4), io::ErrorKind::NotFound);
    }
}
