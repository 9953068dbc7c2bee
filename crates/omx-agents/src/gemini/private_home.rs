//! A home of its own for a confined gemini.
//!
//! Gemini replaces files at the top of its folder whenever it starts, so it needs a folder
//! that it can write. The person's own holds settings, hooks, extensions and instructions,
//! which run later in their own conversations. The private one has copies of the files, and
//! links to the folders, of which only the conversations can be written.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::Path;

/// The folders of `.gemini` that hold conversations and what belongs to them.
pub(super) const CONVERSATIONS: [&str; 2] = [".gemini/tmp", ".gemini/history"];

/// No file that gemini needs is larger.
const MAX_BYTES: u64 = 4 << 20;

/// Fills a private home once.
pub(super) fn fill(persons: &Path, private: &Path) -> io::Result<()> {
    let folder = private.join(".gemini");
    if folder.exists() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    copy(&persons.join(".env"), &private.join(".env"))?;
    for name in CONVERSATIONS {
        symlink(persons.join(name), private.join(name))?;
    }
    for entry in fs::read_dir(persons.join(".gemini")).into_iter().flatten().flatten() {
        let (from, to) = (entry.path(), folder.join(entry.file_name()));
        // A link of the person's, as dotfiles have them, counts as what it leads to.
        match fs::metadata(&from) {
            Ok(data) if data.is_dir() && !to.is_symlink() => symlink(&from, &to)?,
            Ok(data) if data.is_file() => copy(&from, &to)?,
            _ => {}
        }
    }
    Ok(())
}

/// Copies a file, if there is one, for this user alone.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(data) = fs::metadata(from) else { return Ok(()) };
    if !data.is_file() || data.len() > MAX_BYTES {
        return Ok(());
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_3_0c_settings_are_copies_and_only_conversations_lead_to_the_persons_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (persons, private) = (folder.path().join("home"), folder.path().join("private"));
        for name in ["tmp", "extensions"] {
            fs::create_dir_all(persons.join(".gemini").join(name)).unwrap();
        }
        fs::write(persons.join(".gemini/settings.json"), "{}").unwrap();
        fs::write(persons.join(".gemini/GEMINI.md"), "memory").unwrap();
        fill(&persons, &private).unwrap();
        fill(&persons, &private).unwrap();
        let read = |name: &str| fs::read_to_string(private.join(".gemini").join(name)).unwrap();
        assert_eq!((read("settings.json"), read("GEMINI.md")), ("{}".into(), "memory".into()));
        assert!(!private.join(".gemini/settings.json").is_symlink());
        fs::create_dir(persons.join(".gemini/history")).unwrap();
        for name in ["tmp", "history", "extensions"] {
            let link = fs::read_link(private.join(".gemini").join(name)).unwrap();
            assert_eq!(link, persons.join(".gemini").join(name));
        }
    }
}
