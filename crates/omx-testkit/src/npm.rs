//! Programs from npm that tests use as foreign clients, installed on demand.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of a program from npm, in this very version, installed into the
/// workspace's `target/npm/NAME` by whichever test asks first.
pub fn npm_tool(name: &str, package: &str, program: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let all = root.join(target).join("npm");
    fs::create_dir_all(&all).unwrap();
    // Tests of other processes wait here; the lock goes with its process.
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let folder = all.join(name);
    let mark = folder.join(".installed");
    if fs::read_to_string(&mark).ok().as_deref() != Some(package) {
        // Half an installation is none.
        let _ = fs::remove_dir_all(&folder);
        install(&folder, package);
        fs::write(&mark, package).unwrap();
    }
    let found = folder.join("node_modules/.bin").join(program);
    assert!(found.exists(), "{package} has no program {program}");
    found
}

fn install(folder: &Path, package: &str) {
    let output = Command::new("npm")
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"])
        .arg(folder)
        .arg(package)
        .output()
        .unwrap_or_else(|error| panic!("npm does not run ({error}); apt-get install npm nodejs"));
    assert!(
        output.status.success(),
        "npm could not install {package}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
