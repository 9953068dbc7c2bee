//! A world with a clock of its own in which the production [`Drive`] carries a
//! run out. All chances come from one seed, so the same seed is the same world.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use omx_agents::ConversationRecord;
use omx_agents::agent::ApprovalDecision;
use omx_conductor::drive::{ControlEvent, Drive, WorldEvent};
use omx_conductor::engine::{
    Engine, Inspection, Job, JobFailure, JobResult, RunOutcome, StepDecision,
};
use omx_conductor::workflow::{CheckResult, KeptPlan};
use omx_kernel::Timestamp;
use omx_kernel::confinement::WorkspaceAccess;
use omx_runs::git::StepCommit;
use omx_runs::{LimitChange, LimitRequestId, StepKey, WorkspaceState};
use omx_testkit::Random;

use super::agents::{SimAgent, SimConversation};
use super::defects::{Defect, DefectiveWorld};
use super::documents::SimDocuments;
use super::journal::SimJournal;
use super::rules::RuleState;
use super::scenario::SimScenario;
use super::workspace::{SimWorkspace, WorkspaceFact};

/// More than any run has: one that is not over by then never will be.
const MOST_EVENTS: u32 = 3_000;

/// The process is gone. Unwinds from any effect through the whole of `Drive`.
pub struct SimCrash;

/// Something that is going to happen.
#[derive(Debug)]
pub enum ScheduledEvent {
    /// The next thing this agent does.
    Agent(usize),
    /// A job ends.
    Job(StepKey),
    /// A job ends after a request to stop.
    JobStopped(StepKey),
    /// A control event reaches the loop.
    Control(ControlEvent),
}

/// How a process released the run.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessEnd {
    Closed(RunOutcome),
    Crashed,
}

/// The world.
pub struct SimWorld {
    pub random: Random,
    pub scenario: SimScenario,
    pub now: Timestamp,
    queue: BTreeMap<(i64, u64), ScheduledEvent>,
    numbers: u64,
    /// What was done to the run and has arrived.
    pub arrived: Vec<ControlEvent>,
    pub journal: SimJournal,
    pub documents: SimDocuments,
    pub workspace: SimWorkspace,
    pub agents: Vec<SimAgent>,
    pub conversations: Vec<SimConversation>,
    /// Jobs that run.
    pub jobs: BTreeMap<StepKey, Job>,
    /// Questions the person can see, and who asked them.
    pub questions: BTreeMap<u64, StepKey>,
    /// Limits the person wants that no process has recorded yet, and since when.
    pub limit_requests: BTreeMap<LimitRequestId, (LimitChange, Timestamp)>,
    /// Another process holds the project's lock until then.
    pub lock_free_at: Timestamp,
    /// How many writes of documents fail from now on.
    pub failing_writes: u32,
    pub decisions: BTreeMap<String, StepDecision>,
    pub rules: RuleState,
    pub events: u32,
    /// What this world has shown, so that all of them together show everything.
    pub seen: BTreeSet<String>,
    pub trace: Option<Vec<String>>,
    /// A defect of the shell.
    pub defect: Option<Defect>,
}

impl SimWorld {
    pub fn new(seed: u64, trace: Option<Vec<String>>) -> Self {
        let mut random = Random::new(seed);
        let scenario = SimScenario::random(&mut random);
        let now = Timestamp::parse(&scenario.spec.started_at).unwrap();
        let mut workspace = SimWorkspace::default();
        let context = &scenario.context;
        workspace.files.insert(context.journal_path());
        let documents = SimDocuments::new(context.session.clone());
        let mut world = Self {
            random,
            scenario,
            now,
            queue: BTreeMap::new(),
            numbers: 0,
            arrived: Vec::new(),
            journal: SimJournal::new(workspace.tree()),
            documents,
            workspace,
            agents: Vec::new(),
            conversations: Vec::new(),
            jobs: BTreeMap::new(),
            questions: BTreeMap::new(),
            limit_requests: BTreeMap::new(),
            lock_free_at: now,
            failing_writes: 0,
            decisions: BTreeMap::new(),
            rules: RuleState::default(),
            events: 0,
            seen: BTreeSet::new(),
            trace,
            defect: None,
        };
        let scenario = format!("{:?}", world.scenario);
        world.note(|| scenario);
        world
    }

    /// A rule does not hold: the seed has failed.
    #[track_caller]
    pub fn fail(&self, rule: &str, how: impl std::fmt::Display) -> ! {
        panic!("{rule}: {how}");
    }

