//! Single moments of the machine, each a rule of its own. Whole runs with all
//! that can happen in them are in the simulation.

use std::collections::BTreeMap;

use omx_agents::AgentKind;
use omx_agents::agent::{AgentCommand, ApprovalDecision, ConversationId, ConversationStart};
use omx_agents::event::{AgentEvent, ApprovalId, ApprovalRequest, TurnAnswer, Usage};
use omx_agents::failure::{Failure, FailureCause};
use omx_conductor::engine::{Decide, Effect, Engine, Happening, Outcome};
use omx_conductor::story::{CheckResult, StepKey};
use omx_kernel::{Mode, Timestamp};
use omx_runs::Record;
use omx_runs::progress::Progress;
use omx_runs::spec::RunSpec;
use serde_json::Value;

use crate::kit;

/// A machine with its journal.
struct Play {
    asked: RunSpec,
    engine: Engine,
    now: Timestamp,
    records: Vec<Record>,
    effects: Vec<Effect>,
}

impl Play {
    fn new(asked: RunSpec) -> Self {
        Self::taken_up(asked, Vec::new(), &[])
    }

    fn taken_up(asked: RunSpec, records: Vec<Record>, decisions: &[(&str, Decide)]) -> Self {
        let decisions: BTreeMap<String, Decide> =
            decisions.iter().map(|(step, decide)| ((*step).to_owned(), *decide)).collect();
        let taken = Engine::take_up(asked.clone(), kit::session(), &records, &decisions);
        let (engine, changes) = taken.unwrap();
        let now = Timestamp::parse(&asked.started_at).unwrap();
        let mut play = Self { asked, engine, now, records, effects: Vec::new() };
        play.records.extend(changes);
        play.hears(Happening::Opened);
        play
    }

    /// The process is killed, and another takes the run up.
    fn killed(self, decisions: &[(&str, Decide)]) -> Self {
        Self::taken_up(self.asked, self.records, decisions)
    }

    fn hears(&mut self, happening: Happening) {
        self.effects = self.engine.handle(happening, self.now);
        let records = self.effects.iter().filter_map(|effect| match effect {
            Effect::Record(record) => Some(record.clone()),
            _ => None,
        });
        self.records.extend(records);
    }

    fn told(&mut self, step: &StepKey, event: AgentEvent) {
        self.hears(Happening::Agent(step.clone(), event));
    }

    /// The conversation that was just opened.
    #[track_caller]
    fn opened(&self) -> (StepKey, ConversationStart) {
        let opened = self.effects.iter().find_map(|effect| match effect {
            Effect::Open(step, talk) => Some((step.clone(), talk.start.clone())),
            _ => None,
        });
        opened.unwrap_or_else(|| panic!("nothing was opened: {:?}", self.effects))
    }

    /// What was just said.
    fn said(&self) -> Option<&str> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Order(_, AgentCommand::Send(message)) => Some(message.text.as_str()),
            _ => None,
        })
    }

    #[track_caller]
    fn closed(&self) -> Outcome {
        match self.effects.last() {
            Some(Effect::Close(outcome)) => outcome.clone(),
            _ => panic!("not closed: {:?}", self.effects),
        }
    }

    fn has_finished(&self, name: &str) -> bool {
        self.records.iter().any(
            |record| matches!(record, Record::StepFinished { step, .. } if step.as_str() == name),
        )
    }
}

fn started(id: &str) -> AgentEvent {
    AgentEvent::Started { conversation: ConversationId::new(id).unwrap(), model: None }
}

fn answer(value: Value) -> AgentEvent {
    AgentEvent::TurnFinished(TurnAnswer { text: String::new(), structured: Some(value) })
}

fn trouble(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Rehearsal, cause)
}

fn unknown() -> AgentEvent {
    AgentEvent::Ended(Some(trouble(FailureCause::UnknownConversation { detail: String::new() })))
}

#[test]
fn conductor_3_1_a_conversation_is_recorded_before_a_word_is_said() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, start) = play.opened();
    assert_eq!(start, ConversationStart::New);
    assert!(play.said().is_none());
    play.told(&step, started("c1"));
    let said = play.effects.iter().position(|effect| matches!(effect, Effect::Order(..)));
    let recorded = play
        .effects
        .iter()
        .position(|effect| matches!(effect, Effect::Record(Record::Conversation { .. })));
    assert!(recorded < said && recorded.is_some(), "{:?}", play.effects);
}

