//! The files of a project, in a form that can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::TestProject;

/// The documents (and configuration files) of a project, by their path in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentTree {
    files: BTreeMap<String, String>,
}

impl DocumentTree {
    /// Reads them.
    pub fn read(project: &TestProject) -> Self {
        let folder = project.folder();
        let mut files = BTreeMap::new();
        for (path, bytes) in everything(project) {
            let is_document = path.ends_with("-state.json") && !path.contains("/quarantine/");
            if (is_document || path.ends_with("/config.toml")) && folder.join(&path).is_file() {
                files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
        Self { files }
    }

    /// The paths.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys()
    }

    /// A file's text as it is.
    pub fn raw(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// A file's text without what differs from run to run: times.
    pub fn timeless(&self, path: &str) -> Option<String> {
        self.raw(path).map(timeless)
    }

    /// The same for all, without revisions: a repeated write raises them once more.
    pub fn contents(&self) -> BTreeMap<String, String> {
        let content = |text: &String| {
            let lines = timeless(text);
            let kept = lines.lines().filter(|line| !line.trim_start().starts_with("\"revision\":"));
            kept.map(|line| line.trim_end_matches(',')).collect::<Vec<_>>().join("\n")
        };
        self.files.iter().map(|(path, text)| (path.clone(), content(text))).collect()
    }

    /// The parsed documents of each folder, by mode. Unreadable ones are left out.
    pub fn scopes(&self) -> BTreeMap<String, BTreeMap<String, Value>> {
        let mut scopes: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for (path, text) in &self.files {
            let Some((folder, name)) = path.rsplit_once('/') else { continue };
            let Some(mode) = name.strip_suffix("-state.json") else { continue };
            if let Ok(document) = serde_json::from_str(text) {
                scopes.entry(folder.to_owned()).or_default().insert(mode.to_owned(), document);
            }
        }
        scopes
    }
}

/// A text with every time of day in it replaced by one word.
fn timeless(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let bytes = text.as_bytes();
    let is_time = |at: usize| {
        bytes.get(at..at + SHAPE.len()).is_some_and(|part| {
            part.iter().zip(SHAPE).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
        })
    };
    let mut kept = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if is_time(at) {
            kept.extend_from_slice(b"TIME");
            at += SHAPE.len();
        } else {
            kept.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(kept).unwrap()
}

/// Every file of a project and its home, by path.
pub fn everything(project: &TestProject) -> BTreeMap<String, Vec<u8>> {
    let folder = project.folder();
    let name = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
    let below = |place: &str| project.bytes(&folder.join(place).display().to_string());
    let all = below("project").into_iter().chain(below("home"));
    all.map(|(path, bytes)| (name(&path), bytes)).collect()
}

/// Temporary files that were left behind.
pub fn leftovers(project: &TestProject) -> Vec<String> {
    everything(project).into_keys().filter(|path| path.ends_with(".tmp")).collect()
}

/// Another project with the same files.
pub fn copy(project: &TestProject) -> TestProject {
    let twin = TestProject::new(project.binary());
    for place in ["project", "home"] {
        copy_folder(&project.folder().join(place), &twin.folder().join(place));
    }
    twin
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}
