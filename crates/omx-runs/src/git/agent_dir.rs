//! The git directory of an agent. An agent may add, commit, stash, switch and reset, and
//! the person's repository sees none of it: the agent's directory reads the repository's
//! objects and keeps everything else to itself.
//!
//! The directory is made anew and never written again, because an agent could replace any
//! part of it by a link. What counts of an agent's work is the state of its files.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use omx_kernel::Dialect;
use omx_kernel::git_settings::is_for_agents;
use omx_store::remove_tree;

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::Checkout;

impl Checkout {
    /// Makes the git directory for an agent that works in this worktree, on this branch.
    /// Whatever was in the folder is gone.
    pub(crate) fn make_agent_dir(
        &self,
        folder: &Path,
        branch: &BranchName,
        tip: &CommitId,
    ) -> Result<(), GitError> {
        remove(folder)?;
        for place in ["", "info", "logs", "objects", "objects/info", "objects/pack", "refs"] {
            make_folder(&folder.join(place))?;
        }
        let refs = self.call(&["for-each-ref", "--format=%(objectname) %(refname)"]).output()?;
        write_new(&folder.join("packed-refs"), &refs)?;
        let reference = branch.reference();
        let file = folder.join(&reference);
        let parents = file.strip_prefix(folder).into_iter().flat_map(Path::ancestors).skip(1);
        let mut parents: Vec<&Path> = parents.collect();
        parents.reverse();
        for parent in parents {
            make_folder(&folder.join(parent))?;
        }
        write_new(&file, format!("{tip}\n").as_bytes())?;
        let objects = self.common_dir().join("objects");
        let alternates = format!("{}\n", quote(objects.as_os_str().as_bytes()));
        write_new(&folder.join("objects/info/alternates"), alternates.as_bytes())?;
        for (from, to) in [
            (self.common_dir().join("info/exclude"), "info/exclude"),
            (self.common_dir().join("shallow"), "shallow"),
            (self.git_dir().join("info/sparse-checkout"), "info/sparse-checkout"),
        ] {
            copy(&from, &folder.join(to))?;
        }
        copy(&self.git_dir().join("index"), &folder.join("index"))?;
        write_new(&folder.join("config"), self.agent_config(branch).as_bytes())?;
        // Only a folder with this file is a git directory.
        write_new(&folder.join("HEAD"), format!("ref: {reference}\n").as_bytes())
    }

    /// The configuration for an agent: how files are stored, and who the person is. Nothing
    /// that names a program, and no remote.
    fn agent_config(&self, branch: &BranchName) -> String {
        let get = |key: &str| self.settings().get(key);
        let format = get("extensions.objectformat");
        let version = u8::from(format.is_some());
        let mut text = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\
             \tlogallrefupdates = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
        );
        let mut line = |key: &str, value: &str| {
            let Some((section, name)) = key.split_once('.') else { return };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            text.push_str(&format!("[{section}]\n\t{name} = \"{value}\"\n"));
        };
        for (key, value) in self.settings().own().iter().filter(|(key, _)| is_for_agents(key)) {
            line(key, value);
        }
        if get("user.email").is_none() {
            let name = Dialect::of_branch(branch.as_str()).name;
            line("user.name", name);
            line("user.email", &format!("{name}@localhost"));
        }
        text
    }

    /// Whether the `.git` file of this worktree names this folder.
    pub(crate) fn points_to(&self, git_dir: &Path) -> bool {
        let pointer = self.top().join(".git");
        let is_file = pointer.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file && fs::read(&pointer).is_ok_and(|text| text == pointer_text(git_dir))
    }

    /// Makes the `.git` file of this worktree name a folder, whatever is there.
    pub(crate) fn point_to(&self, git_dir: &Path) -> Result<(), GitError> {
        let pointer = self.top().join(".git");
        let new = self.unused_path();
        remove(&new)?;
        write_new(&new, &pointer_text(git_dir))?;
        if pointer.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            remove(&pointer)?;
        }
        fs::rename(&new, &pointer).map_err(|error| GitError::io("write", &pointer, error))
    }

    /// A path beside the worktree for a file on its way into it. A git that adds files at
    /// this moment must not see it, and neither must another step of this process.
    fn unused_path(&self) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = self.top().file_name().unwrap_or_default().to_string_lossy();
        self.top().with_file_name(format!(".{name}.{}.{number}", std::process::id()))
    }

    /// Makes the `.git` file name the repository's own folder for this worktree again.
    /// Returns whether it did not.
    pub(crate) fn restore_pointer(&self) -> Result<bool, GitError> {
        if self.points_to(self.git_dir()) {
            return Ok(false);
        }
        self.point_to(self.git_dir()).map(|()| true)
    }
}

fn pointer_text(git_dir: &Path) -> Vec<u8> {
    [b"gitdir: ", git_dir.as_os_str().as_bytes(), b"\n"].concat()
}

/// Removes a file, a link or a folder with everything in it. Follows no link.
fn remove(path: &Path) -> Result<(), GitError> {
    remove_tree(path).map_err(|error| GitError::io("remove", path, io::Error::other(error)))
}

fn make_folder(path: &Path) -> Result<(), GitError> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.map_err(|error| GitError::io("make", path, error)),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), GitError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(|error| GitError::io("write", path, error))
}

/// Copies a file, if it exists, with its modification time: git compares it with those of
/// the files that an index describes.
fn copy(from: &Path, to: &Path) -> Result<(), GitError> {
    let copied = || -> io::Result<()> {
        let times = File::open(from)?.metadata()?.modified()?;
        let bytes = fs::read(from)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        file.write_all(&bytes)?;
        file.set_times(FileTimes::new().set_modified(times))
    };
    match copied() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map_err(|error| GitError::io("copy", from, error)),
    }
}

/// Quotes a path the way git reads it in a list of alternates.
fn quote(path: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in path {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}
