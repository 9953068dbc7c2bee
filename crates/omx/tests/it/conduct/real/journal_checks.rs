//! What a run leaves in its journal, against what the model was asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use omx_testkit::model::{ModelRequestKind, ReplyProgress};
use omx_testkit::real_cli::AgentCli;
use serde_json::Value;

use super::project::RealProject;

/// A step of a run: its name, and for an agent's the script that is played for
/// it and how many turns that has.
pub type Row<'a> = (&'a str, Option<(&'a str, usize)>);

/// A turn of a script, asked for by a step.
type Asking = (String, String, usize);

/// An agent's step.
pub const fn asks<'a>(step: &'a str, script: &'a str, turns: usize) -> Row<'a> {
    (step, Some((script, turns)))
}

/// A step omx does by itself.
pub const fn own(step: &str) -> Row<'_> {
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

    /// How often each turn of a step was answered, and how often it was asked
    /// for by one who did not live to hear the answer. The step is told by the
    /// conversation the request names.
    fn asked(&self) -> BTreeMap<Asking, (usize, usize)> {
        let mut steps = BTreeMap::new();
        for (step, ids) in self.conversations() {
            steps.extend(ids.into_iter().map(|id| (id, step.clone())));
        }
        let mut asked: BTreeMap<Asking, (usize, usize)> = BTreeMap::new();
        for request in self.server.requests() {
            let (script, turn) = match &request.kind {
                ModelRequestKind::Turn { script, step } => (script.clone(), *step),
                ModelRequestKind::Stray(why) => panic!("{why}: {:#}", request.body["messages"]),
                _ => continue,
            };
            let step = match Self::conversation(&request) {
                Some(id) => steps.get(&id).unwrap_or_else(|| panic!("{id} is not in the journal")),
                // Gemini does not say.
                None => "",
            };
            let count = asked.entry((step.to_owned(), script, turn)).or_default();
            match request.progress {
                ReplyProgress::Whole => count.0 += 1,
                _ => count.1 += 1,
            }
        }
        asked
    }

    /// That a run did these steps in this order, each once, each agent's in a
    /// conversation of its own, and that the model answered each turn once and
    /// was asked for nothing else. `lost` are the turns somebody was killed over.
    #[track_caller]
    pub fn assert_books(&self, rows: &[Row<'_>], lost: &[(&str, usize)]) {
        self.assert_books_of(rows, lost, &[]);
    }

    /// The same, where these steps may have begun again: their conversations
    /// were lost before anything was said in them.
    #[track_caller]
    pub fn assert_books_of(&self, rows: &[Row<'_>], lost: &[(&str, usize)], anew: &[&str]) {
        let names: Vec<&str> = rows.iter().map(|(step, _)| *step).collect();
        assert_eq!(self.finished(), names, "{:#?}", self.journal());
        let (begun, forgotten) = (self.steps("step_started"), self.steps("step_discarded"));
        assert!(forgotten.iter().all(|step| anew.contains(&step.as_str())), "{forgotten:?}");
        assert_eq!(begun.len(), names.len() + forgotten.len(), "begun twice: {begun:?}");
        let shown = fs::read_to_string(self.run_folder().join("events.jsonl")).unwrap();
        for step in &forgotten {
            assert!(shown.contains(&format!("{step} is begun again")), "{shown}");
        }
        let conversations = self.conversations();
        let mut ids = BTreeSet::new();
        let mut wanted: BTreeMap<Asking, usize> = BTreeMap::new();
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
        let asked = self.asked();
        let answered: BTreeMap<Asking, usize> =
            asked.iter().map(|(key, (answered, _))| (key.clone(), *answered)).collect();
        assert_eq!(answered, wanted, "{:#?}", self.server.seen());
        for ((step, script, turn), (_, unheard)) in &asked {
            let kills = lost.iter().filter(|lost| **lost == (script.as_str(), *turn)).count();
            assert!(*unheard <= kills, "{step}, {script}/{turn}: {:#?}", self.server.seen());
        }
    }

    /// How the journal says that the run was let go of, time after time.
    pub fn closed(&self) -> Vec<String> {
        let mut records = self.journal();
        records.retain(|record| record["kind"] == "closed");
        records.iter().map(|record| record["outcome"].as_str().unwrap().to_owned()).collect()
    }
}
