//! modes.md 2.1: a second copy of the transition table, taken from the specification, is
//! compared with the rule for every pair of phases, with any evidence and with none.

use omx_kernel::{Mode, RefusalCode};

use crate::support::{SessionWorld, assert_ended};

/// Evidence as fields of a request; the empty text is no evidence.
pub const NONE: &str = "";
const PLAN: &str =
    r#","handoff_artifacts":{"ralplan":{"plan_path":"p.md","test_spec_path":"t.md"}}"#;
const WORK: &str = r#","handoff_artifacts":{"ralph":{"changed_files":["a.rs"],"evidence":[{"command":"make","exit_code":0}]}}"#;
const CLEAN: &str = r#","review_verdict":{"recommendation":"APPROVE","architectural_status":"CLEAR","clean":true},"return_to_ralplan_reason":null"#;
const OPEN: &str = r#","review_verdict":{"recommendation":"REQUEST CHANGES","architectural_status":"CLEAR","clean":false},"return_to_ralplan_reason":"leak","handoff_artifacts":{"code_review":{"findings":["leak"]}}"#;
const AUDIT: &str = r#","completion_audit":{"passed":true,"checklist":["done"],"evidence":[{"command":"cargo test","exit_code":0}]}"#;
const CONSENSUS: &str = r#","consensus":{"critic":"APPROVE","architect":"APPROVE"},"plan_path":"p.md","test_spec_path":"t.md""#;
const LANES: &str =
    r#","review_verdict":{"recommendation":"COMMENT","architectural_status":"WATCH"}"#;
const CHECK: &str = r#","last_check":{"command":"cargo test","exit_code":0}"#;
const CHECKED: &str = r#","verification":{"passed":true,"checks":["tests"]}"#;
const VERIFIED: &str = r#","verification":{"passed":true}"#;
const TASKS: &str = r#","tasks":{"pending":0,"in_progress":0,"completed":3}"#;

/// One mode of the specification: its phases and allowed transitions.
struct Page {
    mode: Mode,
    phases: &'static [&'static str],
    steps: &'static [(&'static str, &'static str, &'static [&'static str])],
}

/// modes.md 1 and 2.1, except for the pipeline, which names its own stages.
const PAGES: &[Page] = &[
    Page {
        mode: Mode::Autopilot,
        phases: &["ralplan", "ralph", "code-review"],
        steps: &[
            ("ralplan", "ralph", &[PLAN]),
            ("ralph", "code-review", &[WORK]),
            ("code-review", "complete", &[CLEAN]),
            ("code-review", "ralplan", &[OPEN]),
        ],
    },
    Page {
        mode: Mode::Ralph,
        phases: &["starting", "executing", "verifying", "fixing"],
        steps: &[
            ("starting", "executing", &[]),
            ("executing", "verifying", &[]),
            ("verifying", "fixing", &[]),
            ("fixing", "executing", &[]),
            ("verifying", "complete", &[AUDIT]),
        ],
    },
    Page {
        mode: Mode::Ralplan,
        phases: &["draft", "architect-review", "critic-review", "revise"],
        steps: &[
            ("draft", "architect-review", &[]),
            ("architect-review", "critic-review", &[]),
            ("critic-review", "revise", &[]),
            ("revise", "architect-review", &[]),
            ("critic-review", "complete", &[CONSENSUS]),
        ],
    },
    Page {
        mode: Mode::CodeReview,
        phases: &["reviewing"],
        steps: &[("reviewing", "complete", &[LANES, CLEAN, OPEN])],
    },
    Page {
        mode: Mode::Ultraqa,
        phases: &["qa", "diagnose", "fix"],
        steps: &[
            ("qa", "diagnose", &[]),
            ("diagnose", "fix", &[]),
            ("fix", "qa", &[]),
            ("qa", "complete", &[CHECK]),
        ],
    },
    Page { mode: Mode::Ultrawork, phases: PARALLEL_PHASES, steps: PARALLEL_STEPS },
    Page { mode: Mode::Ecomode, phases: PARALLEL_PHASES, steps: PARALLEL_STEPS },
    Page {
        mode: Mode::Team,
        phases: &["team-plan", "team-prd", "team-exec", "team-verify", "team-fix"],
        steps: &[
            ("team-plan", "team-prd", &[]),
            ("team-plan", "team-exec", &[]),
            ("team-prd", "team-exec", &[]),
            ("team-exec", "team-verify", &[]),
            ("team-verify", "team-fix", &[]),
            ("team-fix", "team-exec", &[]),
            ("team-verify", "complete", &[CHECKED]),
        ],
    },
    Page {
        mode: Mode::Ultrapilot,
        phases: &["planning", "executing", "integrating", "verifying"],
        steps: &[
            ("planning", "executing", &[]),
            ("executing", "integrating", &[]),
            ("integrating", "verifying", &[]),
            ("verifying", "executing", &[]),
            ("verifying", "complete", &[VERIFIED, CHECKED]),
        ],
    },
    Page {
        mode: Mode::Swarm,
        phases: &["executing"],
        steps: &[("executing", "complete", &[TASKS])],
    },
];

