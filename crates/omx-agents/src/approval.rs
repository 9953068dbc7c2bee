//! Whether a path lies inside the agent's folder, for the approval policy.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use omx_kernel::approval::TargetLocation;

/// Whether a path, as an agent named it, lies inside a folder: links are
/// followed as far as the path exists, `..` is taken at its word after that.
pub fn reach(folder: &Path, path: &Path) -> TargetLocation {
    let Ok(root) = folder.canonicalize() else { return TargetLocation::Outside };
    let whole = if path.is_absolute() { path.to_owned() } else { root.join(path) };
    let inside = resolve_links(&whole).is_some_and(|path| path.starts_with(&root));
    if inside { TargetLocation::Inside } else { TargetLocation::Outside }
}

/// Where all of several paths lie; outside if there is none.
pub fn reach_of_all<'a>(
    folder: &Path,
    paths: impl IntoIterator<Item = &'a Path>,
) -> TargetLocation {
    let mut some = false;
    for path in paths {
        some = true;
        if reach(folder, path) == TargetLocation::Outside {
            return TargetLocation::Outside;
        }
    }
    if some { TargetLocation::Inside } else { TargetLocation::Outside }
}

/// After this many symbolic links, a path counts as a loop.
const LINKS: usize = 40;

/// The path with every symbolic link resolved, even if its end does not exist
/// yet: writing through a dangling link would follow it. None for a loop.
fn resolve_links(path: &Path) -> Option<PathBuf> {
    let mut done = PathBuf::new();
    let mut links = 0;
    let mut rest: Vec<OsString> = components_reversed(path);
    while let Some(word) = rest.pop() {
        if word == ".." {
            done.pop();
            continue;
        }
        // Pushing a root component starts over at the root.
        done.push(&word);
        let Ok(target) = done.read_link() else { continue };
        links += 1;
        if links > LINKS {
            return None;
        }
        done.pop();
        rest.extend(components_reversed(&target));
    }
    Some(done)
}

/// The components of a path, last first.
fn components_reversed(path: &Path) -> Vec<OsString> {
    let named = path.components().rev().filter(|word| *word != Component::CurDir);
    named.map(|word| word.as_os_str().to_owned()).collect()
}
