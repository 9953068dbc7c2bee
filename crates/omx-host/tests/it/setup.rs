//! Setup and uninstall on a real file system.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use omx_host::setup::{
    ApplyError, HostHomes, Manifest, RealDisk, SetupNoteKind, SetupPlan, apply, lock_setup,
    plan_setup, plan_uninstall, unified_diff,
};
use omx_host::{HostKind, host_spec};

use crate::place::{HostTestProject, catalog};

const PATIENCE: Duration = Duration::from_secs(60);

pub fn set_up(place: &HostTestProject) -> SetupPlan {
    let paths = place.paths();
    let lock = lock_setup(&paths.manifests, PATIENCE).unwrap();
    let manifest = Manifest::load(&paths.manifest()).unwrap();
    let plan = plan_setup(&paths, &RealDisk, manifest, &catalog(), &HostKind::ALL);
    assert_eq!(apply(&plan, &lock).unwrap(), []);
    plan
}

fn uninstall(place: &HostTestProject) -> SetupPlan {
    let paths = place.paths();
    let lock = lock_setup(&paths.manifests, PATIENCE).unwrap();
    let manifest = Manifest::load(&paths.manifest()).unwrap();
    let plan = plan_uninstall(&paths, &RealDisk, manifest, &HostKind::ALL);
    assert_eq!(apply(&plan, &lock).unwrap(), []);
    plan
}

#[test]
fn hosts_2_3_uninstall_restores_every_byte() {
    let place = HostTestProject::new();
    place.write(".claude/settings.json", "{\n  // mine\n  \"model\": \"opus\",\n}\n");
    place.write(".codex/config.toml", "model = \"gpt\" # mine\r\n");
    place.write("dotfiles/gemini.md", "Be brief.");
    fs::create_dir(place.home().join(".gemini")).unwrap();
    symlink("../dotfiles/gemini.md", place.home().join(".gemini/GEMINI.md")).unwrap();
    let before = place.files();
    let first = set_up(&place);
    assert!(!first.changes.is_empty() && !first.has_failed(), "{:?}", first.notes);
    for host in HostKind::ALL {
        let folder = place.paths().homes.folder(host).to_owned();
        let hooks = host_spec(host).hook_files.iter().map(|name| folder.join(name));
        let text: String = hooks.filter_map(|file| fs::read_to_string(file).ok()).collect();
        for (event, _) in host_spec(host).events {
            assert!(text.contains(&format!("\"{event}\"")), "{host}: {event}");
        }
    }
    assert_eq!(set_up(&place).changes, []);
    uninstall(&place);
    assert_eq!(place.files(), before);
    assert!(!place.home().join("state").exists());
    assert!(place.home().join(".gemini/GEMINI.md").is_symlink());
}

#[test]
fn hosts_2_2_a_file_that_cannot_be_parsed_is_named_and_stays() {
    let place = HostTestProject::new();
    place.write(".claude/settings.json", "{ not json");
    let plan = set_up(&place);
    let refused: Vec<PathBuf> = plan
        .notes
        .iter()
        .filter(|note| note.kind == SetupNoteKind::Refused)
        .map(|note| note.path.clone())
        .collect();
    assert_eq!(refused, [place.home().join(".claude/settings.json")]);
    assert!(plan.has_failed());
    assert_eq!(fs::read(&refused[0]).unwrap(), b"{ not json");
}

#[test]
fn hosts_2_3_a_diff_names_the_file_and_the_lines() {
    let place = HostTestProject::new();
    place.write(".codex/config.toml", "model = \"gpt\"\n");
    let paths = place.paths();
    let plan = plan_setup(&paths, &RealDisk, None, &catalog(), &[HostKind::Codex]);
    let config = place.home().join(".codex/config.toml");
    let change = plan.changes.iter().find(|change| change.path == config).unwrap();
    let diff = unified_diff(change);
    assert!(diff.starts_with(&format!("--- {0}\n+++ {0}\n@@ -1 ", config.display())), "{diff}");
    assert!(diff.contains("\n model = \"gpt\"\n+\n+[mcp_servers.omx]\n"), "{diff}");
    assert!(diff.lines().skip(2).all(|line| !line.starts_with('-')), "{diff}");
}

#[test]
fn hosts_2_0_the_hosts_variables_move_their_folders() {
    let variable = |name: &str| match name {
        "CODEX_HOME" => Some(PathBuf::from("/c")),
        "CLAUDE_CONFIG_DIR" => Some(PathBuf::from("/d")),
        "GEMINI_CLI_HOME" => Some(PathBuf::from("/g")),
        _ => None,
    };
    let home = PathBuf::from("/h");
    let (moved, usual) = (HostHomes::locate(&home, variable), HostHomes::locate(&home, |_| None));
    let folders = |homes: &HostHomes| HostKind::ALL.map(|host| homes.folder(host).to_owned());
    assert_eq!(folders(&moved), ["/c", "/d", "/g/.gemini"].map(PathBuf::from));
    assert_eq!(folders(&usual), ["/h/.codex", "/h/.claude", "/h/.gemini"].map(PathBuf::from));
    assert_eq!(moved.parent(HostKind::Claude), PathBuf::from("/d"));
    assert_eq!(usual.parent(HostKind::Claude), home);
}

#[test]
fn hosts_2_4_a_second_setup_waits_and_gives_up() {
    let place = HostTestProject::new();
    let manifests = place.paths().manifests;
    let held = lock_setup(&manifests, PATIENCE).unwrap();
    let second = lock_setup(&manifests, Duration::ZERO);
    assert!(matches!(second, Err(ApplyError::Busy)), "{second:?}");
    drop(held);
    lock_setup(&manifests, Duration::ZERO).unwrap();
}
