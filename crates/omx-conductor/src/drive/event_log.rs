//! The progress that a run keeps for processes that attach to it. What agents say and do
//! is bounded for each step; steps, failures and questions are always kept.

use std::collections::BTreeMap;

use omx_kernel::{ForeignText, Timestamp};
use omx_runs::StepKey;
use omx_runs::progress::Progress;
use serde_json::{Value, json};

/// How much of one text is kept.
const MAX_TEXT_BYTES: usize = 16 * 1024;
/// How much of what the agent of one step says and does is kept.
const MAX_STEP_BYTES: usize = 1024 * 1024;

/// Decides what is kept.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    steps: BTreeMap<StepKey, KeptEvents>,
}

#[derive(Debug, Default)]
struct KeptEvents {
    bytes: usize,
    dropped: u64,
}

impl EventLog {
    /// The lines to append for an item of progress.
    pub(super) fn lines(&mut self, progress: &Progress, now: Timestamp) -> String {
        let line = |progress: &Progress| {
            let mut object = serde_json::to_value(progress).unwrap_or_default();
            shorten(&mut object);
            object["at"] = json!(now.to_string());
            format!("{object}\n")
        };
        let text = line(progress);
        match progress {
            Progress::Said { step, .. } | Progress::Tool { step, .. } => {
                let kept = self.steps.entry(step.clone()).or_default();
                if kept.bytes + text.len() > MAX_STEP_BYTES {
                    kept.dropped += 1;
                    return String::new();
                }
                kept.bytes += text.len();
                text
            }
            Progress::StepFinished { step, .. } => {
                match self.steps.remove(step).map_or(0, |kept| kept.dropped) {
                    0 => text,
                    dropped => {
                        let words = format!("{step}: {dropped} reports of its agent were not kept");
                        line(&Progress::Note(ForeignText::from(words))) + &text
                    }
                }
            }
            _ => text,
        }
    }
}

/// Cuts long texts: the beginning and the end stay, with the number of bytes between them.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT_BYTES => {
            let half = MAX_TEXT_BYTES / 2;
            let head = text.floor_char_boundary(half);
            let tail = text.ceil_char_boundary(text.len() - half);
            let dropped = tail - head;
            *text = format!("{}[{dropped} bytes were not kept]{}", &text[..head], &text[tail..]);
        }
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_3_5_what_an_agent_says_is_bounded_for_each_step() {
        let now = Timestamp::from_millis(0);
        let mut log = EventLog::default();
        let step = StepKey::new("c1.build.work".to_owned());
        let mut kept = 0;
        for _ in 0..1000 {
            let text = ForeignText::from("ä".repeat(100_000));
            kept += log.lines(&Progress::Said { step: step.clone(), text }, now).len();
        }
        assert!(kept < 1024 * 1024 && kept > 900 * 1024, "{kept}");
        let ended = log.lines(&Progress::StepFinished { step, how: "done".into() }, now);
        let lines: Vec<&str> = ended.lines().collect();
        assert!(lines[0].contains("reports of its agent were not kept"), "{lines:?}");
        assert!(lines[1].contains("step_finished"), "{lines:?}");
        let other = StepKey::new("c1.review.code".to_owned());
        let text = ForeignText::from("short");
        assert!(log.lines(&Progress::Said { step: other, text }, now).contains("short"));
    }
}
