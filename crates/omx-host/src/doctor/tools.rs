//! git and tmux.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::finding::{Area, Finding};
use super::patient::Patient;
use super::trial::{Trial, run};

const AREA: Area = Area::Tools;

/// The first git that merges without a worktree.
const GIT: (u32, u32) = (2, 38);

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &patient.git {
        Some(git) => findings.extend(git_works(git, patient.store.root())),
        None => {
            let fix = format!("install git, {}.{} or newer", GIT.0, GIT.1);
            findings.push(Finding::failure(AREA, "git", "git is not installed", fix));
        }
    }
    findings.push(match &patient.tmux {
        Some(tmux) => tmux_works(tmux),
        None => Finding::warning(
            AREA,
            "tmux",
            "tmux is not installed; only teams need it",
            "install tmux",
        ),
    });
    findings
}

fn git_works(git: &Path, root: &Path) -> Vec<Finding> {
    let call = |args: &[&str]| {
        let mut command = Command::new(git);
        command.current_dir(root).args(args);
        run(command, b"", PATIENCE)
    };
    let Trial::Ended(Some(0), said, _) = call(&["--version"]) else {
        let fix = format!("see what is wrong with it: {} --version", git.display());
        return vec![Finding::failure(AREA, "git", "git does not tell its version", fix).at(git)];
    };
    let version = said.trim().trim_start_matches("git version ").to_owned();
    if !is_new_enough(&version) {
        let what = format!("git {version} is too old");
        let fix = format!("install git {}.{} or newer", GIT.0, GIT.1);
        return vec![Finding::failure(AREA, "git", what, fix).at(git)];
    }
    let known = ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"].iter().all(|who| {
        let asked = call(&["-c", "user.useConfigOnly=true", "var", who]);
        matches!(asked, Trial::Ended(Some(0), ..))
    });
    let identity = if known {
        Finding::fine(AREA, "git_identity", "git knows who you are")
    } else {
        let fix = "git config --global user.name NAME; git config --global user.email ADDRESS";
        Finding::failure(AREA, "git_identity", "git does not know who you are", fix)
    };
    vec![Finding::fine(AREA, "git", format!("git {version}")), identity]
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let first = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    first >= GIT
}

fn tmux_works(tmux: &Path) -> Finding {
    let mut command = Command::new(tmux);
    command.arg("-V");
    match run(command, b"", PATIENCE) {
        Trial::Ended(Some(0), said, _) => Finding::fine(AREA, "tmux", said.trim().to_owned()),
        _ => {
            let fix = format!("see what is wrong with it: {} -V", tmux.display());
            Finding::warning(AREA, "tmux", "tmux does not tell its version", fix).at(tmux)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_versions_are_compared_as_numbers() {
        assert!(is_new_enough("2.38.0") && is_new_enough("2.47.3.apple") && is_new_enough("3.0"));
        assert!(!is_new_enough("2.9.5") && !is_new_enough("1.99") && !is_new_enough("unknown"));
    }
}
