//! Checks that what setup wrote is still in place: plans setup again and reports what
//! it would change.

use std::path::Path;

use super::env::{DoctorEnv, Installation};
use super::finding::{CheckArea, DoctorFinding, Fix};
use crate::setup::{
    Manifest, RealDisk, SetupFileChange, SetupNote, SetupNoteKind, SetupPaths, SetupPlan,
    SetupScope, plan_setup,
};

const AREA: CheckArea = CheckArea::Setup;

/// How setup's notes about trust records start.
const TRUST: &str = "the trust in ";

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut any = false;
    let program = env.program();
    for installed in &env.installed {
        let path = installed.paths.manifest();
        match Manifest::load(&path) {
            Ok(Some(manifest)) if !manifest.is_empty() => {
                any = true;
                findings.extend(check_manifest(program, installed, manifest));
            }
            Ok(_) => {}
            Err(error) => {
                any = true;
                let fix =
                    format!("restore the file from a backup, or delete it and run {program} setup");
                findings.push(
                    DoctorFinding::failure(AREA, "manifest", error.to_string(), fix).at(&path),
                );
            }
        }
    }
    if !any && !env.hosts.is_empty() {
        let what = format!("{program} is not set up in any agent");
        let fix = format!("{program} setup");
        findings.push(DoctorFinding::warning(AREA, "not_set_up", what, fix));
    }
    findings
}

fn scope_flag(paths: &SetupPaths) -> &'static str {
    match paths.scope {
        SetupScope::User => "",
        SetupScope::Project(_) => " --scope project",
    }
}

/// Plans the same setup again, with the program that was set up.
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

fn check_manifest(
    program: &str,
    installed: &Installation,
    manifest: Manifest,
) -> Vec<DoctorFinding> {
    let flag = scope_flag(&installed.paths);
    let again = format!("{program} setup{flag}, or {program} doctor --fix");
    let mut findings = Vec::new();
    let mut finding = |finding: DoctorFinding| findings.push(finding);
    let gone = !is_program(&manifest.omx);
    if gone {
        let what = "the program that the hosts call does not exist";
        let one = DoctorFinding::failure(AREA, "program_gone", what, again.clone());
        finding(one.at(&manifest.omx).fixed_by(Fix::SetUp));
    } else if manifest.omx_version != installed.paths.version {
        let what = format!(
            "set up by {program} {}, but this is {program} {}",
            manifest.omx_version, installed.paths.version
        );
        finding(DoctorFinding::warning(AREA, "version", what, format!("{program} setup{flag}")));
    }
    let hosts: Vec<&str> = manifest.hosts().iter().map(|host| host.as_str()).collect();
    let plan = plan_again(installed, manifest);
    if !gone {
        for change in &plan.changes {
            finding(change_finding(change, &again));
        }
    }
    for note in &plan.notes {
        if let Some(one) = note_finding(program, note) {
            finding(one);
        }
    }
    if findings.is_empty() {
        let what = format!("{}: everything is as setup wrote it", hosts.join(", "));
        findings.push(DoctorFinding::fine(AREA, "setup", what));
    }
    findings
}

fn change_finding(change: &SetupFileChange, fix: &str) -> DoctorFinding {
    let what = match change.old {
        None => "a file that setup wrote is missing",
        Some(_) => "an entry that setup wrote is missing or has changed",
    };
    DoctorFinding::failure(AREA, "part", what, fix).at(&change.path).fixed_by(Fix::SetUp)
}

fn note_finding(program: &str, note: &SetupNote) -> Option<DoctorFinding> {
    let what = note.text.clone();
    let one = match note.kind {
        SetupNoteKind::Refused => {
            let what = format!("the file cannot be read: {what}");
            let fix = format!("fix the file, then run {program} setup");
            DoctorFinding::failure(AREA, "broken_file", what, fix)
        }
        SetupNoteKind::Taken => {
            let fix = format!("remove that entry, then run {program} setup");
            DoctorFinding::failure(AREA, "taken", what, fix)
        }
        // Codex silently skips a hook it does not trust.
        SetupNoteKind::Edited if what.starts_with(TRUST) => {
            let fix = format!(
                "start codex and trust {program}'s hooks, or delete the entry and run {program} setup"
            );
            DoctorFinding::failure(AREA, "untrusted", what, fix)
        }
        SetupNoteKind::Edited => {
            let fix = format!("if that was not intended, restore it and run {program} setup");
            DoctorFinding::warning(AREA, "edited", what, fix)
        }
        SetupNoteKind::Hint => {
            DoctorFinding::failure(AREA, "switched_off", what, "change that setting of the host")
        }
        SetupNoteKind::Theirs => return None,
    };
    Some(one.at(&note.path))
}
