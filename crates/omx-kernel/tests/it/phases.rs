//! modes.md 1: the modes, their phases, and the aliases of phases.

use omx_kernel::{Mode, RefusalCode, SessionId};

use crate::support::{SessionWorld, assert_ended};

const MODES: [(&str, &[&str], Option<u64>); 11] = [
    ("autopilot", &["ralplan", "ralph", "code-review"], Some(10)),
    ("ralph", &["starting", "executing", "verifying", "fixing"], Some(50)),
    ("ralplan", &["draft", "architect-review", "critic-review", "revise"], Some(5)),
    ("code-review", &["reviewing"], Some(1)),
    ("ultrawork", &["planning", "executing", "verifying"], Some(50)),
    ("ecomode", &["planning", "executing", "verifying"], Some(50)),
    ("ultraqa", &["qa", "diagnose", "fix"], Some(5)),
    ("pipeline", &[], None),
    ("team", &["team-plan", "team-prd", "team-exec", "team-verify", "team-fix"], None),
    ("swarm", &["executing"], None),
    ("ultrapilot", &["planning", "executing", "integrating", "verifying"], None),
];

/// Every alias in the specification, with its meaning for each mode.
fn meant(mode: &str, word: &str) -> Option<&'static str> {
    let has = |phase: &str| MODES.iter().any(|row| row.0 == mode && row.1.contains(&phase));
    let phase = match (mode, word) {
        ("ultraqa", "fix" | "repair") => "fix",
        ("autopilot", "planning" | "replan") => "ralplan",
        ("ralplan", "planning" | "replan") => "draft",
        ("autopilot", "review" | "reviewing") => "code-review",
        ("team", "plan") => "team-plan",
        ("team", "prd") => "team-prd",
        ("team", "exec") => "team-exec",
        ("team", "verify") => "team-verify",
        ("team", "fix") => "team-fix",
        (_, "start" | "started") => "starting",
        (_, "execution" | "execute" | "implementing") => "executing",
        (_, "verify" | "verification") => "verifying",
        (_, "fix" | "repair") => "fixing",
        _ => return MODES.iter().flat_map(|row| row.1).find(|p| **p == word && has(p)).copied(),
    };
    has(phase).then_some(phase)
}

const WORDS: &[&str] = &[
    "start",
    "started",
    "execution",
    "execute",
    "implementing",
    "verify",
    "verification",
    "fix",
    "repair",
    "planning",
    "replan",
    "review",
    "reviewing",
    "plan",
    "prd",
    "exec",
];

#[test]
fn modes_1_the_modes_with_their_phases_and_limits() {
    assert_eq!(Mode::ALL.len(), MODES.len());
    for (name, phases, limit) in MODES {
        let mode = Mode::parse(name).unwrap();
        assert_eq!(mode.file_name(), format!("{name}-state.json"));
        assert_eq!(Mode::from_file_name(&format!("{name}-state.json")), Some(mode));
        let document = SessionWorld::new().write(mode, r#"{"active":true}"#);
        assert_eq!(document.get_u64("max_iterations"), limit, "{name}");
        assert_eq!(document.phase(), Some(phases.first().copied().unwrap_or("stage:1")));
    }
    assert_eq!(Mode::parse("plan-consensus"), Ok(Mode::Ralplan));
    for unknown in ["", "Ralph", "ralph ", "banana"] {
        let refusal = Mode::parse(unknown).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::UnknownMode);
        assert!(MODES.iter().all(|row| refusal.message.contains(row.0)));
    }
}

