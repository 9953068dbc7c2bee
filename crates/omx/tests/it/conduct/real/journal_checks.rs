//! Compares a run's journal with the model's requests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use omx_testkit::model::{ModelRequestKind, ReplyProgress};
use omx_testkit::real_cli::AgentCli;
use serde_json::Value;

use super::project::RealProject;

/// A step of a run: its name, and for an agent step the script that it plays and the
/// number of turns.
pub type ExpectedSteps<'a> = (&'a str, Option<(&'a str, usize)>);

/// A turn of a script, requested by a step.
type StepTurn = (String, String, usize);

/// An agent step.
pub const fn asks<'a>(step: &'a str, script: &'a str, turns: usize) -> ExpectedSteps<'a> {
    (step, Some((script, turns)))
}

/// A step that omx carries out itself.
pub const fn own(step: &str) -> ExpectedSteps<'_> {
    (step, None)
}

impl RealProject {
    /// The whole lines of the journal.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.run_folder().join("journal.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let record = |line: &str| serde_json::from_str::<Value>(line).unwrap()["record"].clone();
        whole.lines().map(record).collect()
    }

    /// The steps of the records of a kind, in order.
    pub fn steps(&self, kind: &str) -> Vec<String> {
        let mut records = self.journal();
        records.retain(|record| record["kind"] == kind);
        records.iter().map(|record| record["step"].as_str().unwrap().to_owned()).collect()
    }

    /// The finished steps; concurrent lanes are in a fixed order.
    fn finished(&self) -> Vec<String> {
        let mut steps = self.steps("step_finished");
        for at in 1..steps.len() {
            let part = |step: &String, lane: &str| step.strip_suffix(lane).map(str::to_owned);
            let (first, second) = (part(&steps[at - 1], "architect"), part(&steps[at], "code"));
            if first.is_some() && first == second {
                steps.swap(at - 1, at);
            }
        }
        steps
    }

    /// The conversations of each step, by the program's own ids.
    pub fn conversations(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for record in self.journal().iter().filter(|record| record["kind"] == "conversation") {
            assert_eq!(record["agent"], self.cli.name());
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            found.entry(text("step")).or_default().push(text("id"));
        }
        found
    }

    /// How often each turn of a step was answered, and how often it was requested by a
    /// process that was killed before the answer. The conversation in the request
    /// identifies the step.
    fn count_requests(&self) -> BTreeMap<StepTurn, (usize, usize)> {
        let mut steps = BTreeMap::new();
        for (step, ids) in self.conversations() {
            steps.extend(ids.into_iter().map(|id| (id, step.clone())));
        }
        let mut requested: BTreeMap<StepTurn, (usize, usize)> = BTreeMap::new();
        for request in self.server.requests() {
            let (script, turn) = match &request.kind {
                ModelRequestKind::Turn { script, step } => (script.clone(), *step),
                ModelRequestKind::Stray(why) => panic!("{why}: {:#}", request.body["messages"]),
                _ => continue,
            };
            let step = match Self::conversation(&request) {
                Some(id) => steps.get(&id).unwrap_or_else(|| panic!("{id} is not in the journal")),
                // Gemini does not name it.
                None => "",
            };
            let count = requested.entry((step.to_owned(), script, turn)).or_default();
            match request.progress {
                ReplyProgress::Whole => count.0 += 1,
                _ => count.1 += 1,
            }
        }
        requested
    }

    /// Asserts that a run did these steps in this order, each once, each agent step in
    /// its own conversation, and that the model answered each turn once and had no other
    /// request. `lost` are the turns during which a process was killed.
    #[track_caller]
    pub fn assert_books(&self, rows: &[ExpectedSteps<'_>], lost: &[(&str, usize)]) {
        self.assert_books_of(rows, lost, &[]);
    }

    /// The same, where these steps may have been restarted: their conversations were
    /// lost before their first message.
    #[track_caller]
    pub fn assert_books_of(
        &self,
        rows: &[ExpectedSteps<'_>],
        lost: &[(&str, usize)],
        anew: &[&str],
    ) {
        let names: Vec<&str> = rows.iter().map(|(step, _)| *step).collect();
        assert_eq!(self.finished(), names, "{:#?}", self.journal());
        let (begun, forgotten) = (self.steps("step_started"), self.steps("step_discarded"));
        assert!(forgotten.iter().all(|step| anew.contains(&step.as_str())), "{forgotten:?}");
        assert_eq!(begun.len(), names.len() + forgotten.len(), "begun twice: {begun:?}");
        let report = fs::read_to_string(self.run_folder().join("events.jsonl")).unwrap();
        for step in &forgotten {
            assert!(report.contains(&format!("{step} begins again")), "{report}");
        }
        let conversations = self.conversations();
        let mut ids = BTreeSet::new();
        let mut wanted: BTreeMap<StepTurn, usize> = BTreeMap::new();
        for (step, script) in rows {
            let Some((script, turns)) = script else {
                assert!(!conversations.contains_key(*step), "{conversations:?}");
                continue;
            };
            let of_step = conversations.get(*step).map_or(&[][..], Vec::as_slice);
            let lost = forgotten.iter().filter(|known| known == step).count();
            assert_eq!(of_step.len(), 1 + lost, "{step}: {conversations:?}");
            let is_own = of_step.iter().all(|id| ids.insert(id.clone()));
            assert!(is_own, "{step}: {conversations:?}");
            for turn in 0..*turns {
                let step = if self.cli == AgentCli::Gemini { "" } else { *step };
                let key = (step.to_owned(), (*script).to_owned(), turn);
                *wanted.entry(key).or_default() += 1;
            }
        }
        let requested = self.count_requests();
        let answered: BTreeMap<StepTurn, usize> =
            requested.iter().map(|(key, (answered, _))| (key.clone(), *answered)).collect();
        assert_eq!(answered, wanted, "{:#?}", self.server.seen());
        for ((step, script, turn), (_, unheard)) in &requested {
            let kills = lost.iter().filter(|lost| **lost == (script.as_str(), *turn)).count();
            assert!(*unheard <= kills, "{step}, {script}/{turn}: {:#?}", self.server.seen());
        }
    }

    /// The reasons for which the journal was closed, in order.
    pub fn closed(&self) -> Vec<String> {
        let mut records = self.journal();
        records.retain(|record| record["kind"] == "closed");
        records.iter().map(|record| record["outcome"].as_str().unwrap().to_owned()).collect()
    }
}