#[test]
fn conductor_3_1_one_that_names_its_conversation_late_is_told_first_and_recorded_then() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, AgentEvent::Listening);
    assert!(play.said().is_some_and(|text| text.contains("## Your part")), "{:?}", play.effects);
    play.told(&step, started("c1"));
    assert!(play.said().is_none(), "said twice: {:?}", play.effects);
    let recorded = play.effects.iter().any(
        |effect| matches!(effect, Effect::Record(Record::Conversation { id, .. }) if id == "c1"),
    );
    assert!(recorded, "{:?}", play.effects);
    assert_eq!(
        play.killed(&[]).opened().1,
        ConversationStart::Resume(ConversationId::new("c1").unwrap())
    );
}

#[test]
fn conductor_3_2_a_conversation_that_may_not_have_heard_its_errand_is_given_it_again() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    let mut play = play.killed(&[]);
    assert_eq!(play.opened().1, ConversationStart::Resume(ConversationId::new("c1").unwrap()));
    play.told(&step, started("c1"));
    assert!(play.said().is_some_and(|text| text.contains("## Your part")), "{:?}", play.effects);
    // Who has spent something on it has heard it.
    play.told(&step, AgentEvent::Usage(Usage { input_tokens: 5, ..Usage::default() }));
    let mut play = play.killed(&[]);
    play.told(&step, started("c1"));
    assert!(play.said().is_some_and(|text| !text.contains("## Your part")), "{:?}", play.effects);
}

#[test]
fn conductor_3_2_work_in_a_lost_conversation_is_decided_by_the_person() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    play.told(&step, AgentEvent::Text("I am at it.".to_owned()));
    let mut play = play.killed(&[]);
    play.told(&step, unknown());
    let Outcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains("--decide work=rerun") && words.contains("--decide work=skip"));
    let (asked, records) = (play.asked.clone(), play.records.clone());
    let again = play.killed(&[("work", Decide::Rerun)]);
    assert_eq!(again.opened(), (step, ConversationStart::New));
    let skipped = Play::taken_up(asked, records, &[("work", Decide::Skip)]);
    assert!(skipped.has_finished("work"));
    assert!(skipped.effects.iter().any(|effect| matches!(effect, Effect::Check(..))));
}

#[test]
fn conductor_3_2_work_nobody_has_heard_of_is_begun_again_when_its_conversation_is_lost() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    let mut play = play.killed(&[]);
    play.told(&step, unknown());
    assert_eq!(play.opened(), (step.clone(), ConversationStart::New));
    let says_so = |effect: &Effect| matches!(effect, Effect::Show(Progress::Note(words)) if words.contains("begun again"));
    assert!(play.effects.iter().any(says_so), "{:?}", play.effects);
    play.told(&step, started("c2"));
    assert!(play.said().is_some_and(|text| text.starts_with("## Task")), "{:?}", play.effects);
}

#[test]
fn conductor_3_2_what_leaves_no_trace_is_begun_again_when_its_conversation_is_lost() {
    let mut play = Play::new(kit::asked(Mode::Ralplan));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    let mut play = play.killed(&[]);
    play.told(&step, unknown());
    assert_eq!(play.opened(), (step, ConversationStart::New));
}

#[test]
fn conductor_5_5_a_check_that_is_told_to_end_gives_no_result() {
    let stopped = Ok(CheckResult { command: "c".into(), exit_code: None, output: String::new() });
    for result in [stopped, Err("it was stopped".to_owned())] {
        let mut play = Play::new(kit::asked(Mode::Ultraqa));
        let step = play.effects.iter().find_map(|effect| match effect {
            Effect::Check(step, _) => Some(step.clone()),
            _ => None,
        });
        let step = step.unwrap();
        play.hears(Happening::Interrupted);
        assert!(matches!(&play.effects[..], [Effect::StopCheck(_)]), "{:?}", play.effects);
        play.hears(Happening::Checked(step, result));
        assert_eq!(play.closed(), Outcome::Interrupted);
        assert!(!play.has_finished("check1"));
    }
}

