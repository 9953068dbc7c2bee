//! A run on a terminal: what is done scrolls by, what goes on stays below.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use omx_runs::StepKey;
use omx_runs::Usage;
use omx_runs::progress::Progress;

use super::line::{clock, line, printable, thousands};

/// How often the time is shown anew.
const TICK: Duration = Duration::from_millis(200);
/// The signs of something that goes on.
const SIGNS: [&str; 4] = ["|", "/", "-", "\\"];

pub(super) struct Terminal {
    run: String,
    begun: Instant,
    doing: BTreeMap<StepKey, Doing>,
    spent: Usage,
    waiting: Option<String>,
    phase: String,
    shown: usize,
    ticks: usize,
}

struct Doing {
    words: String,
    last: String,
    since: Instant,
}

impl Terminal {
    /// A view of this run.
    pub(super) fn new(run: String) -> Self {
        Self {
            run,
            begun: Instant::now(),
            doing: BTreeMap::new(),
            spent: Usage::default(),
            waiting: None,
            phase: String::new(),
            shown: 0,
            ticks: 0,
        }
    }
}

impl Terminal {
    pub(super) fn run(mut self, shown: &Receiver<Progress>) {
        loop {
            match shown.recv_timeout(TICK) {
                Ok(progress) => self.take(&progress),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.ticks += 1;
            self.draw();
        }
        self.clear();
    }

    fn take(&mut self, progress: &Progress) {
        match progress {
            Progress::StepBegan { step, mode, phase, who, what } => {
                self.waiting = None;
                self.phase = format!("{mode} {phase}");
                let words = format!("{who} {what}");
                let doing = Doing { words, last: String::new(), since: Instant::now() };
                self.doing.insert(step.clone(), doing);
            }
            Progress::StepFinished { step, how } => {
                let done = self.doing.remove(step);
                let words = done.as_ref().map_or(step.as_str(), |doing| doing.words.as_str());
                let took = done.as_ref().map_or(0, |doing| doing.since.elapsed().as_secs());
                let how = shortened(&printable(how), 100);
                self.print(&format!(
                    "  \u{1b}[32m✓\u{1b}[0m {words}: {how} \u{1b}[2m{}\u{1b}[0m",
                    clock(took)
                ));
            }
            Progress::Said { step, text } => self.last(step, &printable(text)),
            Progress::Tool { step, tool } => self.last(step, &printable(tool)),
            Progress::Usage(spent) => self.spent = *spent,
            Progress::Waiting { what, until } => {
                self.waiting = Some(format!("{what} until {until}"))
            }
            Progress::Trouble { .. } => self.print_line(progress, "\u{1b}[33m!\u{1b}[0m"),
            Progress::NeedsYou { .. } => self.print_line(progress, "\u{1b}[33m?\u{1b}[0m"),
            Progress::Note(_) => self.print_line(progress, " "),
            Progress::Model { .. } => {}
        }
    }

    fn last(&mut self, step: &StepKey, words: &str) {
        if let Some(doing) = self.doing.get_mut(step) {
            doing.last = words.to_owned();
        }
    }

    fn print_line(&mut self, progress: &Progress, sign: &str) {
        if let Some(words) = line(progress, &self.run) {
            self.print(&format!("  {sign} {words}"));
        }
    }

    /// Prints a line that stays.
    fn print(&mut self, words: &str) {
        self.clear();
        let _ = writeln!(std::io::stdout().lock(), "{words}");
    }

    /// Removes the lines that do not stay.
    fn clear(&mut self) {
        let mut out = std::io::stdout().lock();
        for _ in 0..std::mem::take(&mut self.shown) {
            let _ = write!(out, "\u{1b}[1A\u{1b}[2K");
        }
        let _ = out.flush();
    }

    fn draw(&mut self) {
        self.clear();
        let width = usize::from(width());
        let sign = SIGNS[self.ticks % SIGNS.len()];
        let mut lines = Vec::new();
        for doing in self.doing.values() {
            let last =
                if doing.last.is_empty() { String::new() } else { format!(": {}", doing.last) };
            let took = clock(doing.since.elapsed().as_secs());
            lines.push(format!("  {sign} {} ({took}){last}", doing.words));
        }
        let waiting =
            self.waiting.as_ref().map(|what| format!(", waiting: {what}")).unwrap_or_default();
        let money = self
            .spent
            .micro_usd
            .map(|micro| format!(", ${}.{:02}", micro / 1_000_000, micro / 10_000 % 100));
        lines.push(format!(
            "  {}{waiting}, {}, {} tokens{}",
            self.phase,
            clock(self.begun.elapsed().as_secs()),
            thousands(self.spent.tokens()),
            money.unwrap_or_default(),
        ));
        let mut out = std::io::stdout().lock();
        for line in &lines {
            let _ = writeln!(out, "{}", shortened(line, width.saturating_sub(1)));
        }
        self.shown = lines.len();
        let _ = out.flush();
    }
}

/// The terminal's width; one that does not know it tells zero.
fn width() -> u16 {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => size.ws_col.max(20),
        _ => 80,
    }
}

fn shortened(words: &str, longest: usize) -> String {
    if words.chars().count() <= longest {
        return words.to_owned();
    }
    let kept: String = words.chars().take(longest.saturating_sub(1)).collect();
    format!("{kept}…")
}
