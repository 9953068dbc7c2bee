//! What a seed stands for: the run, and how the world treats it.

use std::path::Path;

use omx_conductor::workflow::WorkflowContext;
use omx_kernel::{Dialect, Mode};
use omx_runs::{Budget, RunSpec, VerificationLevel};
use omx_testkit::Random;

use crate::kit;

/// The six modes that run from a terminal.
const MODES: [Mode; 6] =
    [Mode::Autopilot, Mode::Ralph, Mode::Ralplan, Mode::CodeReview, Mode::Ultraqa, Mode::Pipeline];

/// What can go wrong with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentFault {
    Limited,
    LimitedWithoutEnd,
    Network,
    Service,
    CutOff,
    NotLoggedIn,
    Crashed,
    Silent,
    Rejected,
    Interrupted,
}

const AGENT_FAULTS: [AgentFault; 10] = [
    AgentFault::Limited,
    AgentFault::LimitedWithoutEnd,
    AgentFault::Network,
    AgentFault::Service,
    AgentFault::CutOff,
    AgentFault::NotLoggedIn,
    AgentFault::Crashed,
    AgentFault::Silent,
    AgentFault::Rejected,
    AgentFault::Interrupted,
];

/// How often a judge says no before it says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionCount {
    After(u32),
    Never,
}

impl RejectionCount {
    fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..=4 => Self::After(0),
            5 | 6 => Self::After(1),
            7 => Self::After(2),
            8 => Self::After(3 + random.below(5) as u32),
            _ => Self::Never,
        }
    }

    /// Whether it is content this time.
    pub fn is_content(&mut self) -> bool {
        match self {
            Self::Never => false,
            Self::After(0) => true,
            Self::After(left) => {
                *left -= 1;
                false
            }
        }
    }
}

/// How a world treats a run.
#[derive(Clone, Debug)]
pub struct SimScenario {
    pub spec: RunSpec,
    pub context: WorkflowContext,
    /// A crash of the process before or in one of this many effects.
    pub crash_one_in: usize,
    pub crashes_left: u32,
    /// A turn or an opening goes wrong once in this many times.
    pub agent_fault_one_in: usize,
    pub agent_faults: Vec<AgentFault>,
    pub agent_faults_left: u32,
    /// An answer cannot be read once in this many times, once or twice in a row.
    pub wrong_one_in: usize,
    /// An agent's program loses its conversation once in this many times.
    pub lose_one_in: usize,
    /// An agent asks for permission once in this many turns.
    pub ask_one_in: usize,
    /// A worker is blocked once in this many times.
    pub blocked_one_in: usize,
    /// A job fails by itself once in this many times.
    pub breaks_one_in: usize,
    /// An effect fails by itself once in this many times, at most so often.
    pub effect_fault_one_in: usize,
    pub effect_faults_left: u32,
    /// The journal fails once in this many records.
    pub journal_fails_one_in: usize,
    /// Another process takes the project's lock once in this many effects, at most so often.
    pub lock_one_in: usize,
    pub locks_left: u32,
    pub check: RejectionCount,
    pub plan: RejectionCount,
    pub verification: RejectionCount,
    pub review: RejectionCount,
    /// Fixes change nothing.
    pub fixes_nothing: bool,
    /// Findings are the same each time.
    pub repeats: bool,
    /// The workspace is not a git repository.
    pub has_no_tree: bool,
    /// Workers never report which files they changed.
    pub reports_no_files: bool,
    pub cancel_after: Option<u32>,
    /// The person cancels the run while its end is written.
    pub cancels_at_end: bool,
    pub interrupt_after: Option<u32>,
    /// The person changes a limit once in this many events, at most so often.
    pub limit_one_in: usize,
    pub limit_changes_left: u32,
    /// How often the person resumes the run after a process released it.
    pub resumes: u32,
    /// The person changes the task between two processes.
    pub changes_task: bool,
}

