//! The program in its other profiles, built when a test first asks for it, so
//! that it is never stale. `OMX_TEST_PREBUILT` says that `scripts/test` built them
//! a moment ago.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the built release binary.
pub fn release_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("release"))
}

/// Builds the program in a profile; its path.
pub(crate) fn built(profile: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let binary = root.join(target).join(profile).join("omx");
    if std::env::var_os("OMX_TEST_PREBUILT").is_some() && binary.exists() {
        return binary;
    }
    let output = Command::new(env!("CARGO"))
        .args(["build", "--profile", profile, "--quiet", "--package", "omx", "--bin", "omx"])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "the {profile} build failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    binary
}
