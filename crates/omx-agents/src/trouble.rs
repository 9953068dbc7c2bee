//! Everything that can go wrong with an agent, by name, with what to do about it.

use std::fmt;
use std::time::Duration;

use omx_kernel::Timestamp;

use crate::driver::AgentKind;

/// Why something did not work.
#[derive(Clone, Debug, PartialEq)]
pub struct Trouble {
    /// Which agent.
    pub agent: AgentKind,
    /// What happened.
    pub cause: Cause,
}

/// The causes.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The program is not there.
    NotInstalled,
    /// It is there, and has no account to work with.
    NotLoggedIn {
        /// The program's own words, where it said any.
        detail: String,
    },
    /// It does not work in folders nobody has trusted.
    FolderNotTrusted,
    /// It does not know the model.
    UnknownModel {
        /// The model, where it is known.
        model: Option<String>,
        /// The program's own words.
        detail: String,
    },
    /// Too much was asked in too short a time, or the plan's share is used up.
    Limited {
        /// When it is over, where the vendor says so.
        until: Option<Timestamp>,
        /// The program's own words.
        detail: String,
    },
    /// The vendor cannot be reached.
    Network {
        /// The program's own words.
        detail: String,
    },
    /// The vendor's service failed.
    Service {
        /// The HTTP status, where it is known.
        status: Option<u16>,
        /// The program's own words.
        detail: String,
    },
    /// The answer broke off.
    CutOff {
        /// The program's own words.
        detail: String,
    },
    /// The vendor refused the request.
    Rejected {
        /// The program's own words.
        detail: String,
    },
    /// The conversation to go on with is not there.
    UnknownConversation {
        /// The program's own words.
        detail: String,
    },
    /// It said nothing for this long.
    Silent {
        /// How long.
        waited: Duration,
        /// What was waited for.
        during: &'static str,
    },
    /// It said things that are not its protocol.
    Garbage {
        /// The first of it.
        sample: String,
    },
    /// A line longer than any of its protocol.
    LineTooLong {
        /// The longest there may be.
        limit: usize,
    },
    /// It closed a pipe and lived on, or took no more input.
    PipeClosed {
        /// Which.
        which: &'static str,
    },
    /// It ended though nobody asked it to.
    Crashed {
        /// Its exit code; none after a signal.
        code: Option<i32>,
        /// The last it wrote to standard error.
        stderr: String,
    },
    /// Some of what it started would not end.
    Outlived {
        /// How many processes.
        count: usize,
    },
    /// Its protocol is another one than this driver's.
    Protocol {
        /// What did not fit.
        detail: String,
    },
    /// It could not be started.
    CannotStart {
        /// The system's words.
        detail: String,
    },
    /// The rehearsal's scenario is wrong, or has nothing for this call.
    Scenario {
        /// With file and line.
        detail: String,
    },
}

impl Trouble {
    /// Trouble with an agent.
    pub fn new(agent: AgentKind, cause: Cause) -> Self {
        Self { agent, cause }
    }

