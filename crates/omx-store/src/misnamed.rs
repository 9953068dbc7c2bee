//! Folders in the place of a session whose name is no session id. No operation can name
//! them, so that their documents are reported as unreadable until a forced cancel clears
//! them.

use std::path::PathBuf;

use omx_kernel::Mode;

use crate::dir::{self, open};
use crate::documents::odd_session_names;
use crate::tree::StateDir;

/// A document in a folder that is not the folder of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisnamedDocument {
    /// The mode, by the name of the file.
    pub mode: Mode,
    /// The name of the folder.
    pub folder: String,
    /// The path of the document.
    pub path: PathBuf,
}

impl StateDir {
    /// The documents in folders whose name is no session id, in the order of their paths.
    pub fn misnamed_documents(&self) -> Vec<MisnamedDocument> {
        let path = self.path().join("sessions");
        let Ok(Some(sessions)) = open(&self.fd, "sessions", &path) else { return Vec::new() };
        let mut found = Vec::new();
        for folder in odd_session_names(&sessions, &path).unwrap_or_default() {
            let path = path.join(&folder);
            let Ok(Some(opened)) = open(&sessions, &folder, &path) else { continue };
            let documents = dir::names_as(&opened, &path, |name| {
                Some((Mode::from_file_name(name)?, path.join(name)))
            });
            let of_folder = documents.unwrap_or_default().into_iter();
            found.extend(of_folder.map(|(mode, path)| MisnamedDocument {
                mode,
                folder: folder.clone(),
                path,
            }));
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }
}
