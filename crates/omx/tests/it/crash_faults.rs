//! quality.md R1, state.md 4.4a and 4.6: each call that changes a file fails
//! once with a full disk, a broken one and a read-only one.

use omx_testkit::strace::{Injection, Syscall, inject};
use omx_testkit::tree::DocumentTree;
use omx_testkit::{CommandOutcome, TestProject, in_parallel};

use crate::crash_checks::{
    documents_are_whole, lock_is_free, readers_are_right, repeats_to_the_end,
};
use crate::crash_scenarios::{CORRUPT, RecordedScenario, all};

const THREADS: usize = 3;

/// The errors and their causes as text.
const ERRORS: [(&str, &str); 3] = [
    ("ENOSPC", "No space left on device"),
    ("EIO", "Input/output error"),
    ("EROFS", "Read-only file system"),
];

/// What a fault at a call must lead to.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// Nothing: what failed is best effort.
    Success,
    /// An error, and the document this call was for is as it was.
    Untouched(Option<String>),
    /// An error that says so, and this document is the new one.
    Unflushed(String),
    /// Everything was done, but the answer could not be written.
    Unanswered,
}

#[test]
fn state_4_6_a_failing_disk_leaves_the_document_untouched_and_names_the_cause() {
    let rehearsed: Vec<RecordedScenario> = all().iter().map(|scenario| scenario.record()).collect();
    let mut points = Vec::new();
    for one in &rehearsed {
        for (index, call) in one.calls.iter().enumerate().filter(|(_, call)| call.is_mutating()) {
            points.extend(ERRORS.map(|error| (one, index, call, error)));
        }
    }
    assert!(points.len() > 500, "only {} points", points.len());
    in_parallel(THREADS, &points, |(rehearsed, index, call, error)| {
        fails_at(rehearsed, *index, call, *error);
    });
}

