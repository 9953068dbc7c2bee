//! Private caches. The person's own are never writable: what lies there is compiled and
//! run later, unconfined.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::cargo_home::fill_cargo_home;

/// The variable that moves each tool's cache, and the folder it moves to.
const CACHES: [(&str, &str); 8] = [
    ("XDG_CACHE_HOME", "xdg"),
    ("npm_config_cache", "npm"),
    ("npm_config_store_dir", "pnpm"),
    ("YARN_CACHE_FOLDER", "yarn"),
    ("UV_CACHE_DIR", "uv"),
    ("GOCACHE", "go-build"),
    ("GOMODCACHE", "go-mod"),
    ("GRADLE_USER_HOME", "gradle"),
];

/// The variables of tools that keep caches.
pub(super) fn cache_variables(
    caches: &Path,
    workspace: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let moved = CACHES.iter().map(|(name, folder)| (name.into(), caches.join(folder).into()));
    let mut variables: BTreeMap<OsString, OsString> = moved.collect();
    let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
    let named = |name: &str| environment.get(OsStr::new(name)).map(PathBuf::from);
    if let Some(persons) = named("CARGO_HOME").or_else(|| Some(home.as_ref()?.join(".cargo"))) {
        let private = caches.join("cargo");
        // Best effort: without it, cargo downloads what it needs.
        let _ = fill_cargo_home(&persons, &private, workspace);
        variables.insert("CARGO_HOME".into(), private.into());
    }
    let modules = named("GOMODCACHE")
        .or_else(|| Some(named("GOPATH")?.join("pkg/mod")))
        .or_else(|| Some(home?.join("go/pkg/mod")))
        .map(|modules| modules.join("cache/download"));
    if let Some(modules) = modules.filter(|modules| modules.is_dir())
        && !environment.contains_key(OsStr::new("GOPROXY"))
    {
        // What the person has downloaded serves as the first source.
        let mut sources = OsString::from("file://");
        sources.push(modules);
        sources.push(",https://proxy.golang.org,direct");
        variables.insert("GOPROXY".into(), sources);
    }
    variables
}

/// The variables of tools that would write into a workspace that is read-only.
pub(super) fn reader_variables(caches: &Path) -> BTreeMap<OsString, OsString> {
    [
        ("CARGO_TARGET_DIR".into(), caches.join("target").into()),
        ("PYTHONPYCACHEPREFIX".into(), caches.join("pycache").into()),
        ("PYTEST_ADDOPTS".into(), "-p no:cacheprovider".into()),
    ]
    .into()
}
