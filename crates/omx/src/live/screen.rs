//! A run on a terminal: finished steps scroll by, active ones stay below.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anstyle::Style;
use omx_kernel::ForeignText;
use omx_runs::StepKey;
use omx_runs::Usage;
use omx_runs::progress::Progress;

use super::RunLabel;
use super::line::line;
use crate::output;
use crate::terminal::{CLEAR_LINE_ABOVE, DIMMED, PaintedLine, Palette, SUCCESS, WARNING, width};
use crate::text::{clock, thousands, truncate};

/// How often the active lines are drawn.
const TICK: Duration = Duration::from_millis(200);
/// The frames of the sign before an active step.
const SPINNER: [&str; 4] = ["|", "/", "-", "\\"];
/// How much of a step's result is shown.
const RESULT_COLUMNS: usize = 100;

/// The screen of one run.
pub(super) struct Screen {
    run: RunLabel,
    palette: Palette,
    begun: Instant,
    active: BTreeMap<StepKey, ActiveStep>,
    usage: Usage,
    waiting: Option<String>,
    phase: String,
    /// How many lines are to be drawn over.
    drawn: usize,
    frame: usize,
}

struct ActiveStep {
    title: String,
    latest: String,
    since: Instant,
}

impl Screen {
    pub(super) fn new(run: RunLabel) -> Self {
        Self {
            run,
            palette: Palette::of_stdout(),
            begun: Instant::now(),
            active: BTreeMap::new(),
            usage: Usage::default(),
            waiting: None,
            phase: String::new(),
            drawn: 0,
            frame: 0,
        }
    }

    pub(super) fn run(mut self, excerpt: &Receiver<Progress>) {
        loop {
            match excerpt.recv_timeout(TICK) {
                Ok(progress) => self.update(&progress),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.frame += 1;
            self.draw();
        }
        self.clear();
    }

    fn update(&mut self, progress: &Progress) {
        match progress {
            Progress::StepBegan { step, mode, phase, who, what } => {
                self.waiting = None;
                self.phase = format!("{} {}", mode.one_line(), phase.one_line());
                let title = format!("{} {}", who.one_line(), what.one_line());
                let active = ActiveStep { title, latest: String::new(), since: Instant::now() };
                self.active.insert(step.clone(), active);
            }
            Progress::StepFinished { step, how } => {
                let done = self.active.remove(step);
                let title = done.as_ref().map_or(step.as_str(), |active| active.title.as_str());
                let took =
                    clock(done.as_ref().map_or(0, |active| active.since.elapsed().as_secs()));
                let how = truncate(&how.one_line().to_string(), RESULT_COLUMNS);
                let line = self.palette.line().text("  ").styled(SUCCESS, "✓");
                let line = line.text(&format!(" {title}: {how} ")).styled(DIMMED, &took);
                self.print(line);
            }
            Progress::Said { step, text } => self.set_latest(step, text),
            Progress::Tool { step, tool } => self.set_latest(step, tool),
            Progress::Usage(usage) => self.usage = *usage,
            Progress::Waiting { what, until } => {
                self.waiting = Some(format!("{} until {}", what.one_line(), until.one_line()))
            }
            Progress::Trouble { .. } => self.print_line(progress, WARNING, "!"),
            Progress::NeedsYou { .. } => self.print_line(progress, WARNING, "?"),
            Progress::Note(_) => self.print_line(progress, Style::new(), " "),
            Progress::Model { .. } => {}
        }
    }

    fn set_latest(&mut self, step: &StepKey, text: &ForeignText) {
        if let Some(active) = self.active.get_mut(step) {
            active.latest = text.one_line().to_string();
        }
    }

    fn print_line(&mut self, progress: &Progress, style: Style, sign: &str) {
        if let Some(text) = line(progress, &self.run) {
            let line = self.palette.line().text("  ").styled(style, sign);
            self.print(line.text(&format!(" {text}")));
        }
    }

    /// Prints a line that stays.
    fn print(&mut self, line: PaintedLine) {
        output::live(&self.clearing(), &[line]);
    }

    /// Removes the lines that do not stay.
    fn clear(&mut self) {
        output::live(&self.clearing(), &[]);
    }

    fn clearing(&mut self) -> String {
        CLEAR_LINE_ABOVE.repeat(std::mem::take(&mut self.drawn))
    }

    fn draw(&mut self) {
        // The last column stays free: some terminals wrap a line that fills it.
        let columns = width().saturating_sub(1);
        let plain = |line: &String| Palette::Plain.line().text(&truncate(line, columns));
        let lines: Vec<PaintedLine> = self.active_lines().iter().map(plain).collect();
        output::live(&self.clearing(), &lines);
        self.drawn = lines.len();
    }

    fn active_lines(&self) -> Vec<String> {
        let sign = SPINNER[self.frame % SPINNER.len()];
        let line = |active: &ActiveStep| {
            let took = clock(active.since.elapsed().as_secs());
            let latest = if active.latest.is_empty() { "" } else { ": " };
            format!("  {sign} {} ({took}){latest}{}", active.title, active.latest)
        };
        let mut lines: Vec<String> = self.active.values().map(line).collect();
        let waiting = self.waiting.as_ref().map(|what| format!(", waiting: {what}"));
        let money = self
            .usage
            .micro_usd
            .map(|micro| format!(", ${}.{:02}", micro / 1_000_000, micro / 10_000 % 100));
        lines.push(format!(
            "  {}{}, {}, {} tokens{}",
            self.phase,
            waiting.unwrap_or_default(),
            clock(self.begun.elapsed().as_secs()),
            thousands(self.usage.tokens()),
            money.unwrap_or_default(),
        ));
        lines
    }
}
