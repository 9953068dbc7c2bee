//! What agents are told: the person's task, what this errand is for, and what
//! came before. The role's own prompt stands beside it.

use std::fmt::Write as _;

use omx_agents::results::{ResultKind, instructions};
use serde_json::Value;

use crate::story::{Errand, Past, Purpose, StepKey};
use omx_runs::spec::{RunSpec, Workspace};

/// How much of one earlier result is told.
const LONGEST: usize = 48 << 10;

/// What an agent is told at the beginning of an errand.
pub fn errand(asked: &RunSpec, past: &Past, errand: &Errand) -> String {
    let mut text = String::new();
    section(&mut text, "Task", asked.task.trim());
    section(&mut text, "Your part", &part(asked, &errand.purpose));
    for key in errand.purpose.reads() {
        if let Some(finished) = past.get(key) {
            section(&mut text, &format!("From step {key}"), &told(&finished.result));
        }
    }
    section(&mut text, "Where", &ground(asked, errand.wants));
    section(&mut text, "Answer", &instructions(errand.wants));
    text.trim_end().to_owned()
}

/// What an agent is told when its errand was cut short and perhaps never
/// reached it.
pub fn errand_again(asked: &RunSpec, past: &Past, to: &Errand) -> String {
    format!(
        "This may have been given to you before, and you may have been interrupted. Then look at \
         what is already done, finish it, and do nothing twice.\n\n{}",
        errand(asked, past, to)
    )
}

/// What an agent is told when an errand it knows was cut short and goes on.
pub fn go_on(wants: ResultKind) -> String {
    format!(
        "You were interrupted. The folder is as you left it. Look at what is already done, finish \
         the part you were given, and do nothing twice.\n\n{}",
        instructions(wants)
    )
}

fn part(asked: &RunSpec, purpose: &Purpose) -> String {
    let words = match purpose {
        Purpose::Draft { reviews } if reviews.is_empty() => {
            "Plan the task: what to change, in which order, and how it will be tested. Read the \
             code first. Change nothing."
        }
        Purpose::Draft { .. } => {
            "A review of the finished change was not clean; its findings are below and come first. \
             Plan again so that each of them is settled. What is already built stays unless a \
             finding speaks against it. Change nothing."
        }
        Purpose::ReviewPlan { .. } => {
            "Review the plan below against the code. Approve it only if somebody could build it \
             as it stands and its tests would show that it works. Change nothing."
        }
        Purpose::Revise { .. } => {
            "Revise the plan below so that every finding of the reviews is settled. Keep what was \
             not objected to. Change nothing but the plan."
        }
        Purpose::Implement { plan: Some(_) } => {
            "Build what the plan below says, with its tests. Leave no part of it for later."
        }
        Purpose::Implement { plan: None } => {
            "Do the task completely, with tests where the project has any. Leave no part for later."
        }
        Purpose::Mend { .. } => {
            "Something below does not hold. Find the cause and mend it there; do not weaken a \
             test or a check to make it pass."
        }
        Purpose::Verify { .. } => {
            "Verify that the task is done, by looking and by running things yourself. Believe \
             nothing you have not seen. Change nothing."
        }
        Purpose::Tidy => {
            "The task is done. Go over the whole change once: remove what need not be there \
             (dead code, needless comments, leftovers, duplication) and change no behaviour."
        }
        Purpose::ReviewChange { .. } => {
            "Review the change. A finding is something that has to change; give each a title \
             that stays the same from round to round. Change nothing."
        }
        Purpose::Diagnose { .. } => {
            "The check below fails. Find out why, down to the cause, and say what would mend it. \
             Change nothing yet."
        }
        Purpose::Stage { number, .. } => {
            return match asked.stages.get(*number) {
                Some(stage) if !stage.prompt.trim().is_empty() => stage.prompt.trim().to_owned(),
                _ => "Do the part of the task that your role is for, with what came before."
                    .to_owned(),
            };
        }
    };
    words.to_owned()
}

fn ground(asked: &RunSpec, wants: ResultKind) -> String {
    let mut words = match &asked.workspace {
        Workspace::Worktree { base, .. } => format!(
            "You are in a git worktree made for this run. The change so far is everything that \
             differs from commit {base}: `git diff {base}` shows it, with new files by `git status`."
        ),
        Workspace::InPlace { .. } => "You are in the person's own folder.".to_owned(),
    };
    if wants == ResultKind::Work {
        words
            .push_str(" Edit files here and nowhere else. Do not commit, push or switch branches.");
        if let Some(check) = &asked.check {
            let _ = write!(words, " Afterwards this will be run: `{check}`");
        }
    }
    words
}

fn section(text: &mut String, title: &str, words: &str) {
    let _ = write!(text, "## {title}\n\n{words}\n\n");
}

/// A result for an agent to read: its long texts as they are, the rest as JSON.
fn told(result: &Value) -> String {
    let mut rest = result.clone();
    let mut text = String::new();
    for (name, title) in
        [("plan_markdown", "Plan"), ("test_spec_markdown", "Tests"), ("output", "Output")]
    {
        let Some(object) = rest.as_object_mut() else { break };
        if let Some(Value::String(words)) = object.remove(name) {
            let _ = write!(text, "{title}:\n\n{}\n\n", words.trim());
        }
    }
    let json = serde_json::to_string_pretty(&rest).unwrap_or_default();
    let _ = write!(text, "```json\n{json}\n```");
    shortened(text)
}

/// The beginning and the end of a text that is too long to be told whole.
fn shortened(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let mut head = LONGEST / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - LONGEST / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    format!("{}\n… ({} bytes left out) …\n{}", &text[..head], tail - head, &text[tail..])
}

/// The step a purpose is about, in a few words for people.
pub fn in_short(purpose: &Purpose) -> &'static str {
    match purpose {
        Purpose::Draft { .. } => "plans",
        Purpose::ReviewPlan { .. } => "reviews the plan",
        Purpose::Revise { .. } => "revises the plan",
        Purpose::Implement { .. } => "builds",
        Purpose::Mend { .. } => "mends",
        Purpose::Verify { .. } => "verifies",
        Purpose::Tidy => "tidies up",
        Purpose::ReviewChange { .. } => "reviews the change",
        Purpose::Diagnose { .. } => "looks for the cause",
        Purpose::Stage { .. } => "does its stage",
    }
}

/// Used by messages that name a step.
pub fn of_step(key: &StepKey) -> String {
    key.as_str().replace('.', " ")
}
