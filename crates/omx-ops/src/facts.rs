//! Answers to what the rules ask about the world outside the documents.

use std::path::{Path, PathBuf};

use omx_kernel::evidence::{FactQuery, FileFacts, evidence_paths};
use omx_store::{MAX_DOCUMENT_BYTES, Store, json};

/// Looks up what a rule wants to know. What cannot be found out is answered with no.
pub(crate) fn answer(questions: &FactQuery, store: &Store, working_directory: &Path) -> FileFacts {
    let folders = [store.root(), working_directory];
    let audit = questions.audit_path.as_deref().and_then(|path| {
        let file = folders.iter().find_map(|folder| inside(folder, path))?;
        let size = std::fs::metadata(&file).ok()?.len();
        let text = (size <= MAX_DOCUMENT_BYTES as u64).then(|| std::fs::read_to_string(&file))?;
        let text = text.ok().filter(|text| json::nesting_depth(text) <= omx_store::MAX_DEPTH)?;
        json::parse(&text).ok()
    });
    let more = audit.as_ref().map(evidence_paths).unwrap_or_default();
    let existing = questions
        .paths
        .iter()
        .cloned()
        .chain(more)
        .filter(|path| !path.is_empty() && folders.iter().any(|folder| folder.join(path).exists()))
        .collect();
    FileFacts { existing, audit }
}

/// The file at that path, if it really lies inside the folder.
fn inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let real = std::fs::canonicalize(folder.join(path)).ok()?;
    let folder = std::fs::canonicalize(folder).ok()?;
    (real.starts_with(folder) && real.is_file()).then_some(real)
}