const PARALLEL_PHASES: &[&str] = &["planning", "executing", "verifying"];
const PARALLEL_STEPS: &[(&str, &str, &[&str])] = &[
    ("planning", "executing", &[]),
    ("executing", "verifying", &[]),
    ("verifying", "executing", &[]),
    ("verifying", "complete", &[CHECK, AUDIT]),
];

const EVIDENCE: &[&str] =
    &[NONE, PLAN, WORK, CLEAN, OPEN, AUDIT, CONSENSUS, LANES, CHECK, CHECKED, VERIFIED, TASKS];

impl Page {
    /// Whether the specification allows this transition with this evidence.
    fn allows(&self, from: &str, to: &str, evidence: &str) -> bool {
        from == to
            || to == "failed"
            || to == "cancelled"
            || self.steps.iter().any(|(step_from, step_to, needs)| {
                (*step_from, *step_to) == (from, to)
                    && (needs.is_empty() || needs.contains(&evidence))
            })
    }

    fn live(&self, phase: &str) -> SessionWorld {
        SessionWorld::live(self.mode, phase, "").files(&["p.md", "t.md"])
    }
}

fn targets(page: &Page) -> impl Iterator<Item = &'static str> {
    page.phases.iter().copied().chain(["complete", "failed", "cancelled"])
}

