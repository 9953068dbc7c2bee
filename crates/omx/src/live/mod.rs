//! What one sees of a run: a live line on a terminal, plain lines in a pipe,
//! one JSON object a line for programs.

mod line;
mod terminal;

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use omx_runs::progress::Progress;
use serde_json::json;

use self::terminal::Terminal;
use crate::output::Format;

pub use line::{clock, printable, thousands};

/// A view of a run. It shows in a thread of its own, so that time passes in it.
pub struct Live {
    sender: Option<Sender<Progress>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// A view of this run for whoever reads standard output.
    pub fn new(format: Format, run: &str) -> Self {
        let run = run.to_owned();
        let (sender, shown) = channel::<Progress>();
        let terminal = format == Format::Text && std::io::stdout().is_terminal();
        let thread = std::thread::spawn(move || {
            if terminal {
                Terminal::new(run).run(&shown);
            } else {
                for progress in shown {
                    plain(&progress, format, &run);
                }
            }
        });
        Self { sender: Some(sender), thread: Some(thread) }
    }

    /// Shows something.
    pub fn show(&self, progress: &Progress) {
        if let Some(sender) = &self.sender {
            let _ = sender.send(progress.clone());
        }
    }

    /// Waits until everything is shown.
    pub fn finish(mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn plain(progress: &Progress, format: Format, run: &str) {
    let line = match format {
        Format::Json => serde_json::to_value(progress).unwrap_or(json!({})).to_string(),
        Format::Text => match line::line(progress, run) {
            Some(line) => line,
            None => return,
        },
    };
    // A reader that went away does not stop the run.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
