//! Prints answers and refusals. A closed pipe is not an error.
//!
//! Nothing else in the binary writes to standard output or standard error, and nothing
//! that is written here is obeyed by a terminal: lines and texts are escaped as a whole,
//! whatever they are composed of. Colors are added by [`PaintedLine`] alone.

use std::fmt::Write as _;
use std::io::{self, Write};

use omx_kernel::foreign::escape_json;
use omx_kernel::{EscapedText, Refusal, RefusalCode, Value};
use omx_store::json;

use crate::exit::Exit;
use crate::terminal::PaintedLine;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for people.
    Text,
    /// One compact line of JSON, errors too.
    Json,
}

impl Format {
    /// From the flag.
    pub const fn from_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Prints text with its own line breaks.
pub fn text(text: &str) -> Exit {
    print(&EscapedText::lines(text).to_string())
}

/// Prints what omx generates for other programs, as it is.
pub fn generated(text: &str) -> Exit {
    print(text)
}

fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Ok(()) => Exit::Done,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            note(&format!("error: cannot write to standard output: {error}"));
            Exit::Failed
        }
    }
}

/// Prints lines. A line break inside one of them does not begin another.
pub fn lines(lines: &[String]) -> Exit {
    let mut text = String::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        // Never fails: it is a string.
        let _ = writeln!(text, "{}", EscapedText::whole_line(line));
    }
    print(&text)
}

/// Prints lines with colors.
pub fn painted(lines: &[PaintedLine]) -> Exit {
    print(&lines.iter().map(|line| format!("{}\n", line.as_str())).collect::<String>())
}

/// Prints a line of the live view, after what clears the lines it replaces. A reader
/// that left does not stop the run.
pub fn live(clear: &str, lines: &[PaintedLine]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(clear.as_bytes());
    for line in lines {
        let _ = writeln!(out, "{}", line.as_str());
    }
    let _ = out.flush();
}

/// Prints an object in one line.
pub fn object(object: &serde_json::Value) -> Exit {
    print(&escape_json(&format!("{object}\n")))
}

/// Prints a question on standard error; the answer follows on the same line.
pub fn prompt(text: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "{} ", EscapedText::one_line(text));
    let _ = err.flush();
}

/// Prints an object, compact or pretty.
pub fn value(value: &Value, format: Format) -> Exit {
    let mut out = match format {
        Format::Json => json::compact(value.as_json()),
        Format::Text => json::pretty(value.as_json()),
    };
    out.push('\n');
    print(&escape_json(&out))
}

/// Prints a refusal: JSON on standard output, text on standard error.
pub fn refusal(refusal: &Refusal, format: Format) -> Exit {
    match format {
        Format::Json => {
            value(&omx_ops::error_object(refusal), format);
        }
        Format::Text => {
            note(&format!("error: {} [{}]", refusal.message, refusal.code.as_str()));
        }
    }
    match refusal.code {
        RefusalCode::NeedsTrust | RefusalCode::NotConfined => Exit::NeedsPerson,
        _ => Exit::Failed,
    }
}

/// Prints a line on standard error. A line break inside it does not begin another.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", EscapedText::whole_line(line));
}
