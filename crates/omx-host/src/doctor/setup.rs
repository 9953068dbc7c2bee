//! Whether what setup wrote is still there: setup is planned again, and what it
//! would change is what is wrong.

use std::path::Path;

use super::env::{DoctorEnv, Installation};
use super::finding::{CheckArea, DoctorFinding, Fix};
use crate::setup::{
    FileChange, Manifest, RealDisk, SetupNote, SetupNoteKind, SetupPaths, SetupPlan, SetupScope,
    plan_setup,
};

const AREA: CheckArea = CheckArea::Setup;

/// How setup names what it wrote about Codex's trust.
const TRUST: &str = "the trust in ";

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut any = false;
    for installed in &env.installed {
        let path = installed.paths.manifest();
        match Manifest::load(&path) {
            Ok(Some(manifest)) if !manifest.is_empty() => {
                any = true;
                findings.extend(compare(installed, manifest));
            }
            Ok(_) => {}
            Err(error) => {
                any = true;
                let fix = "put the file back from a backup, or delete it and run omx setup";
                findings.push(
                    DoctorFinding::failure(AREA, "manifest", error.to_string(), fix).at(&path),
                );
            }
        }
    }
    if !any && !env.hosts.is_empty() {
        let what = "omx is not set up in any agent's own conversations";
        findings.push(DoctorFinding::warning(AREA, "not_set_up", what, "omx setup"));
    }
    findings
}

fn scope_flag(paths: &SetupPaths) -> &'static str {
    match paths.scope {
        SetupScope::User => "",
        SetupScope::Project(_) => " --scope project",
    }
}

/// The plan of setting up again what was set up, with the program it was set up with.
pub(super) fn plan_again(installed: &Installation, manifest: Manifest) -> SetupPlan {
    let mut paths = installed.paths.clone();
    if is_program(&manifest.omx) {
        paths.omx.clone_from(&manifest.omx);
    }
    let hosts = manifest.hosts();
    plan_setup(&paths, &RealDisk, Some(manifest), &installed.catalog, &hosts)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let data = path.metadata();
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn compare(installed: &Installation, manifest: Manifest) -> Vec<DoctorFinding> {
    let flag = scope_flag(&installed.paths);
    let again = format!("omx setup{flag}, or omx doctor --fix");
    let mut findings = Vec::new();
    let mut finding = |finding: DoctorFinding| findings.push(finding);
    let gone = !is_program(&manifest.omx);
    if gone {
        let what = "the program the hosts are told to call is not there";
        let one = DoctorFinding::failure(AREA, "program_gone", what, again.clone());
        finding(one.at(&manifest.omx).fixed_by(Fix::SetUp));
    } else if manifest.omx_version != installed.paths.version {
        let what =
            format!("set up by omx {}; this is {}", manifest.omx_version, installed.paths.version);
        finding(DoctorFinding::warning(AREA, "version", what, format!("omx setup{flag}")));
    }
    let hosts: Vec<&str> = manifest.hosts().iter().map(|host| host.as_str()).collect();
    let plan = plan_again(installed, manifest);
    if !gone {
        for change in &plan.changes {
            finding(differs(change, &again));
        }
    }
    for note in &plan.notes {
        if let Some(one) = noted(note) {
            finding(one);
        }
    }
    if findings.is_empty() {
        let what = format!("{}: everything is as setup wrote it", hosts.join(", "));
        findings.push(DoctorFinding::fine(AREA, "setup", what));
    }
    findings
}

fn differs(change: &FileChange, fix: &str) -> DoctorFinding {
    let what = match change.old {
        None => "a file of omx's is missing",
        Some(_) => "a part of omx's is missing or not as it was written",
    };
    DoctorFinding::failure(AREA, "part", what, fix).at(&change.path).fixed_by(Fix::SetUp)
}

fn noted(note: &SetupNote) -> Option<DoctorFinding> {
    let what = note.text.clone();
    let one = match note.kind {
        SetupNoteKind::Refused => {
            let what = format!("the file cannot be read: {what}");
            DoctorFinding::failure(AREA, "broken_file", what, "mend the file, then: omx setup")
        }
        SetupNoteKind::Taken => {
            let fix = "take away what stands there, then: omx setup";
            DoctorFinding::failure(AREA, "taken", what, fix)
        }
        // A hook Codex does not trust is passed over without a word.
        SetupNoteKind::Edited if what.starts_with(TRUST) => {
            let fix = "start codex and trust omx's hooks, or delete that entry and run omx setup";
            DoctorFinding::failure(AREA, "untrusted", what, fix)
        }
        SetupNoteKind::Edited => {
            let fix = "if you did not mean to: put it back, then omx setup";
            DoctorFinding::warning(AREA, "edited", what, fix)
        }
        SetupNoteKind::Hint => {
            DoctorFinding::failure(AREA, "switched_off", what, "change that setting of the host")
        }
        SetupNoteKind::Theirs => return None,
    };
    Some(one.at(&note.path))
}