#[test]
fn modes_2_1_every_pair_of_phases_obeys_the_table_with_any_evidence_and_with_none() {
    assert_eq!(PAGES.len() + 1, Mode::ALL.len());
    for page in PAGES {
        for from in page.phases {
            for to in targets(page) {
                for evidence in EVIDENCE {
                    let input = format!(r#"{{"current_phase":"{to}"{evidence}}}"#);
                    let case = format!("{} {from} -> {to} with {evidence}", page.mode.name());
                    let result = page.live(from).try_write(page.mode, &input);
                    let allowed = page.allows(from, to, evidence);
                    assert_eq!(result.is_ok(), allowed, "{case}: {result:?}");
                    match result {
                        Ok(plan) => {
                            let document = plan.document(page.mode).unwrap();
                            let kept = page.mode == Mode::Autopilot && to == "cancelled";
                            let phase = if kept { *from } else { to };
                            assert_eq!(document.phase(), Some(phase), "{case}");
                            assert_eq!(document.is_active(), page.phases.contains(&to), "{case}");
                        }
                        Err(refusal) => {
                            assert_eq!(refusal.code, RefusalCode::IllegalTransition, "{case}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn modes_2_1_a_refusal_lists_the_allowed_phases() {
    for page in PAGES {
        for from in page.phases {
            for to in targets(page).filter(|to| !page.allows(from, to, NONE)) {
                let input = format!(r#"{{"current_phase":"{to}"}}"#);
                let refusal = page.live(from).write_refused(
                    page.mode,
                    RefusalCode::IllegalTransition,
                    &input,
                );
                let follow = refusal.split("allowed next: ").nth(1).expect(&refusal);
                for (_, next, _) in page.steps.iter().filter(|step| step.0 == *from) {
                    assert!(follow.contains(next), "{from}: {refusal}");
                }
                assert!(follow.contains("failed or cancelled"), "{refusal}");
            }
        }
    }
}

#[test]
fn modes_2_1_a_refusal_says_what_is_missing() {
    let table = [
        (Mode::Autopilot, "ralplan", "ralph", "handoff_artifacts.ralplan"),
        (Mode::Autopilot, "ralph", "code-review", "handoff_artifacts.ralph"),
        (Mode::Autopilot, "code-review", "complete", "review_verdict"),
        (Mode::Autopilot, "code-review", "ralplan", "return_to_ralplan_reason"),
        (Mode::Ralph, "verifying", "complete", "completion_audit"),
        (Mode::Ralplan, "critic-review", "complete", "consensus.critic"),
        (Mode::CodeReview, "reviewing", "complete", "review_verdict"),
        (Mode::Ultraqa, "qa", "complete", "last_check"),
        (Mode::Ultrawork, "verifying", "complete", "last_check"),
        (Mode::Ecomode, "verifying", "complete", "completion_audit"),
        (Mode::Team, "team-verify", "complete", "verification.passed"),
        (Mode::Ultrapilot, "verifying", "complete", "verification.passed"),
        (Mode::Swarm, "executing", "complete", "tasks.pending"),
    ];
    for (mode, from, to, missing) in table {
        let input = format!(r#"{{"current_phase":"{to}"}}"#);
        let refusal = SessionWorld::live(mode, from, "").write_refused(
            mode,
            RefusalCode::IllegalTransition,
            &input,
        );
        let part = refusal.split("missing ").nth(1).expect(&refusal);
        assert!(part.split(';').next().unwrap().contains(missing), "{refusal}");
    }
}

#[test]
fn modes_2_1_any_live_phase_may_become_blocked_on_user() {
    for page in PAGES {
        for from in page.phases {
            for input in [
                r#"{"run_outcome":"blocked_on_user"}"#,
                r#"{"current_phase":"blocked_on_user"}"#,
                r#"{"current_phase":"blocked"}"#,
                r#"{"lifecycle_outcome":"blocked"}"#,
            ] {
                let document = page.live(from).write(page.mode, input);
                assert_ended(&document, "blocked_on_user", "blocked");
                assert_eq!(document.phase(), Some(*from), "the phase stays: {input}");
            }
        }
    }
}

#[test]
fn modes_2_1_a_run_starts_in_any_phase_except_autopilot_and_ralplan() {
    for page in PAGES {
        for phase in page.phases {
            for start in [r#""active":true"#, r#""start":true"#] {
                let input = format!(r#"{{{start},"current_phase":"{phase}"}}"#);
                let only_first = matches!(page.mode, Mode::Autopilot | Mode::Ralplan);
                let mut world = SessionWorld::new();
                if only_first && *phase != page.phases[0] {
                    let refusal =
                        world.write_refused(page.mode, RefusalCode::IllegalTransition, &input);
                    assert!(refusal.contains(page.phases[0]), "{refusal}");
                } else {
                    let document = world.write(page.mode, &input);
                    assert_eq!(document.phase(), Some(*phase));
                    assert!(document.is_active());
                }
            }
        }
        for end in ["complete", "failed", "cancelled", "blocked"] {
            let input = format!(r#"{{"active":true,"current_phase":"{end}"}}"#);
            SessionWorld::new().write_refused(page.mode, RefusalCode::Contradiction, &input);
        }
    }
}

#[test]
fn modes_2_1_an_unknown_phase_leads_only_to_the_first_phase_or_an_ending() {
    for page in PAGES {
        let end = page.steps.iter().find(|step| step.1 == "complete").unwrap();
        for from in [r#","current_phase":"phase-7""#, ""] {
            let foreign = format!(r#"{{"mode":"{}","active":true{from}}}"#, page.mode.name());
            let world = || SessionWorld::with(page.mode, &foreign).files(&["p.md", "t.md"]);
            for to in targets(page) {
                let allowed = to == page.phases[0] || to == "failed" || to == "cancelled";
                let input = format!(r#"{{"current_phase":"{to}"}}"#);
                let result = world().try_write(page.mode, &input);
                let case = format!("{}{from} -> {to}: {result:?}", page.mode.name());
                assert_eq!(result.is_ok(), allowed, "{case}");
                if to == "complete" {
                    let input = format!(r#"{{"current_phase":"complete"{}}}"#, end.2[0]);
                    assert_ended(&world().write(page.mode, &input), "finish", "finished");
                }
            }
        }
    }
}

#[test]
fn modes_2_1_complete_requires_the_same_evidence_whichever_field_requests_it() {
    for page in PAGES {
        let (from, _, needs) = page.steps.iter().find(|step| step.1 == "complete").unwrap();
        for word in [
            r#""run_outcome":"finish""#,
            r#""lifecycle_outcome":"finished""#,
            r#""active":false,"run_outcome":"done""#,
        ] {
            let bare = format!("{{{word}}}");
            page.live(from).write_refused(page.mode, RefusalCode::IllegalTransition, &bare);
            let input = format!("{{{word}{}}}", needs[0]);
            let document = page.live(from).write(page.mode, &input);
            assert_ended(&document, "finish", "finished");
            assert_eq!(document.phase(), Some("complete"));
        }
    }
}

#[test]
fn modes_2_1_evidence_may_come_from_an_earlier_write() {
    for page in PAGES {
        for (from, to, needs) in page.steps.iter().filter(|step| !step.2.is_empty()) {
            let mut world = page.live(from);
            world.write(page.mode, &format!("{{{}}}", needs[0].trim_start_matches(',')));
            world.write(page.mode, &format!(r#"{{"current_phase":"{to}"}}"#));
        }
    }
}
