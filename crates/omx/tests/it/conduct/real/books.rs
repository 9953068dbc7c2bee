//! What a run leaves in its journal, against what the model was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use omx_testkit::model::Kind;
use omx_testkit::real_cli::Cli;
use serde_json::Value;

use super::site::Site;

/// A step of a run: its name, and for an agent's the script that is played for
/// it and how many turns that has.
pub type Row<'a> = (&'a str, Option<(&'a str, usize)>);

/// An agent's step.
pub const fn asks<'a>(step: &'a str, script: &'a str, turns: usize) -> Row<'a> {
    (step, Some((script, turns)))
}

/// A step omx does by itself.
pub const fn own(step: &str) -> Row<'_> {
    (step, None)
}

impl Site {
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

    /// The finished steps; lanes that run at the same time in a fixed order.
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

    /// The conversations of each step, in the program's own names.
    pub fn conversations(&self) -> BTreeMap<String, Vec<String>> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for record in self.journal().iter().filter(|record| record["kind"] == "conversation") {
            assert_eq!(record["agent"], self.cli.name());
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            found.entry(text("step")).or_default().push(text("id"));
        }
        found
    }

    /// How often the model was asked for each turn of a step, told by the
    /// conversation the request names.
    pub fn asked(&self) -> BTreeMap<(String, String, usize), usize> {
        let mut steps = BTreeMap::new();
        for (step, ids) in self.conversations() {
            steps.extend(ids.into_iter().map(|id| (id, step.clone())));
        }
        let mut asked = BTreeMap::new();
        for request in self.server.requests() {
            let (script, turn) = match &request.kind {
                Kind::Turn { script, step } => (script.clone(), *step),
                Kind::Stray(why) => panic!("{why}: {:#?}", request.body),
                _ => continue,
            };
            let step = match Self::conversation(&request) {
                Some(id) => steps.get(&id).unwrap_or_else(|| panic!("{id} is not in the journal")),
                // Gemini does not say.
                None => "",
            };
            *asked.entry((step.to_owned(), script, turn)).or_default() += 1;
        }
        asked
    }

    /// That a run did these steps in this order, each once, each agent's in a
    /// conversation of its own, and that the model was asked for nothing else.
    /// `again` are turns that were lost with a kill and asked for once more.
    #[track_caller]
    pub fn assert_books(&self, rows: &[Row<'_>], again: &[(&str, usize)]) {
        let names: Vec<&str> = rows.iter().map(|(step, _)| *step).collect();
        assert_eq!(self.finished(), names, "{:#?}", self.journal());
        let begun = self.steps("step_started");
        assert_eq!(begun.len(), names.len(), "a step was begun twice: {begun:?}");
        let conversations = self.conversations();
        let mut ids = BTreeSet::new();
        let mut wanted: BTreeMap<(String, String, usize), usize> = BTreeMap::new();
        for (step, script) in rows {
            let Some((script, turns)) = script else {
                assert!(!conversations.contains_key(*step), "{conversations:?}");
                continue;
            };
            let of_step = conversations.get(*step).map_or(&[][..], Vec::as_slice);
            assert_eq!(of_step.len(), 1, "{step}: {conversations:?}");
            assert!(ids.insert(of_step[0].clone()), "{step}: {conversations:?}");
            for turn in 0..*turns {
                let times = 1 + again.iter().filter(|lost| **lost == (*step, turn)).count();
                let step = if self.cli == Cli::Gemini { "" } else { *step };
                let key = (step.to_owned(), (*script).to_owned(), turn);
                *wanted.entry(key).or_default() += times;
            }
        }
        assert_eq!(self.asked(), wanted, "{:#?}", self.server.seen());
    }

    /// How the journal says that the run was let go of, time after time.
    pub fn closed(&self) -> Vec<String> {
        let mut records = self.journal();
        records.retain(|record| record["kind"] == "closed");
        records.iter().map(|record| record["outcome"].as_str().unwrap().to_owned()).collect()
    }
}
