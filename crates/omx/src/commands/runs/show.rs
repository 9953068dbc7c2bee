//! One run, step by step.

use omx_kernel::Refusal;
use omx_runs::Record;
use omx_runs::overview::overview;
use omx_store::Store;
use omx_store::runs::JournalEntry;
use serde_json::json;

use super::find;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::{printable, thousands};

pub(super) fn show(store: &Store, words: Option<&str>, format: Format) -> Result<Exit, Refusal> {
    let id = find(store, words)?;
    let folder =
        store.run(&id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))?;
    let seen = overview(store, &folder)?;
    let entries: Vec<JournalEntry<Record>> = folder.journal()?.read_all()?;
    if format == Format::Json {
        let mut object = seen.json();
        let journal = entries.iter().map(
            |entry| json!({"seq": entry.seq, "at": entry.at.to_string(), "record": entry.record}),
        );
        object["journal"] = journal.collect();
        return Ok(output::text(&format!("{object}\n")));
    }
    let mut lines = vec![
        format!("{} run {id}", seen.spec.mode.name()),
        format!("  task    {}", printable(&seen.spec.task)),
        format!("  state   {}{}", seen.state, words_of(&seen.why)),
        format!("  phase   {}", seen.phase.as_deref().unwrap_or("-")),
        format!("  agent   {}", seen.spec.agent),
        format!("  folder  {}", seen.spec.workspace.folder().display()),
        format!("  spent   {} tokens", thousands(seen.usage.tokens())),
    ];
    lines.extend(entries.iter().filter_map(line));
    for question in &seen.attention {
        let (number, what) = (question.number, printable(&question.what));
        lines.push(format!(
            "needs you: may {} {what}? omx runs answer {id} yes|no --question {number}",
            question.step
        ));
    }
    if seen.is_resumable() {
        lines.push(format!("go on: omx runs resume {id}"));
    }
    Ok(output::lines(&lines))
}

fn words_of(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", printable(why)) }
}

fn line(entry: &JournalEntry<Record>) -> Option<String> {
    let what = match &entry.record {
        Record::Opened { .. } => "taken up".to_owned(),
        Record::StepStarted { step, .. } => format!("{step} begins"),
        Record::Conversation { step, agent, id } => format!("{step} in {agent} conversation {id}"),
        Record::StepFinished { step, .. } => format!("{step} is done"),
        Record::StepFailed { step, error } => format!("{step} failed: {}", printable(error)),
        Record::StepDiscarded { step, why } => {
            format!("{step} is to be done again: {}", printable(why))
        }
        Record::InputAccepted { step, .. } => format!("{step} kept as it is"),
        Record::Waiting { what, until, .. } => match until {
            Some(until) => format!("waits ({what}) until {until}"),
            None => format!("waits ({what})"),
        },
        Record::LimitRaised { max_iterations } => format!("limit raised to {max_iterations}"),
        Record::BudgetRaised { .. } => "budget raised".to_owned(),
        Record::Closed { outcome, why, .. } => format!("{outcome}{}", words_of(why)),
        Record::Delivered { .. } | Record::Usage { .. } | Record::Worked { .. } => return None,
    };
    Some(format!("  {}  {what}", entry.at))
}
