//! What a seed stands for: the run that is asked for, and how the world treats it.

use omx_kernel::Mode;
use omx_runs::spec::{Budget, RunSpec, VerificationLevel};
use omx_testkit::Random;

use crate::kit;

/// The six modes that run from a terminal.
const MODES: [Mode; 6] =
    [Mode::Autopilot, Mode::Ralph, Mode::Ralplan, Mode::CodeReview, Mode::Ultraqa, Mode::Pipeline];

/// What may go wrong with an agent, as this world deals it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ill {
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

const ILLS: [Ill; 10] = [
    Ill::Limited,
    Ill::LimitedWithoutEnd,
    Ill::Network,
    Ill::Service,
    Ill::CutOff,
    Ill::NotLoggedIn,
    Ill::Crashed,
    Ill::Silent,
    Ill::Rejected,
    Ill::Interrupted,
];

/// How often a judge says no before it says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    After(u32),
    Never,
}

impl Patience {
    fn of(random: &mut Random) -> Self {
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

/// A world's ways.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub asked: RunSpec,
    /// A crash of the process before or in one of this many effects.
    pub crash_one_in: usize,
    pub crashes_left: u32,
    /// A turn or an opening goes wrong once in this many times.
    pub ill_one_in: usize,
    pub ills: Vec<Ill>,
    pub ills_left: u32,
    /// An answer cannot be read once in this many times, once or twice in a row.
    pub wrong_one_in: usize,
    /// An agent's program loses its conversation once in this many times.
    pub lose_one_in: usize,
    /// An agent asks for leave once in this many turns.
    pub ask_one_in: usize,
    /// A worker says once in so many times that only the person can go on.
    pub blocked_one_in: usize,
    /// A check, a look at the folder, or the keeping of a plan fails by itself.
    pub breaks_one_in: usize,
    pub check: Patience,
    pub plan: Patience,
    pub verification: Patience,
    pub review: Patience,
    /// Who mends changes nothing.
    pub mends_nothing: bool,
    /// Who says no says the same each time.
    pub repeats: bool,
    /// The folder is no git repository.
    pub has_no_tree: bool,
    /// Workers never tell which files they changed.
    pub tells_no_files: bool,
    pub cancel_after: Option<u32>,
    pub interrupt_after: Option<u32>,
    /// How often the person takes the run up again after it was let go of.
    pub resumes: u32,
    /// The person changes the task between two processes.
    pub changes_task: bool,
}

impl Scenario {
    pub fn of(random: &mut Random) -> Self {
        let mode = *random.of(&MODES);
        let is_calm = random.one_in(4);
        let mut asked = kit::asked(mode);
        asked.verification = *random.of(&[
            VerificationLevel::Light,
            VerificationLevel::Standard,
            VerificationLevel::Thorough,
        ]);
        (*random.of(&["edits", "commands", "commands", "all"])).clone_into(&mut asked.allow);
        if random.one_in(5) {
            asked.check = None;
        }
        asked.max_iterations = max_iterations(mode, random);
        asked.budget = budget(random);
        let ills = ILLS.into_iter().filter(|_| random.one_in(3)).collect();
        let often = |random: &mut Random, most: usize| {
            if is_calm { usize::MAX } else { 2 + random.below(most) }
        };
        // So is an autopilot whose ralph comes to nothing in fifty rounds.
        let hopes = mode == Mode::Autopilot && !random.one_in(50);
        let patience = |random: &mut Random| match Patience::of(random) {
            Patience::Never if hopes => Patience::After(5),
            patience => patience,
        };
        Self {
            crash_one_in: often(random, 60),
            crashes_left: random.below(6) as u32,
            ill_one_in: often(random, 8),
            ills,
            ills_left: random.below(12) as u32,
            wrong_one_in: often(random, 20),
            lose_one_in: often(random, 12),
            ask_one_in: often(random, 8),
            blocked_one_in: often(random, 80),
            breaks_one_in: often(random, 120),
            check: patience(random),
            plan: Patience::of(random),
            verification: patience(random),
            review: Patience::of(random),
            mends_nothing: random.one_in(4),
            repeats: random.one_in(2),
            has_no_tree: random.one_in(6),
            tells_no_files: random.one_in(20),
            cancel_after: random.one_in(6).then(|| random.below(120) as u32),
            interrupt_after: random.one_in(5).then(|| random.below(120) as u32),
            resumes: random.below(5) as u32,
            changes_task: random.one_in(25),
            asked,
        }
    }
}

fn max_iterations(mode: Mode, random: &mut Random) -> Option<u64> {
    match mode {
        // Fifty rounds of a ralph are a long story; they are told seldom.
        Mode::Ralph => (!random.one_in(300)).then(|| 1 + random.below(9) as u64),
        Mode::CodeReview | Mode::Pipeline => None,
        Mode::Autopilot => (!random.one_in(60)).then(|| 1 + random.below(3) as u64),
        _ => random.one_in(2).then(|| 1 + random.below(4) as u64),
    }
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
