//! git, tmux, and what confines agents.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use omx_process::{ConfinementMeans, find_confinement, try_bubblewrap};

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding};
use super::probe::{Probe, run};

const AREA: CheckArea = CheckArea::Tools;

/// The first version of git that can merge without a worktree.
const GIT: (u32, u32) = (2, 38);

const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    match &env.git {
        Some(git) => findings.extend(check_git(git, env.store.root())),
        None => {
            let fix = format!("install git, {}.{} or newer", GIT.0, GIT.1);
            findings.push(DoctorFinding::failure(AREA, "git", "git is not installed", fix));
        }
    }
    findings.push(match &env.tmux {
        Some(tmux) => check_tmux(tmux),
        None => DoctorFinding::warning(
            AREA,
            "tmux",
            "tmux is not installed; only teams need it",
            "install tmux",
        ),
    });
    findings.push(check_confinement(env.bubblewrap.as_deref()));
    findings
}

/// What confines agents here.
fn check_confinement(bubblewrap: Option<&Path>) -> DoctorFinding {
    let name = "confinement";
    let means = find_confinement(bubblewrap);
    let spare = match bubblewrap.map(try_bubblewrap) {
        None => "bubblewrap is not installed",
        Some(Ok(())) => "bubblewrap works",
        Some(Err(_)) => "bubblewrap does not work",
    };
    match means {
        ConfinementMeans::Landlock(_) | ConfinementMeans::Bubblewrap(_) => DoctorFinding::fine(
            AREA,
            name,
            format!("agents are confined by {means} ({spare}); codex brings its own sandbox"),
        ),
        ConfinementMeans::Missing(why) => DoctorFinding::warning(
            AREA,
            name,
            format!("agents cannot be confined, except codex by its own sandbox: {why}"),
            "use a kernel with Landlock (Linux 6.2 or later), or install bubblewrap",
        ),
    }
}

fn check_git(git: &Path, root: &Path) -> Vec<DoctorFinding> {
    let call = |args: &[&str]| {
        let mut command = Command::new(git);
        command.current_dir(root).args(args);
        run(command, b"", PATIENCE)
    };
    let Probe::Exited(Some(0), said, _) = call(&["--version"]) else {
        let fix = format!("run {} --version to see what is wrong", git.display());
        return vec![
            DoctorFinding::failure(AREA, "git", "git does not print its version", fix).at(git),
        ];
    };
    let version = said.trim().trim_start_matches("git version ").to_owned();
    if !is_new_enough(&version) {
        let what = format!("git {version} is too old");
        let fix = format!("install git {}.{} or newer", GIT.0, GIT.1);
        return vec![DoctorFinding::failure(AREA, "git", what, fix).at(git)];
    }
    let is_known = ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"].iter().all(|who| {
        let requested = call(&["-c", "user.useConfigOnly=true", "var", who]);
        matches!(requested, Probe::Exited(Some(0), ..))
    });
    let identity = if is_known {
        DoctorFinding::fine(AREA, "git_identity", "git has your name and email address")
    } else {
        let fix = "git config --global user.name NAME; git config --global user.email ADDRESS";
        DoctorFinding::failure(
            AREA,
            "git_identity",
            "git has no name or email address for you",
            fix,
        )
    };
    vec![DoctorFinding::fine(AREA, "git", format!("git {version}")), identity]
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let first = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    first >= GIT
}

fn check_tmux(tmux: &Path) -> DoctorFinding {
    let mut command = Command::new(tmux);
    command.arg("-V");
    match run(command, b"", PATIENCE) {
        Probe::Exited(Some(0), said, _) => {
            DoctorFinding::fine(AREA, "tmux", said.trim().to_owned())
        }
        _ => {
            let fix = format!("run {} -V to see what is wrong", tmux.display());
            DoctorFinding::warning(AREA, "tmux", "tmux does not print its version", fix).at(tmux)
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
