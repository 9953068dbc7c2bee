//! Looks up the facts about files that rules ask for.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use omx_kernel::StatePaths;
use omx_kernel::evidence::{FactQuery, FileFacts, evidence_paths};
use omx_process::read_plain_file;
use omx_store::{MAX_DOCUMENT_BYTES, Store, json};

/// Looks up what a rule asks for. An unreadable file counts as missing.
pub(crate) fn answer(query: &FactQuery, store: &Store, working_directory: &Path) -> FileFacts {
    let paths = StatePaths::new(store.root(), store.tree());
    let audit = query.audit_path.as_deref().and_then(|path| {
        let files = paths.candidates(path, working_directory);
        let file = files.iter().find_map(|file| inside(file, &paths, working_directory))?;
        let text = read_plain_file(&file, MAX_DOCUMENT_BYTES as u64);
        let text = text.ok().filter(|text| json::nesting_depth(text) <= omx_store::MAX_DEPTH)?;
        json::parse(&text).ok()
    });
    let more = audit.as_ref().map(evidence_paths).unwrap_or_default();
    let identity = |path: &String| {
        let candidates = paths.candidates(path, working_directory);
        candidates.iter().find_map(|file| identify(file, &paths, working_directory))
    };
    let named = query.paths.iter().cloned().chain(more);
    let files = named.filter_map(|path| Some((identity(&path)?, path)));
    FileFacts { files: files.map(|(identity, path)| (path, identity)).collect(), audit }
}

/// The identity of a regular file with content that belongs to the project.
fn identify(file: &Path, paths: &StatePaths, working_directory: &Path) -> Option<String> {
    let real = inside(file, paths, working_directory)?;
    let found = std::fs::metadata(real).ok().filter(|found| found.len() > 0)?;
    Some(format!("{}:{}", found.dev(), found.ino()))
}

/// Resolves links and returns the real path, if it is in the project, its state
/// folder or the working directory.
fn inside(file: &Path, paths: &StatePaths, working_directory: &Path) -> Option<PathBuf> {
    let real = std::fs::canonicalize(file).ok()?;
    let folders = paths.folders().into_iter().chain([working_directory]);
    let mut folders = folders.filter_map(|folder| std::fs::canonicalize(folder).ok());
    (real.is_file() && folders.any(|folder| real.starts_with(folder))).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use omx_kernel::Dialect;
    use omx_store::Project;
    use std::fs;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn modes_2_3_evidence_counts_wherever_the_state_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        let dialects = Dialect::ALL.iter().map(|dialect| root.join(dialect.dir_name));
        for tree in dialects.chain([folder.path().join("state/project-1")]) {
            put(&tree.join("runs/r1/journal.jsonl"), "{}\n");
            put(&tree.join("audit.json"), r#"{"passed":true}"#);
            let store = Store::new(Project { root: root.clone(), tree: tree.clone() });
            let paths = StatePaths::new(&root, &tree);
            let named = paths.name("runs/r1/journal.jsonl");
            let query = FactQuery {
                paths: vec![named.clone(), paths.name("runs/r2/journal.jsonl")],
                audit_path: Some(paths.name("audit.json")),
            };
            let facts = answer(&query, &store, &root);
            assert_eq!(facts.files.into_keys().collect::<Vec<_>>(), [named]);
            assert!(facts.audit.is_some(), "{}", tree.display());
            fs::remove_dir_all(tree).unwrap();
        }
    }

    #[test]
    fn modes_2_1_only_files_with_content_inside_the_project_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let tree = root.join(Dialect::OMX.dir_name);
        put(&folder.path().join("outside.md"), "x");
        put(&root.join("plan.md"), "x");
        put(&root.join("empty.md"), "");
        fs::create_dir_all(root.join("folder")).unwrap();
        let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
        link(&folder.path().join("outside.md"), "link_out.md");
        link(&root.join("plan.md"), "link_in.md");
        fs::hard_link(root.join("plan.md"), root.join("hard.md")).unwrap();
        let store = Store::new(Project { root: root.clone(), tree });
        let inside = root.join("plan.md").display().to_string();
        let good = ["plan.md", "./plan.md", "link_in.md", "hard.md", inside.as_str()];
        let bad = [
            "empty.md",
            "folder",
            "../outside.md",
            "link_out.md",
            "/etc/hostname",
            "none",
            "",
            ".",
        ];
        let paths = good.iter().chain(&bad).map(|path| (*path).to_owned()).collect();
        let facts = answer(&FactQuery { paths, audit_path: None }, &store, &root);
        for path in good {
            assert_eq!(facts.files.get(path), facts.files.get("plan.md"), "{path}");
        }
        for path in bad {
            assert_eq!(facts.files.get(path), None, "{path}");
        }
    }

    #[test]
    fn modes_2_3_an_audit_outside_the_project_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let tree = root.join(Dialect::OMX.dir_name);
        fs::create_dir_all(&tree).unwrap();
        put(&folder.path().join("audit.json"), "{}");
        std::os::unix::fs::symlink(folder.path().join("audit.json"), root.join("audit.json"))
            .unwrap();
        let store = Store::new(Project { root: root.clone(), tree });
        for path in
            ["../audit.json", "audit.json", &format!("{}/../../audit.json", Dialect::OMX.dir_name)]
        {
            let query = FactQuery { paths: Vec::new(), audit_path: Some(path.to_owned()) };
            assert_eq!(answer(&query, &store, &root).audit, None, "{path}");
        }
    }
}