#[test]
fn modes_1_aliases_of_a_phase_are_normalized_for_the_modes_that_have_it() {
    let every_phase = MODES.iter().flat_map(|row| row.1);
    let words: Vec<&str> = WORDS.iter().chain(every_phase).copied().collect();
    for (name, phases, _) in MODES.into_iter().filter(|row| row.0 != "pipeline") {
        let mode = Mode::parse(name).unwrap();
        let kept = format!("{name}_phase_normalized_from");
        for word in &words {
            let input = format!(r#"{{"current_phase":"{word}"}}"#);
            match meant(name, word) {
                Some(phase) => {
                    // The same phase again is always allowed, so only the alias matters.
                    let document = SessionWorld::live(mode, phase, "").write(mode, &input);
                    assert_eq!(document.phase(), Some(phase), "{name} {word}");
                    let original = (phase != *word).then_some(*word);
                    assert_eq!(document.get_str(&kept), original, "{name} {word}");
                }
                None => {
                    let mut world = SessionWorld::live(mode, phases[0], "");
                    let refusal = world.write_refused(mode, RefusalCode::InvalidPhase, &input);
                    assert!(phases.iter().all(|phase| refusal.contains(phase)), "{refusal}");
                }
            }
        }
    }
}

#[test]
fn modes_1_aliases_of_an_ending_are_normalized_for_every_mode() {
    let table = [
        ("failed", "failed", "failed"),
        ("fail", "failed", "failed"),
        ("error", "failed", "failed"),
        ("cancelled", "cancelled", "cancelled"),
        ("cancel", "cancelled", "cancelled"),
        ("canceled", "cancelled", "cancelled"),
        ("aborted", "cancelled", "cancelled"),
    ];
    for (name, phases, _) in MODES {
        let mode = Mode::parse(name).unwrap();
        let live = phases.first().copied().unwrap_or("stage:1");
        for (word, outcome, phase) in table {
            let input = format!(r#"{{"current_phase":"{word}"}}"#);
            let document = SessionWorld::live(mode, live, "").write(mode, &input);
            assert_ended(&document, outcome, outcome);
            let keeps = name == "autopilot" && outcome == "cancelled";
            assert_eq!(document.phase(), Some(if keeps { live } else { phase }));
            let kept = format!("{name}_phase_normalized_from");
            assert_eq!(document.get_str(&kept), (word != phase).then_some(word), "{name}");
        }
    }
}

#[test]
fn modes_1_aliases_of_complete_are_normalized() {
    let check = r#","last_check":{"command":"make","exit_code":0}"#;
    for word in ["complete", "completed", "done", "finished"] {
        let mut world = SessionWorld::live(Mode::Ultraqa, "qa", "");
        let document =
            world.write(Mode::Ultraqa, &format!(r#"{{"current_phase":"{word}"{check}}}"#));
        assert_eq!(document.phase(), Some("complete"));
        assert_ended(&document, "finish", "finished");
        let original = (word != "complete").then_some(word);
        assert_eq!(document.get_str("ultraqa_phase_normalized_from"), original);
    }
}

#[test]
fn modes_1_any_other_phase_is_invalid() {
    for (name, phases, _) in MODES {
        let mode = Mode::parse(name).unwrap();
        let live = phases.first().copied().unwrap_or("stage:1");
        for word in ["banana", "", "COMPLETE", "executing ", "blocked_on", "abort", "stage:"] {
            let input = format!(r#"{{"current_phase":"{word}"}}"#);
            SessionWorld::live(mode, live, "").write_refused(
                mode,
                RefusalCode::InvalidPhase,
                &input,
            );
            let start = format!(r#"{{"active":true,"current_phase":"{word}"}}"#);
            SessionWorld::new().write_refused(mode, RefusalCode::InvalidPhase, &start);
        }
    }
}

#[test]
fn state_3_4_only_plain_session_ids_are_accepted() {
    for good in ["a", "Z", "0", "a-b_C9", &"x".repeat(128)] {
        assert_eq!(SessionId::new(good).unwrap().as_str(), good);
    }
    let long = ["x".repeat(129), "x".repeat(10_000)];
    let bad = ["", "-a", "_a", ".", "..", "../x", "a/b", "a\\b", "a b", "a\0", "a\n", "é", "a.b"];
    for id in bad.into_iter().chain(long.iter().map(String::as_str)) {
        assert_eq!(SessionId::new(id).unwrap_err().code, RefusalCode::InvalidSessionId, "{id:?}");
    }
}
