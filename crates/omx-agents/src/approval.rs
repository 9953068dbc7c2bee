//! Where a path lies, seen from the agent's folder, for the policy on approvals.

use std::path::{Component, Path, PathBuf};

use omx_kernel::approval::Reach;

/// Whether a path, as an agent named it, lies inside a folder: links are
/// followed as far as the path exists, `..` is taken at its word after that.
pub fn reach(folder: &Path, path: &Path) -> Reach {
    let Ok(root) = folder.canonicalize() else { return Reach::Outside };
    let whole = if path.is_absolute() { path.to_owned() } else { root.join(path) };
    if resolved(&whole).starts_with(&root) { Reach::Inside } else { Reach::Outside }
}

/// Where all of several paths lie; outside if there is none.
pub fn reach_of_all<'a>(folder: &Path, paths: impl IntoIterator<Item = &'a Path>) -> Reach {
    let mut some = false;
    for path in paths {
        some = true;
        if reach(folder, path) == Reach::Outside {
            return Reach::Outside;
        }
    }
    if some { Reach::Inside } else { Reach::Outside }
}

/// The path with every link in it followed, also where its end does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let mut done = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                done.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                done.push(component);
                // A link that points nowhere yet would be followed on writing.
                if let Ok(target) = done.canonicalize() {
                    done = target;
                } else if let Ok(target) = done.read_link() {
                    let base = done.parent().unwrap_or(Path::new("/")).to_owned();
                    done = base.join(target);
                }
            }
        }
    }
    done
}
