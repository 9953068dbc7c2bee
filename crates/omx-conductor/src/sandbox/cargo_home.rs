//! A private home of cargo that can use what the person has already downloaded.
//!
//! Crates are links to the person's files, which stay read-only; new ones are downloaded
//! beside them. Credentials are not copied.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Fills a private home once, if the workspace belongs to a Rust project.
pub(super) fn fill_cargo_home(persons: &Path, private: &Path, workspace: &Path) -> io::Result<()> {
    if private.exists() {
        return Ok(());
    }
    fs::create_dir_all(private)?;
    for name in ["config.toml", "config"] {
        if persons.join(name).is_file() {
            fs::copy(persons.join(name), private.join(name))?;
        }
    }
    if !workspace.ancestors().take(4).any(|folder| folder.join("Cargo.toml").is_file()) {
        return Ok(());
    }
    // One folder for each registry or repository, and one entry for each crate in it.
    for folder in ["registry/cache", "registry/src", "git/db", "git/checkouts"] {
        let depth = if folder == "git/db" { LinkDepth::Entries } else { LinkDepth::EntriesOfEach };
        link_entries(&persons.join(folder), &private.join(folder), depth)?;
    }
    copy_index(&persons.join("registry/index"), &private.join("registry/index"))
}

/// At which depth entries become links.
#[derive(Clone, Copy)]
enum LinkDepth {
    /// The entries of the folder.
    Entries,
    /// The entries of each folder in it.
    EntriesOfEach,
}

fn link_entries(from: &Path, to: &Path, depth: LinkDepth) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        match depth {
            LinkDepth::Entries => symlink(entry.path(), target)?,
            LinkDepth::EntriesOfEach => link_entries(&entry.path(), &target, LinkDepth::Entries)?,
        }
    }
    Ok(())
}

/// Copies an index: cargo updates it in place.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    for entry in entries.flatten() {
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_index(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