#[test]
fn a_cancelled_run_gives_no_leave_and_says_nothing() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    let ask = ApprovalRequest::Other { what: "to go out".to_owned() };
    let approval = ApprovalId("1".to_owned());
    play.told(&step, AgentEvent::ApprovalNeeded { approval: approval.clone(), ask: ask.clone() });
    assert!(matches!(play.effects.last(), Some(Effect::NeedsPerson(..))));
    play.hears(Happening::Cancelled);
    assert_eq!(play.effects, [Effect::Order(step.clone(), AgentCommand::End)]);
    let again = ApprovalId("2".to_owned());
    for late in [
        Happening::Answered(step.clone(), approval, ApprovalDecision::Allow),
        Happening::Agent(step.clone(), AgentEvent::ApprovalNeeded { approval: again, ask }),
        Happening::Agent(step.clone(), answer(kit::work("late"))),
    ] {
        play.hears(late);
        assert_eq!(play.effects, []);
    }
    play.told(&step, AgentEvent::Ended(None));
    assert_eq!(play.closed(), Outcome::Cancelled);
}

#[test]
fn r14_a_limit_is_waited_for_and_counts_as_nothing() {
    let mut play = Play::new(kit::asked(Mode::Ralph));
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    for round in 0..20 {
        // Some name a moment that is over: they are not asked at once either.
        let until = if round % 2 == 0 { play.now.millis() - 1 } else { play.now.millis() + 60_000 };
        let until = Timestamp::from_millis(until);
        let cause = FailureCause::RateLimited { until: Some(until), detail: String::new() };
        play.told(&step, AgentEvent::TurnFailed(trouble(cause)));
        play.told(&step, AgentEvent::Ended(None));
        let wake = play.engine.wake().unwrap();
        assert!(wake > play.now && wake >= until);
        play.hears(Happening::Time);
        assert_eq!(play.effects, []);
        play.now = wake;
        play.hears(Happening::Time);
        assert_eq!(play.opened().1, ConversationStart::Resume(ConversationId::new("c1").unwrap()));
        play.told(&step, started("c1"));
    }
}

#[test]
fn conductor_5_2_a_run_over_its_budget_opens_nothing_when_it_is_taken_up() {
    let mut asked = kit::asked(Mode::Ralph);
    asked.budget.tokens = Some(10);
    let mut play = Play::new(asked);
    let (step, _) = play.opened();
    play.told(&step, started("c1"));
    play.told(&step, AgentEvent::Usage(Usage { input_tokens: 10, ..Usage::default() }));
    assert!(matches!(&play.effects.last(), Some(Effect::Order(_, AgentCommand::End))));
    play.told(&step, AgentEvent::Ended(None));
    assert!(matches!(play.closed(), Outcome::Budget(_)));
    let play = play.killed(&[]);
    assert!(!play.effects.iter().any(|effect| matches!(effect, Effect::Open(..))));
    assert!(matches!(play.closed(), Outcome::Budget(_)));
}

#[test]
fn conductor_3_1_a_rerun_that_is_killed_half_way_is_decided_again() {
    let mut asked = kit::asked(Mode::Ralph);
    let whole = kit::play(&asked, kit::good);
    // A journal of all steps, each with the input it had.
    let mut play = Play::new(asked.clone());
    let mut records = std::mem::take(&mut play.records);
    records.clear();
    for step in &whole.steps {
        let (step, input) = (step.clone(), "what it was given".to_owned());
        records.push(Record::StepStarted { step: step.clone(), input, tree: None });
        records.push(Record::StepFinished { step, result: Value::Null, tree: None });
    }
    asked.task = "something else".to_owned();
    let first = whole.steps[0].as_str().to_owned();
    let decisions = [(first.clone(), Decide::Rerun)].into();
    let taken = Engine::take_up(asked.clone(), kit::session(), &records, &decisions);
    let changes = taken.unwrap().1;
    let forgotten: Vec<&StepKey> = changes
        .iter()
        .filter_map(|change| match change {
            Record::StepDiscarded { step, .. } => Some(step),
            _ => None,
        })
        .collect();
    // The last goes first: what is left is never made from what is gone.
    assert_eq!(forgotten, whole.steps.iter().rev().collect::<Vec<_>>());
    records.push(changes[0].clone());
    let play = Play::taken_up(asked, records, &[]);
    let Outcome::Blocked(words) = play.closed() else { panic!("{:?}", play.effects) };
    assert!(words.contains(&format!("--decide {first}=rerun")), "{words}");
}
