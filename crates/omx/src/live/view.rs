//! Chooses the form of the live view and feeds it.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use omx_kernel::{Dialect, RunId};
use omx_runs::progress::Progress;

use super::line::line;
use super::screen::Screen;
use crate::output::{self, Format};
use crate::terminal::{self, Palette};

/// The run that is shown, as hints name it.
pub struct RunLabel {
    /// Its id.
    pub id: String,
    /// The program's name in the dialect of the run.
    pub program: &'static str,
}

/// A view of a run. A thread of its own draws it, so that its clock moves.
pub struct Live {
    sender: Option<Sender<Progress>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// A view of this run for whoever reads standard output.
    pub fn new(format: Format, id: &RunId, dialect: Dialect) -> Self {
        let run = RunLabel { id: id.to_string(), program: dialect.name };
        let (sender, shown) = channel::<Progress>();
        let thread = std::thread::spawn(move || {
            if format == Format::Text && terminal::can_redraw() {
                Screen::new(run).run(&shown);
            } else {
                for progress in shown {
                    print_line(&progress, format, &run);
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

fn print_line(progress: &Progress, format: Format, run: &RunLabel) {
    match format {
        // A reader that left does not stop the run.
        Format::Json => {
            output::object(&serde_json::to_value(progress).unwrap_or_default());
        }
        Format::Text => {
            if let Some(text) = line(progress, run) {
                output::live("", &[Palette::Plain.line().text(&text)]);
            }
        }
    }
}
