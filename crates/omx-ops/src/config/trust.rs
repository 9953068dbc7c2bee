//! The person's trust in a project's configuration: what waits for it, and its records
//! outside the project.

use std::path::{Path, PathBuf};

use omx_kernel::foreign::EscapedText;
use omx_kernel::{GuardedAct, Refusal, RefusalCode, Timestamp};
use omx_store::{ContentHash, Store, TrustRecords, TrustedFile};

use super::files;
use super::layers::{Config, WaitingFile, load, project_files};
use crate::context::Context;

/// Whether the person trusts this content of a file. A record that cannot be read
/// grants nothing.
pub(super) fn is_trusted(folder: Option<&Path>, path: &Path, hash: &ContentHash) -> bool {
    let Some(folder) = folder else { return false };
    let record = TrustRecords::new(folder.to_owned()).find(path);
    record.is_ok_and(|record| record.is_some_and(|record| record.sha256 == *hash))
}

/// Reads all layers for a start, which refuses while something of the project waits for
/// trust: the person decides whether it counts.
pub fn load_trusted(context: &Context<'_>, store: &Store) -> Result<Config, Refusal> {
    let config = load(context, store)?;
    if config.waiting.is_empty() {
        return Ok(config);
    }
    let files = config.waiting.iter().map(|file| {
        let mut keys: Vec<&str> =
            file.settings.iter().map(|setting| setting.key.as_str()).collect();
        keys.dedup();
        format!("{} sets {}", file.path.display(), keys.join(", "))
    });
    let files: Vec<String> = files.collect();
    let why = format!(
        "{}; this counts only after you trust it: {} trust {}",
        files.join(" and "),
        context.dialect.name,
        store.root().display()
    );
    let why = EscapedText::one_line(&why).to_string();
    Err(Refusal::new(RefusalCode::NeedsTrust, why))
}

fn records(context: &Context<'_>) -> Result<TrustRecords, Refusal> {
    let folder = context.trust_folder().ok_or_else(|| {
        Refusal::new(RefusalCode::Io, "cannot keep what you trust: HOME is not set")
    })?;
    Ok(TrustRecords::new(folder))
}

/// Records that the person trusts these files with the content that was shown.
pub fn trust_files(context: &Context<'_>, files: &[WaitingFile]) -> Result<(), Refusal> {
    context.check_act(GuardedAct::OfPerson("trust a configuration"))?;
    let records = records(context)?;
    for file in files {
        let (path, sha256) = (file.path.clone(), file.hash.clone());
        records.add(&TrustedFile { path, sha256, at: context.now() })?;
    }
    Ok(())
}

/// Whether the trust in a file still applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// The file is as the person saw it.
    Current,
    /// The file has changed since and needs trust again.
    Changed,
    /// The file is gone or cannot be read.
    Missing,
}

impl TrustState {
    /// The word in lists and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Changed => "changed",
            Self::Missing => "missing",
        }
    }
}

/// A file that the person has trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustEntry {
    /// Its path.
    pub path: PathBuf,
    /// When the person trusted it.
    pub at: Timestamp,
    /// Whether that still applies.
    pub state: TrustState,
}

/// Lists the files that the person has trusted.
pub fn trust_list(context: &Context<'_>) -> Result<Vec<TrustEntry>, Refusal> {
    let entry = |record: TrustedFile| {
        let state = match files::text(&record.path) {
            Ok(Some(text)) if ContentHash::from_content(text.as_bytes()) == record.sha256 => {
                TrustState::Current
            }
            Ok(Some(_)) => TrustState::Changed,
            Ok(None) | Err(_) => TrustState::Missing,
        };
        TrustEntry { path: record.path, at: record.at, state }
    };
    Ok(records(context)?.all()?.into_iter().map(entry).collect())
}

/// Forgets the trust in a project's files. Returns the files that were trusted.
pub fn trust_revoke(context: &Context<'_>, store: &Store) -> Result<Vec<PathBuf>, Refusal> {
    context.check_act(GuardedAct::OfPerson("change what is trusted"))?;
    let records = records(context)?;
    let mut revoked = Vec::new();
    for path in project_files(store.root(), store.tree(), context.dialect) {
        if records.remove(&path)? {
            revoked.push(path);
        }
    }
    Ok(revoked)
}