    pub fn note(&mut self, words: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{} {}", self.now, words()));
        }
    }

    /// Something is going to happen within so many milliseconds.
    pub fn soon(&mut self, within: usize, upcoming: ScheduledEvent) {
        let at = self.now.millis() + self.random.below(within) as i64;
        self.numbers += 1;
        self.queue.insert((at, self.numbers), upcoming);
    }

    /// Something done to the run from outside reaches the loop: while it is busy
    /// with something else, or within so many milliseconds.
    pub fn deliver(&mut self, within: usize, event: ControlEvent) {
        if self.random.one_in(3) {
            self.arrived.push(event);
        } else {
            self.soon(within, ScheduledEvent::Control(event));
        }
    }

    /// The whole life of a run.
    pub fn run(&mut self) {
        loop {
            let left = self.process();
            self.note(|| format!("== left: {left:?}"));
            match self.person_decides(&left) {
                Some(next) => self.decisions = next,
                None => return,
            }
        }
    }

    /// One process, from opening the run to letting go of it.
    fn process(&mut self) -> ProcessEnd {
        self.begin_process();
        let decisions = self.decisions.clone();
        self.note(|| format!("== opened, decided: {decisions:?}"));
        let (spec, mut context) = (self.scenario.spec.clone(), self.scenario.context.clone());
        if let Some(defect) = self.defect {
            context = defect.context(context);
        }
        let opened = Engine::open(spec, context, &self.journal.read(), &decisions);
        let (engine, changes) = match opened {
            Ok(opened) => opened,
            Err(refusal) => self.fail("a run can be opened", refusal.message),
        };
        let run = AssertUnwindSafe(|| match self.defect {
            None => Drive::new(&mut *self, engine).run("1", changes),
            Some(defect) => {
                let starving = Vec::new();
                let mut world = DefectiveWorld { world: &mut *self, defect, starving };
                Drive::new(&mut world, engine).run("1", changes)
            }
        });
        match catch_unwind(run) {
            Ok(ended) => {
                self.check_closed(&ended.outcome);
                let mode = self.scenario.spec.mode.name();
                self.seen.insert(format!("{mode} {}", ended.outcome.reason().as_str()));
                self.queue.clear();
                ProcessEnd::Closed(ended.outcome)
            }
            Err(payload) if payload.is::<SimCrash>() => self.after_crash(),
            Err(payload) => resume_unwind(payload),
        }
    }

    fn begin_process(&mut self) {
        self.rules.process_begins(self.now);
        self.arrived.clear();
        self.questions.clear();
        self.failing_writes = 0;
        for (_, (change, _)) in std::mem::take(&mut self.limit_requests) {
            for record in change.records() {
                self.journal.append(&record, 0);
            }
        }
    }

    /// The process may be killed here.
    pub fn maybe_crash(&mut self) {
        let is_due =
            self.scenario.crashes_left > 0 && self.random.one_in(self.scenario.crash_one_in);
        if is_due {
            self.scenario.crashes_left -= 1;
            resume_unwind(Box::new(SimCrash));
        }
    }

    /// The process was killed. Agents notice a little later: what they do until
    /// then is done, and what they report nobody hears.
    fn after_crash(&mut self) -> ProcessEnd {
        self.note(|| "!! crash".to_owned());
        self.seen.insert("crash".to_owned());
        self.jobs.clear();
        for number in 0..self.agents.len() {
            for _ in 0..self.random.below(4) {
                if self.agents[number].is_alive {
                    self.agent_acts(number);
                }
            }
            self.agents[number].is_alive = false;
        }
        self.queue.clear();
        ProcessEnd::Crashed
    }

    /// Lets time pass until something happens, at most until then.
    pub fn next_event(&mut self, until: Option<Timestamp>) -> Option<WorldEvent> {
        self.events += 1;
        if self.events > MOST_EVENTS {
            self.fail("every run ends", "it goes on and on");
        }
        loop {
            let next = self.queue.first_key_value().map(|((at, _), _)| *at);
            let until = until.map(Timestamp::millis);
            let at = match (next, until) {
                (None, None) => self.fail("every run ends", "it waits for nothing"),
                (next, Some(until)) if next.is_none_or(|next| until < next) => {
                    self.now = Timestamp::from_millis(until.max(self.now.millis()));
                    return None;
                }
                (next, _) => next.unwrap_or_default(),
            };
            self.now = Timestamp::from_millis(at.max(self.now.millis()));
            let Some((_, upcoming)) = self.queue.pop_first() else { continue };
            match upcoming {
                ScheduledEvent::Control(event) => {
                    self.arrived.push(event);
                    return None;
                }
                upcoming => {
                    if let Some(event) = self.happens(upcoming) {
                        return Some(event);
                    }
                }
            }
        }
    }

    fn happens(&mut self, upcoming: ScheduledEvent) -> Option<WorldEvent> {
        match upcoming {
            ScheduledEvent::Agent(number) => {
                let step = self.agents[number].step.clone();
                self.agent_acts(number).map(|event| WorldEvent::Agent(step, event))
            }
            // A job that was stopped in the meantime reports that itself.
            ScheduledEvent::Job(step) => {
                let job = self.jobs.remove(&step)?;
                let result = self.job_result(&step, job);
                Some(WorldEvent::JobDone(step, result))
            }
            ScheduledEvent::JobStopped(step) => {
                self.jobs.remove(&step)?;
                // A stopped job may report its end in one way or another.
                let result = if self.random.one_in(2) {
                    Err(JobFailure::Interrupted("it was stopped".to_owned()))
                } else {
                    let (command, output) = ("c".to_owned(), String::new());
                    Ok(JobResult::Checked(CheckResult { command, exit_code: None, output }))
                };
                Some(WorldEvent::JobDone(step, result))
            }
            ScheduledEvent::Control(_) => None,
        }
    }

    fn job_result(&mut self, step: &StepKey, job: Job) -> Result<JobResult, JobFailure> {
        if let Job::KeepPlan { .. } = job
            && self.is_locked()
        {
            return Err(JobFailure::Busy("locked".to_owned()));
        }
        if self.random.one_in(self.scenario.breaks_one_in) {
            self.rules.something_broke();
            if matches!(job, Job::Check { .. }) && self.random.one_in(2) {
                self.seen.insert("check interrupted".to_owned());
                return Err(JobFailure::Interrupted("its guard was killed".to_owned()));
            }
            self.seen.insert("job failed".to_owned());
            return Err(JobFailure::Failed("the disk is full".to_owned()));
        }
        match job {
            Job::Check { command } => Ok(JobResult::Checked(self.check_result(step, command))),
            Job::KeepPlan { .. } => Ok(JobResult::PlanKept(self.kept_plan())),
            Job::Inspect { conversation, message, access, .. } => {
                let id = conversation.map(|id| id.as_str().to_owned());
                Ok(JobResult::Inspected(self.inspection(step, id, &message, access)))
            }
            Job::Commit { .. } => {
                self.rules.committed(step);
                let tree = (!self.scenario.has_no_tree).then(|| self.workspace.tree());
                Ok(JobResult::Committed(StepCommit { tree, ..StepCommit::default() }))
            }
        }
    }

    /// What an agent's program and the workspace say about a step. Either may say nothing.
    fn inspection(
        &mut self,
        step: &StepKey,
        id: Option<String>,
        message: &str,
        access: WorkspaceAccess,
    ) -> Inspection {
        if !message.contains("## Task") {
            self.fail("what is looked for is the task", message);
        }
        let known = self.conversations.iter().position(|known| Some(&known.id) == id.as_ref());
        let record = match known {
            None => ConversationRecord::Unknown,
            Some(_) if self.random.one_in(6) => ConversationRecord::Unknown,
            Some(at) if self.conversations[at].is_lost || self.random.one_in(20) => {
                self.conversations[at].is_lost = true;
                self.seen.insert("empty record".to_owned());
                self.work_is_lost(step);
                ConversationRecord::Empty
            }
            Some(at) if self.conversations[at].has_task => {
                self.seen.insert("received before".to_owned());
                ConversationRecord::Received
            }
            Some(_) => ConversationRecord::NotReceived,
        };
        let workspace = match (access, &self.journal.tree) {
            (WorkspaceAccess::ReadWrite, Some(tree)) if !self.scenario.has_no_tree => {
                match *tree == self.workspace.tree() {
                    true => WorkspaceState::AsBefore { tree: tree.clone() },
                    false => WorkspaceState::MayHaveChanged,
                }
            }
            _ => WorkspaceState::NotCompared,
        };
        if workspace == WorkspaceState::MayHaveChanged {
            self.work_is_lost(step);
        }
        Inspection { record, workspace }
    }

    fn check_result(&mut self, step: &StepKey, command: String) -> CheckResult {
        let passed = self.scenario.check.is_content();
        self.workspace.facts.push(WorkspaceFact::Checked { passed });
        self.rules.checked(step);
        let exit_code = match (passed, self.scenario.repeats || !self.random.one_in(3)) {
            (true, _) => Some(0),
            (false, true) => Some(1),
            (false, false) => None,
        };
        let output = if passed { "all is well".to_owned() } else { self.finding_words("broken") };
        if !passed {
            self.rules.found(step, format!("{exit_code:?} {output}"));
        }
        CheckResult { command, exit_code, output }
    }

    fn kept_plan(&mut self) -> KeptPlan {
        let paths = &self.scenario.context.paths;
        let kept = KeptPlan {
            plan_path: paths.name("plans/prd-x.md"),
            test_spec_path: paths.name("plans/test-spec-x.md"),
        };
        self.workspace.files.extend([kept.plan_path.clone(), kept.test_spec_path.clone()]);
        self.workspace.facts.push(WorkspaceFact::Kept);
        kept
    }

    /// The text of a rejection: new each time, or always the same.
    pub fn finding_words(&mut self, what: &str) -> String {
        if self.scenario.repeats {
            return format!("{what}: always this");
        }
        // Letters, because numbers do not make a finding a new one.
        let number = self.random.number();
        let letters: String =
            (0..8).map(|at| char::from(b'a' + (number >> (at * 5)) as u8 % 26)).collect();
        format!("{what}: {letters}")
    }

    pub fn decision(&mut self) -> ApprovalDecision {
        if self.random.one_in(2) {
            ApprovalDecision::Allow
        } else {
            ApprovalDecision::Deny("no".to_owned())
        }
    }
}
