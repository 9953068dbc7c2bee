//! Documents: readable, consistent, alive.

use omx_kernel::{Document, Mode, Scope, SessionId};
use omx_store::{ScopeContents, StateDir, UnreadableDocument};

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding, Fix};

const AREA: CheckArea = CheckArea::State;

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let state = match env.store.read() {
        Ok(Some(state)) => state,
        Ok(None) => return vec![DoctorFinding::fine(AREA, "documents", "no documents")],
        // A finding of the store.
        Err(_) => return Vec::new(),
    };
    let (mut findings, mut count) = (Vec::new(), 0);
    for read in scopes(&state, &mut findings) {
        count += read.snapshot.documents.len();
        findings.extend(read.unreadable.iter().map(|found| unreadable(env, found)));
        for (mode, document) in &read.snapshot.documents {
            findings.extend(check_document(env, &state, &read, *mode, document));
        }
    }
    for stray in state.foreign_session_entries() {
        let fix = "move it away";
        findings.push(DoctorFinding::failure(AREA, "stray", stray.to_string(), fix));
    }
    findings.extend(quarantined(&state));
    if findings.is_empty() {
        findings.push(DoctorFinding::fine(AREA, "documents", format!("{count} valid")));
    }
    findings
}

/// Reads every scope; what cannot be read is a finding.
fn scopes(state: &StateDir, findings: &mut Vec<DoctorFinding>) -> Vec<ScopeContents> {
    let mut reads = Vec::new();
    let mut report = |error: omx_store::StoreError| {
        let fix = "change the permissions so that you can read it";
        findings.push(DoctorFinding::failure(AREA, "documents", error.to_string(), fix));
    };
    match state.scope(&Scope::Compatibility) {
        Ok(read) => reads.push(read),
        Err(error) => report(error),
    }
    if let Err(error) = state.for_each_session(|read| reads.push(read)) {
        report(error);
    }
    reads
}

fn unreadable(env: &DoctorEnv<'_>, found: &UnreadableDocument) -> DoctorFinding {
    let what = found.error.to_string();
    let finding = if found.can_be_moved() {
        let fix = format!("{} doctor --fix moves it to quarantine", env.program());
        DoctorFinding::failure(AREA, "unreadable", what, fix).fixed_by(Fix::SetAside)
    } else {
        DoctorFinding::failure(AREA, "unreadable", what, "move it away")
    };
    finding.at(&found.path)
}

fn check_document(
    env: &DoctorEnv<'_>,
    state: &StateDir,
    read: &ScopeContents,
    mode: Mode,
    document: &Document,
) -> Option<DoctorFinding> {
    let scope = &read.snapshot.scope;
    let path = state.document_path(scope, mode);
    let session = scope.session().map(SessionId::as_str);
    let program = env.program();
    let end = match session {
        Some(session) => format!("end it: {program} cancel --session-id {session}"),
        None => format!("end it: {program} cancel"),
    };
    if document.is_active_and_ended() {
        let what = format!("{} is both active and ended; it counts as ended", mode.name());
        let session = session.map_or_else(String::new, |id| format!(" --session-id {id}"));
        let clear = format!("remove it: {program} state clear --mode {}{session}", mode.name());
        return Some(DoctorFinding::failure(AREA, "contradiction", what, clear).at(&path));
    }
    if let Some(what) = find_contradiction(mode, session, document) {
        return Some(DoctorFinding::failure(AREA, "contradiction", what, end).at(&path));
    }
    let now = env.context.clock.now();
    (document.is_active() && read.snapshot.is_stale(mode, now)).then(|| {
        let what =
            format!("{} is stale: it is active, but nothing has happened for 2 hours", mode.name());
        DoctorFinding::warning(AREA, "stale", what, end).at(&path)
    })
}

/// A contradiction between a document and its place or its limit.
fn find_contradiction(mode: Mode, session: Option<&str>, document: &Document) -> Option<String> {
    let name = mode.name();
    let named = document.get_str("session_id");
    if named.is_some() && session.is_some() && named != session {
        return Some(format!("{name} is in the folder of another session"));
    }
    let counts = (document.get_u64("iteration"), document.get_u64("max_iterations"));
    match counts {
        (Some(iteration), Some(limit)) if iteration > limit => {
            Some(format!("{name} is in iteration {iteration} of {limit}"))
        }
        _ => None,
    }
}

fn quarantined(state: &StateDir) -> Option<DoctorFinding> {
    let folder = state.path().join("quarantine");
    let count = std::fs::read_dir(&folder).ok()?.count();
    (count > 0).then(|| {
        let what = format!("{count} unreadable documents in quarantine");
        let fix = "inspect them, then delete them";
        DoctorFinding::warning(AREA, "quarantine", what, fix).at(&folder)
    })
}