#[track_caller]
fn fails_at(
    rehearsed: &RecordedScenario,
    index: usize,
    call: &Syscall,
    (error, words): (&'static str, &str),
) {
    let at = format!("{}, {error} at {} {}: {}", rehearsed.name, call.name, call.nth, call.text);
    let project = rehearsed.project();
    let outcome = inject(&project, &rehearsed.args(), call, Injection::Error(error));
    let expected = expected(rehearsed, index);
    documents_are_whole(rehearsed, &project, &at);
    let now = DocumentTree::read(&project);
    match &expected {
        Expected::Success => {
            assert_eq!(outcome.code, Some(0), "{at}: {outcome:?}");
            let mut left = now.contents();
            // A document that could not be quarantined is still in place.
            left.retain(|_, text| text != CORRUPT);
            assert_eq!(left, rehearsed.new.contents(), "{at}");
        }
        Expected::Unanswered => {
            assert_eq!(outcome.code, Some(1), "{at}: {outcome:?}");
            assert_eq!(now.contents(), rehearsed.new.contents(), "{at}");
        }
        Expected::Untouched(document) => {
            let reported = io_error_message(rehearsed, &outcome, &at);
            assert!(reported.contains(words), "{at}: {reported}");
            assert!(!reported.contains("written, flush failed"), "{at}: {reported}");
            if let Some(path) = document {
                let is_removal = call.name.starts_with("unlink");
                let is_second_step = is_removal && rehearsed.middle.raw(path).is_some();
                let was_moved = rehearsed.calls[..index].iter().any(is_move)
                    && rehearsed.old.raw(path) == Some(CORRUPT);
                if was_moved {
                    // Its bytes are in quarantine, as was checked above.
                    assert_eq!(now.raw(path), None, "{at}");
                } else if is_second_step {
                    assert_eq!(now.timeless(path), rehearsed.middle.timeless(path), "{at}");
                } else {
                    assert_eq!(now.raw(path), rehearsed.old.raw(path), "{at}");
                }
            }
            if !rehearsed.calls[..index].iter().any(puts_in_place) {
                assert_untouched(rehearsed, document.as_deref(), &now, &at);
            }
        }
        Expected::Unflushed(path) => {
            let reported = io_error_message(rehearsed, &outcome, &at);
            let done = if now.raw(path).is_some() { "written" } else { "removed" };
            assert!(
                reported.contains(&format!("{done}, flush failed: {words}")),
                "{at}: {reported}"
            );
            let stages = [&rehearsed.new, &rehearsed.middle];
            let is_new = stages.iter().any(|it| it.timeless(path) == now.timeless(path));
            assert!(is_new, "{at}: {path} is not the new one");
        }
    }
    lock_is_free(&project, &at);
    readers_are_right(&project, &at);
    no_leftovers(&project, call, &at);
    repeats_to_the_end(rehearsed, &project, &at);
}

/// Nothing was put in place before the fault. A cancel goes on with the other sessions
/// though, so only the session of the faulty document counts.
#[track_caller]
fn assert_untouched(
    rehearsed: &RecordedScenario,
    document: Option<&str>,
    now: &DocumentTree,
    at: &str,
) {
    let folder = document.and_then(|path| Some(path.rsplit_once('/')?.0));
    match folder {
        Some(folder) if rehearsed.args[0] == "cancel" => {
            let of = |tree: &DocumentTree| {
                let mut files = tree.contents();
                files.retain(|path, _| path.rsplit_once('/').is_some_and(|(own, _)| own == folder));
                files
            };
            assert_eq!(of(now), of(&rehearsed.old), "{at}: nothing had been put in place yet");
        }
        _ => assert_eq!(now, &rehearsed.old, "{at}: nothing had been put in place yet"),
    }
}

/// A failed write cleans up behind itself.
#[track_caller]
fn no_leftovers(project: &TestProject, call: &Syscall, at: &str) {
    // Without the lock, the file may belong to another writer.
    let may_stay = call.name.starts_with("unlink") || call.name == "flock";
    if !may_stay {
        let left = omx_testkit::tree::leftovers(project);
        let is_ours = |path: &String| call.text.contains(path.rsplit('/').next().unwrap_or(path));
        assert!(!left.iter().any(is_ours), "{at}: {left:?}");
    }
}

/// The sentence of an `io` error.
#[track_caller]
fn io_error_message(rehearsed: &RecordedScenario, outcome: &CommandOutcome, at: &str) -> String {
    assert_eq!(outcome.code, Some(1), "{at}: {outcome:?}");
    if rehearsed.answers_in_json() {
        assert_eq!(outcome.refused(), "io", "{at}: {outcome:?}");
        outcome.json()["error"].as_str().expect("a sentence").to_owned()
    } else {
        assert!(outcome.stderr.trim_end().ends_with("[io]"), "{at}: {outcome:?}");
        outcome.stderr.clone()
    }
}

/// The expected result of a fault at this call, by path.
fn expected(rehearsed: &RecordedScenario, index: usize) -> Expected {
    let call = &rehearsed.calls[index];
    let paths = call.paths();
    let names = |part: &str| paths.iter().any(|path| path.contains(part));
    if call.is_answer() {
        return Expected::Unanswered;
    }
    let before = rehearsed.calls[..index].iter().rev().find(|earlier| earlier.is_mutating());
    let makes_log = |call: &Syscall| call.paths().iter().any(|path| path.ends_with(".omx/log"));
    let is_log = names("/log/") || makes_log(call);
    let flushes_log = call.name == "fsync" && before.is_some_and(makes_log);
    let notes_holder = call.name == "pwrite64" && names("/.lock");
    let clears_leftover = call.name.starts_with("unlink") && names(".tmp");
    let removes_empty_folder =
        call.text.contains("AT_REMOVEDIR") && names("/sessions") && !names("checkpoints");
    // Cancel continues even if it cannot quarantine a document.
    let moves_aside = rehearsed.args[0] == "cancel"
        && (names("/quarantine")
            || call.name == "fsync" && before.is_some_and(is_for_quarantine)
            || call.name == "fsync" && is_after_move(rehearsed, index));
    // Force continues even without a record of what it removed.
    let makes_record = |call: &Syscall| call.paths().iter().any(|path| path.contains("/.activity"));
    let is_record = rehearsed.args[0] == "cancel"
        && (makes_record(call) || call.name == "fsync" && before.is_some_and(makes_record));
    // What force cannot cancel it removes, under a lock that it takes later.
    let takes_lock = |call: &Syscall| {
        call.name == "openat" && call.paths().iter().any(|path| path.ends_with("/.lock"))
    };
    let is_removed_later = rehearsed.args.iter().any(|arg| arg == "--force")
        && rehearsed.calls[index + 1..].iter().any(takes_lock);
    if is_log
        || is_removed_later
        || is_record
        || flushes_log
        || notes_holder
        || clears_leftover
        || removes_empty_folder
        || moves_aside
    {
        return Expected::Success;
    }
    if call.name == "fsync"
        && let Some(before) = before
        && puts_in_place(before)
        && !is_move(before)
        && let Some(document) = document_of(before)
    {
        return Expected::Unflushed(document);
    }
    Expected::Untouched(document_of(call))
}

/// Whether a call quarantines an unreadable document.
fn is_move(call: &Syscall) -> bool {
    call.name.starts_with("rename") && is_for_quarantine(call)
}

fn is_for_quarantine(call: &Syscall) -> bool {
    call.paths().iter().any(|path| path.contains("/quarantine"))
}

/// The second of the two folders that are flushed after a move to quarantine.
fn is_after_move(rehearsed: &RecordedScenario, index: usize) -> bool {
    let mut earlier = rehearsed.calls[..index].iter().rev().filter(|call| call.is_mutating());
    earlier.next().is_some_and(|call| call.name == "fsync")
        && earlier.next().is_some_and(is_for_quarantine)
}

/// Whether a call changes what readers see of a document.
fn puts_in_place(call: &Syscall) -> bool {
    (call.name.starts_with("rename") || call.name.starts_with("unlink"))
        && document_of(call).is_some()
        && !(call.name.starts_with("unlink") && call.text.contains(".tmp"))
}

/// The document a call is for, by its path from the test's folder.
fn document_of(call: &Syscall) -> Option<String> {
    let paths = call.paths();
    // A move to quarantine is for the document that is moved.
    let path = if is_move(call) { paths.first() } else { paths.last() }?;
    let (folder, name) = path.rsplit_once('/')?;
    let name = name.strip_prefix('.').and_then(|n| n.strip_suffix(".tmp")).unwrap_or(name);
    let is_document = name.ends_with("-state.json") || name == "config.toml";
    let from = folder.find("/project/").or_else(|| folder.find("/home/"))? + 1;
    is_document.then(|| format!("{}/{name}", &folder[from..]))
}
