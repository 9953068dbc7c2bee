//! quality.md R1, state.md 4.1: the order of the calls, which is what survives
//! a power loss. No kill can show it; a trace does.

use omx_testkit::strace::Syscall;

use crate::crash_scenarios::{RecordedScenario, all};

fn position(calls: &[Syscall], what: &str, is_it: impl Fn(&Syscall) -> bool) -> usize {
    calls.iter().position(is_it).unwrap_or_else(|| panic!("no {what}"))
}

fn opens(call: &Syscall, path: &str) -> bool {
    call.name == "openat" && call.paths().iter().any(|opened| opened == path)
}

/// The documents and configuration files that were put in place: where in the trace, and which.
fn replaced(rehearsed: &RecordedScenario) -> Vec<(usize, String, String)> {
    let renames =
        rehearsed.calls.iter().enumerate().filter(|(_, call)| {
            call.name.starts_with("rename") && !call.text.contains("/quarantine")
        });
    renames
        .map(|(at, call)| {
            let [from, to] = <[String; 2]>::try_from(call.paths()).expect("two paths");
            (at, from, to)
        })
        .filter(|(_, _, to)| !to.contains("/.activity/"))
        .collect()
}

#[test]
fn state_4_1_flush_rename_flush_folder_then_answer() {
    let mut documents = 0;
    for scenario in all() {
        let rehearsed = scenario.record();
        let calls = &rehearsed.calls;
        let answer = position(calls, "answer", Syscall::is_answer);
        for (renamed, temporary, document) in replaced(&rehearsed) {
            documents += 1;
            let at = format!("{}: {document}", rehearsed.name);
            let (folder, _) = document.rsplit_once('/').expect("a folder");
            let last = |name: &str, path: &str, before: usize| {
                calls[..before]
                    .iter()
                    .rposition(|call| call.name == name && call.paths() == [path])
                    .unwrap_or_else(|| panic!("{at}: no {name} of {path}"))
            };
            let written = last("write", &temporary, renamed);
            let flushed = last("fdatasync", &temporary, renamed);
            assert!(written < flushed, "{at}: flushed before it was written");
            let folder_flushed = renamed
                + position(&calls[renamed..], &format!("flush of {folder}"), |call| {
                    call.name == "fsync" && call.paths() == [folder]
                });
            assert!(folder_flushed < answer, "{at}: answered before the folder was flushed");
            let next = calls[renamed + 1..].iter().position(|call| call.name.starts_with("rename"));
            let next = next.map_or(calls.len(), |next| renamed + 1 + next);
            assert!(folder_flushed < next, "{at}: the next document came before the flush");
        }
    }
    assert!(documents > 15, "only {documents} were looked at");
}

#[test]
fn state_4_1_removed_documents_are_flushed_before_the_answer() {
    let mut removed = 0;
    for scenario in all() {
        let rehearsed = scenario.record();
        let calls = &rehearsed.calls;
        let answer = position(calls, "answer", Syscall::is_answer);
        for (at, call) in calls.iter().enumerate() {
            let path = call.paths().pop().unwrap_or_default();
            if !call.name.starts_with("unlink") || !path.ends_with("-state.json") {
                continue;
            }
            removed += 1;
            let (folder, _) = path.rsplit_once('/').expect("a folder");
            let flushed = at
                + position(&calls[at..], "flush", |call| {
                    call.name == "fsync" && call.paths() == [folder]
                });
            assert!(flushed < answer, "{}: {path}", rehearsed.name);
        }
    }
    assert!(removed > 5, "only {removed} were removed");
}

#[test]
fn state_4_1_a_document_is_read_and_written_under_the_lock() {
    for scenario in all().into_iter().filter(|scenario| !scenario.name.contains("config")) {
        let rehearsed = scenario.record();
        let calls = &rehearsed.calls;
        let locked = position(calls, "lock", |call| call.name == "flock");
        let is_lock = |call: &Syscall| call.paths().iter().any(|path| path.ends_with("/.lock"));
        let released =
            position(calls, "end of the lock", |call| call.name == "close" && is_lock(call));
        for (renamed, _, document) in replaced(&rehearsed) {
            let at = format!("{}: {document}", rehearsed.name);
            assert!(locked < renamed && renamed < released, "{at}: written without the lock");
            let is_old = document
                .split_once("/project/")
                .is_some_and(|(_, path)| rehearsed.old.raw(&format!("project/{path}")).is_some());
            let read = calls[locked..renamed].iter().any(|call| opens(call, &document));
            assert!(read || !is_old, "{at}: not read under the lock");
            // Cancel looks first whether there is anything to do, and reads again.
            let early = calls[..locked].iter().any(|call| opens(call, &document));
            let is_cancel = rehearsed.args[0] == "cancel";
            assert!(!early || is_cancel, "{at}: read before the lock was had");
        }
    }
}

#[test]
fn state_4_2_several_documents_are_written_under_one_lock_dependents_first() {
    let chain = &["ultrawork", "ralph", "autopilot"][..];
    for (name, order) in [
        ("write that links two documents", &["ultrawork", "ralph"][..]),
        ("hand-over from ralplan to ralph", &["ralplan", "ralph"]),
        ("write that ends a linked chain", chain),
        ("cancel of a linked chain", chain),
    ] {
        let scenario = all().into_iter().find(|scenario| scenario.name == name).expect(name);
        let rehearsed = scenario.record();
        let locks = rehearsed.calls.iter().filter(|call| call.name == "flock").count();
        assert_eq!(locks, 1, "{name}: the lock was given back in between");
        let written: Vec<String> = replaced(&rehearsed)
            .into_iter()
            .filter_map(|(_, _, path)| {
                path.rsplit('/').next()?.strip_suffix("-state.json").map(str::to_owned)
            })
            .collect();
        assert_eq!(written, order, "{name}");
    }
}
