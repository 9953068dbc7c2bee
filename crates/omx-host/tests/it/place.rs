//! A home and a project in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_host::setup::{HostHomes, SetupCatalog, SetupPaths, SetupScope, SkillFile};
use omx_host::{HostKind, guidance};
use omx_kernel::{Dialect, Timestamp};
use omx_ops::{Clock, Context, Place};
use omx_store::Store;

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
            dialect: Dialect::OMX,
            homes: HostHomes::locate(&self.home(), |_| None),
            scope: SetupScope::User,
            omx: "/bin/sh".into(),
            version: "1".to_owned(),
            manifests: self.home().join("state/setup"),
            hooked: Vec::new(),
            of_others: Vec::new(),
        }
    }

    pub fn context(&self) -> Context<'static> {
        let context = Context::in_project(self.project(), &FixedClock, "hook");
        let place = Place { home: Some(self.home()), ..context.place };
        Context { place, lock_deadline: Duration::from_secs(60), ..context }
    }

    pub fn store(&self) -> Store {
        self.context().store().unwrap()
    }
}

pub fn catalog() -> SetupCatalog {
    SetupCatalog {
        roles: omx_host::catalog::load_roles(Path::new("/nonexistent"), Dialect::OMX).unwrap(),
        skills: vec![SkillFile { name: "s".to_owned(), text: "skill\n".to_owned() }],
        guidance: HostKind::ALL.map(|host| (host, guidance(host, Dialect::OMX))).to_vec(),
    }
}
