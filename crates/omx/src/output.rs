//! Prints answers and refusals. A closed pipe is not an error.

use std::io::{self, Write};

use omx_kernel::{Refusal, RefusalCode, Value};
use omx_store::json;

use crate::exit::Exit;

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

/// Prints text as it is.
pub fn text(text: &str) -> Exit {
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

/// Prints lines.
pub fn lines(lines: &[String]) -> Exit {
    let mut all = lines.join("\n");
    all.push('\n');
    text(&all)
}

/// Prints an object, compact or pretty.
pub fn value(value: &Value, format: Format) -> Exit {
    let mut out = match format {
        Format::Json => json::compact(value.as_json()),
        Format::Text => json::pretty(value.as_json()),
    };
    out.push('\n');
    text(&out)
}

/// Prints a refusal: JSON on standard output, text on standard error.
pub fn refusal(refusal: &Refusal, format: Format) -> Exit {
    match format {
        Format::Json => {
            value(&omx_ops::error_object(refusal), format);
        }
        Format::Text => {
            let one_line = refusal.message.replace('\n', " ");
            note(&format!("error: {one_line} [{}]", refusal.code.as_str()));
        }
    }
    match refusal.code {
        RefusalCode::NeedsTrust => Exit::NeedsPerson,
        _ => Exit::Failed,
    }
}

/// Prints a line on standard error.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
