//! A project in a folder that is watched as a whole: what an operation
//! changed, and whether it changed anything it should not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use omx_kernel::Timestamp;
use omx_ops::{Clock, Context, Place as ContextPlace};
use omx_testkit::fuzz::{MODES, Random, SESSIONS, document};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::value::RawValue;
use tempfile::TempDir;

/// 2026-11-15T10:00:00Z, always.
pub struct FuzzClock;

impl Clock for FuzzClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_794_736_800_000)
    }
}

/// `outside/`, `home/` and `project/` with documents of any content.
pub struct FuzzProject {
    folder: TempDir,
}

/// Every path with what is there: bytes of a file, or what else it is.
pub type FileBytes = BTreeMap<PathBuf, Vec<u8>>;

impl FuzzProject {
    pub fn new(rng: &mut Random) -> Self {
        // Memory is as good as a disk here, and flushing it costs nothing.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("omx-fuzz-").tempdir_in(parent).unwrap();
        let place = Self { folder };
        let root = place.root();
        for path in ["outside", "home", "project/.omx/state/sessions/s1"] {
            fs::create_dir_all(place.folder.path().join(path)).unwrap();
        }
        // Documents, as a link to this folder would offer them.
        for name in ["canary", "ralph-state.json", "ultrawork-state.json"] {
            let path = place.folder.path().join("outside").join(name);
            fs::write(path, r#"{"active":true}"#).unwrap();
        }
        fs::write(root.join("plan.md"), "plan").unwrap();
        fs::write(root.join("audit.json"), document(rng)).unwrap();
        for _ in 0..rng.below(6) {
            place.plant(rng);
        }
        if rng.one_in(4) {
            fs::create_dir_all(root.join(".omx/state/.activity")).unwrap();
            let record = if rng.one_in(2) {
                br#"{"cleared":{"ralph":{"revision":18446744073709551615}}}"#.to_vec()
            } else {
                document(rng)
            };
            fs::write(root.join(".omx/state/.activity/s1.json"), record).unwrap();
        }
        place
    }

    fn plant(&self, rng: &mut Random) {
        let state = self.root().join(".omx/state");
        let folder = match rng.below(3) {
            0 => state,
            1 => state.join("sessions/s1"),
            _ => state.join("sessions").join(rng.pick(SESSIONS)),
        };
        let outside = self.folder.path().join("outside");
        if !folder.exists() && rng.one_in(3) {
            std::os::unix::fs::symlink(&outside, &folder).unwrap();
        }
        if folder.is_symlink() {
            return;
        }
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{}-state.json", rng.pick(&MODES[..6])));
        let _ = fs::remove_file(&path);
        let planted = match rng.below(40) {
            0 => std::os::unix::fs::symlink(outside.join("canary"), &path),
            1 => fs::create_dir(&path),
            2 => mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).map_err(Into::into),
            3 => fs::write(folder.join(".ralph-state.json.tmp"), document(rng)),
            _ => fs::write(&path, document(rng)),
        };
        // A folder of that name may stand there already.
        let _ = planted;
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub fn context(&self) -> Context<'static> {
        let context = Context::in_project(self.root(), &FuzzClock, "fuzz");
        let home = Some(self.folder.path().join("home"));
        Context { place: ContextPlace { home, ..context.place }, ..context }
    }

    /// Whether a request names no other folder than the project's: another
    /// root would be allowed, and no accident of this test.
    pub fn is_confined(&self, text: &str) -> bool {
        fn named(value: &serde_json::Value, found: &mut Vec<String>) {
            match value {
                serde_json::Value::Object(fields) => {
                    found.extend(
                        fields.get("workingDirectory").and_then(|v| v.as_str()).map(str::to_owned),
                    );
                    fields.values().for_each(|value| named(value, found));
                }
                serde_json::Value::Array(items) => items.iter().for_each(|v| named(v, found)),
                _ => {}
            }
        }
        let Ok(value) = serde_json::from_str(text) else { return !text.contains("irectory") };
        let mut found = Vec::new();
        named(&value, &mut found);
        let root = fs::canonicalize(self.root()).unwrap();
        found.iter().all(|folder| {
            fs::canonicalize(root.join(folder)).map_or(true, |real| real.starts_with(&root))
        })
    }

    /// Everything below the watched folder.
    pub fn bytes(&self) -> FileBytes {
        let mut found = FileBytes::new();
        collect(self.folder.path(), &mut found);
        found
    }

    /// What is none of omx's business.
    pub fn outside(&self, bytes: &FileBytes) -> FileBytes {
        let tree = self.root().join(".omx");
        bytes.iter().filter(|(path, _)| !path.starts_with(&tree)).map(owned).collect()
    }

    /// The files where documents belong.
    pub fn documents(&self, bytes: &FileBytes) -> FileBytes {
        let state = self.root().join(".omx/state");
        let is_document = |path: &Path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let known = name.strip_suffix("-state.json").is_some_and(|mode| MODES.contains(&mode));
            known && path.starts_with(&state) && !path.starts_with(state.join("quarantine"))
        };
        bytes.iter().filter(|(path, _)| is_document(path)).map(owned).collect()
    }

    /// The contents of the quarantine.
    pub fn quarantine(&self, bytes: &FileBytes) -> Vec<Vec<u8>> {
        let folder = self.root().join(".omx/state/quarantine");
        let inside = bytes.iter().filter(|(path, _)| path.parent() == Some(folder.as_path()));
        let mut all: Vec<Vec<u8>> = inside.map(|(_, bytes)| bytes.clone()).collect();
        all.sort();
        all
    }
}

fn owned((path, bytes): (&PathBuf, &Vec<u8>)) -> (PathBuf, Vec<u8>) {
    (path.clone(), bytes.clone())
}

fn collect(path: &Path, found: &mut FileBytes) {
    let kind = fs::symlink_metadata(path).unwrap().file_type();
    if kind.is_dir() {
        found.insert(path.to_owned(), b"a folder".to_vec());
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else if kind.is_file() {
        found.insert(path.to_owned(), fs::read(path).unwrap());
    } else {
        found.insert(path.to_owned(), format!("{kind:?}").into_bytes());
    }
}

/// The fields of a file that is one JSON object, each with its own bytes.
pub fn fields(bytes: &[u8]) -> Option<Vec<(String, String)>> {
    struct Fields(Vec<(String, String)>);
    impl<'de> serde::Deserialize<'de> for Fields {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Fields;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(
                    self,
                    mut map: A,
                ) -> Result<Fields, A::Error> {
                    let mut fields = Vec::new();
                    while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                        fields.push((name_of(name.get()), value.get().to_owned()));
                    }
                    Ok(Fields(fields))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<Fields>(bytes).ok().map(|fields| fields.0)
}

/// The name a literal stands for; a lone surrogate stands for itself.
fn name_of(literal: &str) -> String {
    let inner = || literal[1..literal.len() - 1].to_owned();
    serde_json::from_str(literal).unwrap_or_else(|_| inner())
}

/// The value that counts for a field.
pub fn last<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}
