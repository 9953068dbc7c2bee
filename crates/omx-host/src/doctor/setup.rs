//! Whether what setup wrote is still there: setup is planned again, and what it
//! would change is what is wrong.

use std::path::Path;

use super::finding::{Area, Finding, Mend};
use super::patient::{Installed, Patient};
use crate::setup::{Change, Ground, Manifest, Note, NoteKind, Plan, RealDisk, Scope, plan_setup};

const AREA: Area = Area::Setup;

/// How setup names what it wrote about Codex's trust.
const TRUST: &str = "the trust in ";

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut any = false;
    for installed in &patient.installed {
        let path = installed.ground.manifest();
        match Manifest::load(&path) {
            Ok(Some(manifest)) if !manifest.is_empty() => {
                any = true;
                findings.extend(compare(installed, manifest));
            }
            Ok(_) => {}
            Err(error) => {
                any = true;
                let fix = "put the file back from a backup, or delete it and run omx setup";
                findings.push(Finding::failure(AREA, "manifest", error.to_string(), fix).at(&path));
            }
        }
    }
    if !any && !patient.hosts.is_empty() {
        let what = "omx is not set up in any agent's own conversations";
        findings.push(Finding::warning(AREA, "not_set_up", what, "omx setup"));
    }
    findings
}

fn scope_flag(ground: &Ground) -> &'static str {
    match ground.scope {
        Scope::User => "",
        Scope::Project(_) => " --scope project",
    }
}

/// The plan of setting up again what was set up, with the program it was set up with.
pub(super) fn plan_again(installed: &Installed, manifest: Manifest) -> Plan {
    let mut ground = installed.ground.clone();
    if is_program(&manifest.omx) {
        ground.omx.clone_from(&manifest.omx);
    }
    let hosts = manifest.hosts();
    plan_setup(&ground, &RealDisk, Some(manifest), &installed.catalogue, &hosts)
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let data = path.metadata();
    data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn compare(installed: &Installed, manifest: Manifest) -> Vec<Finding> {
    let flag = scope_flag(&installed.ground);
    let again = format!("omx setup{flag}, or omx doctor --fix");
    let mut findings = Vec::new();
    let mut finding = |finding: Finding| findings.push(finding);
    let gone = !is_program(&manifest.omx);
    if gone {
        let what = "the program the hosts are told to call is not there";
        let one = Finding::failure(AREA, "program_gone", what, again.clone());
        finding(one.at(&manifest.omx).mended_by(Mend::SetUp));
    } else if manifest.omx_version != installed.ground.version {
        let what =
            format!("set up by omx {}; this is {}", manifest.omx_version, installed.ground.version);
        finding(Finding::warning(AREA, "version", what, format!("omx setup{flag}")));
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
        findings.push(Finding::fine(AREA, "setup", what));
    }
    findings
}

fn differs(change: &Change, fix: &str) -> Finding {
    let what = match change.old {
        None => "a file of omx's is missing",
        Some(_) => "a part of omx's is missing or not as it was written",
    };
    Finding::failure(AREA, "part", what, fix).at(&change.path).mended_by(Mend::SetUp)
}

fn noted(note: &Note) -> Option<Finding> {
    let what = note.text.clone();
    let one = match note.kind {
        NoteKind::Refused => {
            let what = format!("the file cannot be read: {what}");
            Finding::failure(AREA, "broken_file", what, "mend the file, then: omx setup")
        }
        NoteKind::Taken => {
            let fix = "take away what stands there, then: omx setup";
            Finding::failure(AREA, "taken", what, fix)
        }
        // A hook Codex does not trust is passed over without a word.
        NoteKind::Edited if what.starts_with(TRUST) => {
            let fix = "start codex and trust omx's hooks, or delete that entry and run omx setup";
            Finding::failure(AREA, "untrusted", what, fix)
        }
        NoteKind::Edited => {
            let fix = "if you did not mean to: put it back, then omx setup";
            Finding::warning(AREA, "edited", what, fix)
        }
        NoteKind::Hint => {
            Finding::failure(AREA, "switched_off", what, "change that setting of the host")
        }
        NoteKind::Theirs => return None,
    };
    Some(one.at(&note.path))
}