    /// The word for programs.
    pub fn kind(&self) -> &'static str {
        match self.cause {
            Cause::NotInstalled => "not_installed",
            Cause::NotLoggedIn { .. } => "not_logged_in",
            Cause::FolderNotTrusted => "folder_not_trusted",
            Cause::UnknownModel { .. } => "unknown_model",
            Cause::Limited { .. } => "rate_limit",
            Cause::Network { .. } => "network",
            Cause::Service { .. } => "service",
            Cause::CutOff { .. } => "cut_off",
            Cause::Rejected { .. } => "rejected",
            Cause::UnknownConversation { .. } => "unknown_conversation",
            Cause::Silent { .. } => "silent",
            Cause::Garbage { .. } => "garbage",
            Cause::LineTooLong { .. } => "line_too_long",
            Cause::PipeClosed { .. } => "pipe_closed",
            Cause::Crashed { .. } => "crashed",
            Cause::Outlived { .. } => "outlived",
            Cause::Protocol { .. } => "protocol",
            Cause::CannotStart { .. } => "cannot_start",
            Cause::Scenario { .. } => "scenario",
        }
    }

    /// What the person can do about it, where there is something.
    pub fn remedy(&self) -> Option<String> {
        let agent = self.agent;
        match self.cause {
            Cause::NotInstalled => {
                agent.install_command().map(|command| format!("install it: {command}"))
            }
            Cause::NotLoggedIn { .. } => {
                agent.login_command().map(|command| format!("log in: {command}"))
            }
            Cause::FolderNotTrusted => {
                Some(format!("open the folder once in {agent} and trust it"))
            }
            Cause::UnknownModel { .. } => Some(
                "name another with --model, or clear the tiers in the configuration".to_owned(),
            ),
            Cause::Limited { until: None, .. } => Some("try again later".to_owned()),
            Cause::Network { .. } => Some("check the connection, then try again".to_owned()),
            Cause::Service { .. } | Cause::CutOff { .. } => Some("try again".to_owned()),
            Cause::Protocol { .. } => Some(format!("check the version: {agent} --version")),
            _ => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent;
        match &self.cause {
            Cause::NotInstalled => write!(f, "{agent} is not installed"),
            Cause::NotLoggedIn { detail } => {
                said(f, format_args!("{agent} is not logged in"), detail)
            }
            Cause::FolderNotTrusted => write!(f, "{agent} does not trust this folder"),
            Cause::UnknownModel { model: Some(model), detail } => {
                said(f, format_args!("{agent} does not know the model {model}"), detail)
            }
            Cause::UnknownModel { model: None, detail } => {
                said(f, format_args!("{agent} does not know the model"), detail)
            }
            Cause::Limited { until: Some(until), detail } => {
                said(f, format_args!("{agent} is limited until {until}"), detail)
            }
            Cause::Limited { until: None, detail } => {
                said(f, format_args!("{agent} is limited"), detail)
            }
            Cause::Network { detail } => {
                said(f, format_args!("{agent} cannot reach its service"), detail)
            }
            Cause::Service { status: Some(status), detail } => {
                said(f, format_args!("{agent}'s service failed with status {status}"), detail)
            }
            Cause::Service { status: None, detail } => {
                said(f, format_args!("{agent}'s service failed"), detail)
            }
            Cause::CutOff { detail } => said(f, format_args!("{agent}'s answer broke off"), detail),
            Cause::Rejected { detail } => {
                said(f, format_args!("{agent}'s service refused the request"), detail)
            }
            Cause::UnknownConversation { detail } => {
                said(f, format_args!("{agent} does not know the conversation"), detail)
            }
            Cause::Silent { waited, during } => {
                write!(
                    f,
                    "{agent} said nothing for {} s while {during}",
                    waited.as_secs_f32().ceil()
                )
            }
            Cause::Garbage { sample } => {
                write!(f, "{agent} said something that is not its protocol: {sample:?}")
            }
            Cause::LineTooLong { limit } => {
                write!(f, "{agent} wrote a line of more than {limit} bytes")
            }
            Cause::PipeClosed { which } => write!(f, "{agent} closed its {which} and lived on"),
            Cause::Crashed { code: Some(code), stderr } => {
                said(f, format_args!("{agent} ended by itself with exit code {code}"), stderr)
            }
            Cause::Crashed { code: None, stderr } => {
                said(f, format_args!("{agent} was ended by a signal"), stderr)
            }
            Cause::Outlived { count } => {
                write!(f, "{count} of the processes that {agent} started would not end")
            }
            Cause::Protocol { detail } => {
                said(f, format_args!("{agent} speaks another protocol than expected"), detail)
            }
            Cause::CannotStart { detail } => {
                said(f, format_args!("{agent} could not be started"), detail)
            }
            Cause::Scenario { detail } if detail.trim().is_empty() => {
                f.write_str("the scenario cannot be played")
            }
            Cause::Scenario { detail } => write!(f, "{detail}"),
        }
    }
}

/// A sentence, and the program's own words after it if there are any.
fn said(f: &mut fmt::Formatter<'_>, sentence: fmt::Arguments<'_>, detail: &str) -> fmt::Result {
    f.write_fmt(sentence)?;
    let detail = detail.trim();
    if detail.is_empty() { Ok(()) } else { write!(f, ": {detail}") }
}

impl std::error::Error for Trouble {}
