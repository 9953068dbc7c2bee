//! The status line: active modes in one line.

use omx_kernel::{EscapedText, ForeignText, Mode, SessionId, Value};
use omx_ops::{ActiveMode, StatusReport};

/// How much the line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Modes and phases.
    Minimal,
    /// Also the branch and the iteration.
    Focused,
    /// Also the session.
    Full,
}

impl Preset {
    /// The preset with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "minimal" => Some(Self::Minimal),
            "focused" => Some(Self::Focused),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// The contents of the line.
#[derive(Debug)]
pub struct StatusLine<'a> {
    /// The program's name.
    pub name: &'a str,
    /// The branch, if there is one.
    pub branch: Option<String>,
    /// The active modes.
    pub report: &'a StatusReport,
}

impl StatusLine<'_> {
    /// The line for people.
    pub fn text(&self, preset: Preset) -> String {
        let mut parts = vec![self.name.to_owned()];
        let branch = self.branch.as_deref().filter(|_| preset != Preset::Minimal);
        parts.extend(branch.map(clean));
        parts.extend(self.report.active.iter().map(|active| entry(active, preset)));
        let waiting = self.report.waiting.iter();
        parts.extend(waiting.map(|waiting| format!("{} needs you", waiting.mode.name())));
        if self.report.active.is_empty() && self.report.waiting.is_empty() {
            parts.push("idle".to_owned());
        }
        let unreadable = self.unreadable();
        if unreadable > 0 {
            parts.push(format!("{unreadable} unreadable"));
        }
        parts.join(" | ")
    }

    fn unreadable(&self) -> usize {
        self.report.unreadable.len() + self.report.misnamed.len()
    }

    /// The same as JSON for programs.
    pub fn value(&self) -> Value {
        let modes = self.report.active.iter().map(|active| {
            let count = |count: Option<u64>| count.map_or_else(Value::null, Value::integer);
            Value::record([
                ("mode", Value::string(active.mode.name())),
                (
                    "session_id",
                    Value::string_or_null(active.scope.session().map(SessionId::as_str)),
                ),
                ("phase", Value::string_or_null(active.phase.as_ref().map(ForeignText::raw))),
                ("iteration", count(active.iteration.0)),
                ("max_iterations", count(active.iteration.1)),
                ("stale", Value::bool(active.stale)),
            ])
        });
        let waiting = self.report.waiting.iter().map(|waiting| waiting.mode.name());
        Value::record([
            ("branch", Value::string_or_null(self.branch.as_deref())),
            ("modes", Value::array(modes.collect())),
            ("waiting", Value::strings(waiting)),
            ("unreadable", Value::integer(self.unreadable() as u64)),
        ])
    }
}

fn entry(active: &ActiveMode, preset: Preset) -> String {
    let mut text = Mode::name(active.mode).to_owned();
    if let Some(phase) = &active.phase {
        text.push(' ');
        text.push_str(&clean(phase.raw()));
    }
    if preset != Preset::Minimal {
        match active.iteration {
            (Some(at), Some(limit)) => text.push_str(&format!(" {at}/{limit}")),
            (Some(at), None) => text.push_str(&format!(" {at}")),
            _ => {}
        }
    }
    if let Some(session) = active.scope.session().filter(|_| preset == Preset::Full) {
        text.push_str(&format!(" ({session})"));
    }
    if active.stale {
        text.push_str(" stale");
    }
    text
}

/// Escapes foreign text, and cuts it to 40 characters.
fn clean(text: &str) -> String {
    EscapedText::one_line(text).to_string().chars().take(40).collect()
}
