//! Which new files of a step are not committed: files that are large, that usually hold
//! secrets, or that a tool can make again. They stay where they are, and the run reports
//! them.

use crate::dialect::Dialect;

/// Parts of omx's folder that only omx writes. Plans and settings are the project's.
const PRIVATE: &[&str] = &["runs/", "state/", "worktrees/", "log/"];

/// The largest new file that is committed, in bytes.
pub const LARGEST_FILE: u64 = 5_000_000;

/// Folders that tools fill and can fill again.
const BUILD_FOLDERS: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "node_modules",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
];

/// Files by which tools mark a folder that they can fill again.
const BUILD_MARKS: &[&str] = &["CACHEDIR.TAG", ".rustc_info.json", "pyvenv.cfg"];

/// Names of files that usually hold secrets.
const SECRETS: &[&str] =
    &[".env", ".envrc", ".netrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

/// Endings of `.env.…` files that are meant to be shared.
const SHARED: &[&str] = &["example", "sample", "template", "dist", "defaults", "schema"];

/// Why a file is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// It usually holds secrets.
    Secret,
    /// It has more than [`LARGEST_FILE`] bytes.
    Large(u64),
    /// A tool made it and can make it again.
    BuildOutput,
    /// It is in a folder of omx, where only omx writes: a run in there would look like
    /// the person's own.
    OfOmx,
}

/// A new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile<'a> {
    /// Its path, with slashes.
    pub path: &'a str,
    /// Its size in bytes.
    pub size: u64,
}

/// Returns the files to leave out, with the reason: a list as long as `files`.
pub fn left_out(files: &[NewFile<'_>]) -> Vec<Option<LeftOutReason>> {
    let marked: Vec<&str> = files
        .iter()
        .filter_map(|file| {
            let (folder, name) = file.path.rsplit_once('/')?;
            BUILD_MARKS.contains(&name).then_some(folder)
        })
        .collect();
    let is_marked = |path: &str| {
        marked.iter().any(|folder| path.strip_prefix(folder).is_some_and(|it| it.starts_with('/')))
    };
    files
        .iter()
        .map(|file| {
            if is_of_omx(file.path) {
                Some(LeftOutReason::OfOmx)
            } else if is_build_output(file.path) || is_marked(file.path) {
                Some(LeftOutReason::BuildOutput)
            } else if is_secret(file.path) {
                Some(LeftOutReason::Secret)
            } else {
                (file.size > LARGEST_FILE).then_some(LeftOutReason::Large(file.size))
            }
        })
        .collect()
}

fn is_of_omx(path: &str) -> bool {
    Dialect::ALL.iter().any(|dialect| {
        let rest = path.strip_prefix(dialect.dir_name).and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|rest| PRIVATE.iter().any(|folder| rest.starts_with(folder)))
    })
}

pub(crate) fn is_build_output(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    name.ends_with(".pyc") || name == ".DS_Store" || parts.any(|part| BUILD_FOLDERS.contains(&part))
}

fn is_secret(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    if SECRETS.contains(&name) {
        return true;
    }
    let ending = name.strip_prefix(".env.");
    ending.is_some_and(|ending| !ending.split('.').any(|part| SHARED.contains(&part)))
}

/// Describes what a step left out of its commit, in one line; `None` if nothing. Many
/// build outputs are counted by folder.
pub fn describe_left_out(files: &[(String, LeftOutReason)]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut built = 0_usize;
    let mut first_built = "";
    let mut words = Vec::new();
    for (path, reason) in files {
        match reason {
            LeftOutReason::BuildOutput => {
                if built == 0 {
                    first_built = path;
                }
                built += 1;
            }
            LeftOutReason::OfOmx => {
                words.push(format!("{path:?} (only the run itself writes there)"))
            }
            LeftOutReason::Secret => words.push(format!("{path:?} (may hold secrets)")),
            LeftOutReason::Large(size) => {
                words.push(format!("{path:?} ({} MB)", size.div_ceil(1_000_000)));
            }
        }
    }
    words.sort();
    match built {
        0 => {}
        1 => words.push(format!("{first_built:?} (build output)")),
        more => words.push(format!("{more} files of build output, such as {first_built:?}")),
    }
    Some(format!("not committed: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(files: &[(&str, u64)]) -> Vec<Option<LeftOutReason>> {
        let files: Vec<NewFile<'_>> =
            files.iter().map(|(path, size)| NewFile { path, size: *size }).collect();
        left_out(&files)
    }

    #[test]
    fn trust_3_7_secrets_large_files_and_build_outputs_are_left_out() {
        use LeftOutReason::{BuildOutput, Large, OfOmx, Secret};
        for (path, reason) in [
            (".omx/runs/01a1e45f-7f1e-72e8-9d61-bc9b4b19b908/run.json", OfOmx),
            (".omc/state/sessions/s/ralph-state.json", OfOmx),
            (".env", Secret),
            ("a/.env.local", Secret),
            (".env.production", Secret),
            ("keys/id_ed25519", Secret),
            ("a/__pycache__/x.cpython-313.pyc", BuildOutput),
            ("node_modules/left-pad/index.js", BuildOutput),
            ("x.pyc", BuildOutput),
            ("a/.venv/bin/python", BuildOutput),
        ] {
            assert_eq!(reasons(&[(path, 1)]), [Some(reason)], "{path}");
        }
        assert_eq!(reasons(&[("a.bin", LARGEST_FILE + 1)]), [Some(Large(LARGEST_FILE + 1))]);
    }

    #[test]
    fn everything_else_is_committed() {
        for path in [
            "src/main.rs",
            ".omx/plans/prd-login.md",
            ".omx/config.toml",
            "a/.omx/runs/x",
            ".env.example",
            "config/.env.sample",
            "environment.md",
            "node_modules",
            "src/target/aim.rs",
            "build/index.js",
        ] {
            assert_eq!(reasons(&[(path, LARGEST_FILE)]), [None], "{path}");
        }
    }

    #[test]
    fn a_folder_that_a_tool_marked_is_build_output() {
        let found = reasons(&[
            ("target/CACHEDIR.TAG", 1),
            ("target/debug/app", 1),
            ("targets.md", 1),
            ("src/target/aim.rs", 1),
        ]);
        let built = Some(LeftOutReason::BuildOutput);
        assert_eq!(found, [built, built, None, None]);
    }

    #[test]
    fn what_is_left_out_is_described_in_one_line() {
        assert_eq!(describe_left_out(&[]), None);
        let built = |path: &str| (path.to_owned(), LeftOutReason::BuildOutput);
        let files = [
            (".env\u{1b}".to_owned(), LeftOutReason::Secret),
            ("big".to_owned(), LeftOutReason::Large(50_000_001)),
            built("a/__pycache__/x.pyc"),
            built("a/__pycache__/y.pyc"),
        ];
        assert_eq!(
            describe_left_out(&files).unwrap(),
            "not committed: \".env\\u{1b}\" (may hold secrets), \"big\" (51 MB), \
             2 files of build output, such as \"a/__pycache__/x.pyc\""
        );
    }
}
