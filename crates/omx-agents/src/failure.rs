//! Everything that can go wrong with an agent, by name, with what to do about it.

use std::fmt;
use std::time::Duration;

use omx_kernel::Timestamp;

use crate::driver::AgentKind;

/// Why something did not work.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which agent.
    pub agent: AgentKind,
    /// What happened.
    pub cause: FailureCause,
}

/// The causes.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureCause {
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
    RateLimited {
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
    ProcessesLeft {
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

impl Failure {
    /// Trouble with an agent.
    pub fn new(agent: AgentKind, cause: FailureCause) -> Self {
        Self { agent, cause }
    }

    /// The word for programs.
    pub fn kind(&self) -> &'static str {
        match self.cause {
            FailureCause::NotInstalled => "not_installed",
            FailureCause::NotLoggedIn { .. } => "not_logged_in",
            FailureCause::FolderNotTrusted => "folder_not_trusted",
            FailureCause::UnknownModel { .. } => "unknown_model",
            FailureCause::RateLimited { .. } => "rate_limit",
            FailureCause::Network { .. } => "network",
            FailureCause::Service { .. } => "service",
            FailureCause::CutOff { .. } => "cut_off",
            FailureCause::Rejected { .. } => "rejected",
            FailureCause::UnknownConversation { .. } => "unknown_conversation",
            FailureCause::Silent { .. } => "silent",
            FailureCause::Garbage { .. } => "garbage",
            FailureCause::LineTooLong { .. } => "line_too_long",
            FailureCause::PipeClosed { .. } => "pipe_closed",
            FailureCause::Crashed { .. } => "crashed",
            FailureCause::ProcessesLeft { .. } => "outlived",
            FailureCause::Protocol { .. } => "protocol",
            FailureCause::CannotStart { .. } => "cannot_start",
            FailureCause::Scenario { .. } => "scenario",
        }
    }

    /// What the person can do about it, where there is something.
    pub fn remedy(&self) -> Option<String> {
        let agent = self.agent;
        match self.cause {
            FailureCause::NotInstalled => {
                agent.install_command().map(|command| format!("install it: {command}"))
            }
            FailureCause::NotLoggedIn { .. } => {
                agent.login_command().map(|command| format!("log in: {command}"))
            }
            FailureCause::FolderNotTrusted => {
                Some(format!("open the folder once in {agent} and trust it"))
            }
            FailureCause::UnknownModel { .. } => Some(
                "name another with --model, or clear the tiers in the configuration".to_owned(),
            ),
            FailureCause::RateLimited { until: None, .. } => Some("try again later".to_owned()),
            FailureCause::Network { .. } => Some("check the connection, then try again".to_owned()),
            FailureCause::Service { .. } | FailureCause::CutOff { .. } => {
                Some("try again".to_owned())
            }
            FailureCause::Protocol { .. } => Some(format!("check the version: {agent} --version")),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agent = self.agent;
        match &self.cause {
            FailureCause::NotInstalled => write!(f, "{agent} is not installed"),
            FailureCause::NotLoggedIn { detail } => {
                write_with_detail(f, format_args!("{agent} is not logged in"), detail)
            }
            FailureCause::FolderNotTrusted => write!(f, "{agent} does not trust this folder"),
            FailureCause::UnknownModel { model: Some(model), detail } => write_with_detail(
                f,
                format_args!("{agent} does not know the model {model}"),
                detail,
            ),
            FailureCause::UnknownModel { model: None, detail } => {
                write_with_detail(f, format_args!("{agent} does not know the model"), detail)
            }
            FailureCause::RateLimited { until: Some(until), detail } => {
                write_with_detail(f, format_args!("{agent} is limited until {until}"), detail)
            }
            FailureCause::RateLimited { until: None, detail } => {
                write_with_detail(f, format_args!("{agent} is limited"), detail)
            }
            FailureCause::Network { detail } => {
                write_with_detail(f, format_args!("{agent} cannot reach its service"), detail)
            }
            FailureCause::Service { status: Some(status), detail } => write_with_detail(
                f,
                format_args!("{agent}'s service failed with status {status}"),
                detail,
            ),
            FailureCause::Service { status: None, detail } => {
                write_with_detail(f, format_args!("{agent}'s service failed"), detail)
            }
            FailureCause::CutOff { detail } => {
                write_with_detail(f, format_args!("{agent}'s answer broke off"), detail)
            }
            FailureCause::Rejected { detail } => {
                write_with_detail(f, format_args!("{agent}'s service refused the request"), detail)
            }
            FailureCause::UnknownConversation { detail } => {
                write_with_detail(f, format_args!("{agent} does not know the conversation"), detail)
            }
            FailureCause::Silent { waited, during } => {
                write!(
                    f,
                    "{agent} said nothing for {} s while {during}",
                    waited.as_secs_f32().ceil()
                )
            }
            FailureCause::Garbage { sample } => {
                write!(f, "{agent} said something that is not its protocol: {sample:?}")
            }
            FailureCause::LineTooLong { limit } => {
                write!(f, "{agent} wrote a line of more than {limit} bytes")
            }
            FailureCause::PipeClosed { which } => {
                write!(f, "{agent} closed its {which} and lived on")
            }
            FailureCause::Crashed { code: Some(code), stderr } => write_with_detail(
                f,
                format_args!("{agent} ended by itself with exit code {code}"),
                stderr,
            ),
            FailureCause::Crashed { code: None, stderr } => {
                write_with_detail(f, format_args!("{agent} was ended by a signal"), stderr)
            }
            FailureCause::ProcessesLeft { count } => {
                write!(f, "{count} of the processes that {agent} started would not end")
            }
            FailureCause::Protocol { detail } => write_with_detail(
                f,
                format_args!("{agent} speaks another protocol than expected"),
                detail,
            ),
            FailureCause::CannotStart { detail } => {
                write_with_detail(f, format_args!("{agent} could not be started"), detail)
            }
            FailureCause::Scenario { detail } if detail.trim().is_empty() => {
                f.write_str("the scenario cannot be played")
            }
            FailureCause::Scenario { detail } => write!(f, "{detail}"),
        }
    }
}

/// A sentence, and the program's own words after it if there are any.
fn write_with_detail(
    f: &mut fmt::Formatter<'_>,
    sentence: fmt::Arguments<'_>,
    detail: &str,
) -> fmt::Result {
    f.write_fmt(sentence)?;
    let detail = detail.trim();
    if detail.is_empty() { Ok(()) } else { write!(f, ": {detail}") }
}

impl std::error::Error for Failure {}