impl SimScenario {
    pub fn random(random: &mut Random) -> Self {
        let mode = *random.choose(&MODES);
        let is_calm = random.one_in(4);
        let mut spec = kit::spec(mode);
        spec.verification = *random.choose(&[
            VerificationLevel::Light,
            VerificationLevel::Standard,
            VerificationLevel::Thorough,
        ]);
        (*random.choose(&["edits", "commands", "commands", "all"])).clone_into(&mut spec.allow);
        if random.one_in(5) {
            spec.check = None;
        }
        spec.max_iterations = max_iterations(mode, random);
        spec.budget = budget(random);
        spec.limits.patience_s = *random.choose(&[1, 30, 7_200]);
        let agent_faults = AGENT_FAULTS.into_iter().filter(|_| random.one_in(3)).collect();
        let often = |random: &mut Random, most: usize| {
            if is_calm { usize::MAX } else { 2 + random.below(most) }
        };
        // An autopilot whose ralph fails for fifty rounds takes long; few seeds have one.
        let hopes = mode == Mode::Autopilot && !random.one_in(50);
        let patience = |random: &mut Random| match RejectionCount::random(random) {
            RejectionCount::Never if hopes => RejectionCount::After(5),
            patience => patience,
        };
        Self {
            crash_one_in: often(random, 60),
            crashes_left: random.below(6) as u32,
            agent_fault_one_in: often(random, 8),
            agent_faults,
            agent_faults_left: random.below(12) as u32,
            wrong_one_in: often(random, 20),
            lose_one_in: often(random, 12),
            ask_one_in: often(random, 8),
            blocked_one_in: often(random, 80),
            breaks_one_in: often(random, 120),
            effect_fault_one_in: often(random, 150),
            effect_faults_left: random.below(4) as u32,
            journal_fails_one_in: often(random, 600),
            lock_one_in: often(random, 80),
            locks_left: random.below(5) as u32,
            check: patience(random),
            plan: RejectionCount::random(random),
            verification: patience(random),
            review: RejectionCount::random(random),
            fixes_nothing: random.one_in(4),
            repeats: random.one_in(2),
            has_no_tree: random.one_in(6),
            reports_no_files: random.one_in(20),
            cancel_after: random.one_in(6).then(|| random.below(120) as u32),
            cancels_at_end: random.one_in(25),
            interrupt_after: random.one_in(5).then(|| random.below(120) as u32),
            limit_one_in: 1 + random.below(40),
            limit_changes_left: if random.one_in(4) { 1 + random.below(4) as u32 } else { 0 },
            resumes: random.below(5) as u32,
            changes_task: random.one_in(25),
            context: context(random),
            spec,
        }
    }
}

fn max_iterations(mode: Mode, random: &mut Random) -> Option<u64> {
    match mode {
        // Fifty rounds of ralph take long; few seeds have them.
        Mode::Ralph => (!random.one_in(300)).then(|| 1 + random.below(9) as u64),
        Mode::CodeReview | Mode::Pipeline => None,
        Mode::Autopilot => (!random.one_in(60)).then(|| 1 + random.below(3) as u64),
        _ => random.one_in(2).then(|| 1 + random.below(4) as u64),
    }
}

/// A project in either dialect, whose state folder lies inside or elsewhere.
fn context(random: &mut Random) -> WorkflowContext {
    let (dialect, state_folder) = *random.choose(&[
        (Dialect::OMX, ".omx"),
        (Dialect::OMX, ".omx"),
        (Dialect::OMC, ".omc"),
        (Dialect::OMX, "/var/state/project"),
    ]);
    let root = Path::new("/work/project");
    WorkflowContext::new(kit::session(), dialect, root, &root.join(state_folder))
}

fn budget(random: &mut Random) -> Budget {
    let mut budget = Budget::default();
    match random.below(12) {
        0 => budget.tokens = Some(random.below(20_000) as u64),
        1 => budget.micro_usd = Some(random.below(20_000) as u64),
        2 => budget.seconds = Some(random.below(7_200) as u64),
        _ => {}
    }
    budget
}
