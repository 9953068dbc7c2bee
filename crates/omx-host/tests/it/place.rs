//! A home and a project in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_host::setup::{HostHomes, SetupCatalog, SetupPaths, SetupScope, SkillFile};
use omx_host::{HostKind, guidance};
use omx_kernel::message::MessageReader;
use omx_kernel::{Dialect, Timestamp};
use omx_ops::config::ConfigSources;
use omx_ops::{Ambient, Clock, Context, NoLauncher, Place, UncancelledCaller};
use omx_store::{ProjectSearch, Store, find_project};

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

pub struct HostTestProject {
    folder: tempfile::TempDir,
}

impl HostTestProject {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Every file in the home with its bytes.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn visit(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => visit(&path, files),
                    false => drop(files.insert(path.clone(), fs::read(&path).unwrap())),
                }
            }
        }
        let mut files = BTreeMap::new();
        visit(&self.home(), &mut files);
        files
    }

    pub fn paths(&self) -> SetupPaths {
        SetupPaths {
            homes: HostHomes::locate(&self.home(), |_| None),
            scope: SetupScope::User,
            omx: "/bin/sh".into(),
            version: "1".to_owned(),
            manifests: self.home().join("state/setup"),
            hooked: Vec::new(),
        }
    }

    pub fn context(&self) -> Context<'static> {
        Context {
            place: Place {
                working_directory: self.project(),
                home: Some(self.home()),
                root: Some(self.project()),
                state_dir: None,
                runtime: omx_store::RuntimeFolders::default(),
            },
            clock: &FixedClock,
            dialect: Dialect::OMX,
            ambient: Ambient::None,
            actor: "hook",
            reader: MessageReader::Program,
            lock_deadline: Duration::from_secs(60),
            config: ConfigSources::default(),
            caller: &UncancelledCaller,
            runs: &NoLauncher,
        }
    }

    pub fn store(&self) -> Store {
        let root = self.project();
        let project = find_project(ProjectSearch {
            working_directory: &root,
            home: None,
            root: Some(&root),
            state_dir: None,
            dialect: Dialect::OMX,
        });
        Store::new(project.unwrap())
    }
}

pub fn catalog() -> SetupCatalog {
    SetupCatalog {
        roles: omx_host::catalog::load_roles(Path::new("/nonexistent")).unwrap(),
        skills: vec![SkillFile { name: "s".to_owned(), text: "skill\n".to_owned() }],
        guidance: HostKind::ALL.map(|host| (host, guidance(host).to_owned())).to_vec(),
    }
}
