//! Evidence in the state folder counts under either dialect and wherever the folder is.

use std::path::{Path, PathBuf};

use omx_kernel::evidence::{FactQuery, FileFacts, Requirement, missing_evidence};
use omx_kernel::state_paths::StatePaths;
use omx_kernel::{Dialect, Document, SessionId, Value};

const ROOT: &str = "/work/shop";

fn session() -> SessionId {
    SessionId::new("0199-run").unwrap()
}

/// The state folders a project can have: of each dialect, and outside the project.
fn state_folders() -> Vec<PathBuf> {
    let inside = Dialect::ALL.iter().map(|dialect| Path::new(ROOT).join(dialect.dir_name));
    inside.chain([PathBuf::from("/var/state/shop-0011223344556677")]).collect()
}

/// A ralph document whose audit names one file.
fn audited(path: &str) -> Document {
    let evidence = Value::array(vec![Value::record([("path", Value::string(path))])]);
    let audit = Value::record([
        ("passed", Value::bool(true)),
        ("checklist", Value::strings(["done"])),
        ("evidence", evidence),
    ]);
    Document::new(vec![("completion_audit".to_owned(), audit)])
}

/// Looks up the facts of a document as the shell does, in a world of these files.
fn facts(document: &Document, paths: &StatePaths, files: &[PathBuf]) -> FileFacts {
    let exists = |path: &String| {
        let candidates = paths.candidates(path, Path::new("/elsewhere"));
        candidates.iter().any(|candidate| files.contains(candidate))
    };
    FileFacts::assume(FactQuery::for_document(document).paths.into_iter().filter(exists))
}

fn completes(document: &Document, paths: &StatePaths, files: &[PathBuf]) -> bool {
    let facts = facts(document, paths, files);
    missing_evidence(Requirement::CompletionAudit, document, "verifying", &facts).is_empty()
}

#[test]
fn modes_2_3_the_journal_is_evidence_in_every_state_folder() {
    for folder in state_folders() {
        let paths = StatePaths::new(Path::new(ROOT), &folder);
        let journal = folder.join("runs/0199-run/journal.jsonl");
        let document = audited(&paths.journal(&session()));
        assert!(completes(&document, &paths, &[journal]), "{}", folder.display());
        assert!(!completes(&document, &paths, &[]), "{}", folder.display());
    }
}

#[test]
fn modes_2_3_a_dialects_folder_name_means_the_projects_state_folder() {
    for folder in state_folders() {
        let paths = StatePaths::new(Path::new(ROOT), &folder);
        let plan = folder.join("plans/prd-shop.md");
        for dialect in Dialect::ALL {
            let document = audited(&format!("{}/plans/prd-shop.md", dialect.dir_name));
            let case = format!("{} in {}", dialect.name, folder.display());
            assert!(completes(&document, &paths, std::slice::from_ref(&plan)), "{case}");
            assert!(!completes(&document, &paths, &[]), "{case}");
        }
    }
}

#[test]
fn modes_2_3_a_longer_name_is_not_the_state_folder() {
    let paths = StatePaths::new(Path::new(ROOT), Path::new("/var/state/shop"));
    for name in [".omxy/plans/a.md", ".omx", ".omx-old/plans/a.md", "src/.omx/plans/a.md", ""] {
        let candidates = paths.candidates(name, Path::new(ROOT));
        assert!(candidates.iter().all(|file| !file.starts_with("/var/state")), "{candidates:?}");
    }
}

#[test]
fn modes_2_2_files_of_the_state_folder_are_named_as_seen_from_the_project() {
    let inside = StatePaths::new(Path::new(ROOT), &Path::new(ROOT).join(Dialect::OMC.dir_name));
    assert_eq!(inside.context("shop-1"), ".omc/context/shop-1.md");
    assert_eq!(inside.journal(&session()), ".omc/runs/0199-run/journal.jsonl");
    assert_eq!(
        StatePaths::in_project(Dialect::OMX).journal(&session()),
        ".omx/runs/0199-run/journal.jsonl"
    );
    let outside = StatePaths::new(Path::new(ROOT), Path::new("/var/state/shop"));
    assert_eq!(outside.context("shop-1"), "/var/state/shop/context/shop-1.md");
}

#[test]
fn modes_2_3_a_state_folder_with_a_path_that_is_not_utf8_holds_evidence() {
    use std::os::unix::ffi::OsStringExt;
    let folder = PathBuf::from(std::ffi::OsString::from_vec(b"/var/\xff/shop".to_vec()));
    let paths = StatePaths::new(Path::new(ROOT), &folder);
    let document = audited(&paths.journal(&session()));
    assert!(completes(&document, &paths, &[folder.join("runs/0199-run/journal.jsonl")]));
}
