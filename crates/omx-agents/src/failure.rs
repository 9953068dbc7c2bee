//! Failures of an agent: each has a named cause, a message and, where there is
//! one, a remedy.

use std::fmt;
use std::time::Duration;

use omx_kernel::Timestamp;

use crate::driver::AgentKind;

/// A failure of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which agent.
    pub agent: AgentKind,
    /// What happened.
    pub cause: FailureCause,
}

/// The cause of a failure. `detail` is the program's own message.
#[derive(Clone, Debug, PartialEq)]
pub enum FailureCause {
    /// The program is not installed.
    NotInstalled,
    /// The program has no account to work with.
    NotLoggedIn {
        /// The program's own message, if it gave one.
        detail: String,
    },
    /// The program refuses to work in an untrusted folder.
    FolderNotTrusted,
    /// The vendor does not know the model.
    UnknownModel {
        /// The model, if it is known.
        model: Option<String>,
        /// The program's own message.
        detail: String,
    },
    /// The rate limit or the plan's quota is exhausted.
    RateLimited {
        /// When the limit resets, if the vendor reports it.
        until: Option<Timestamp>,
        /// The program's own message.
        detail: String,
    },
    /// The account has no credit left. Waiting does not help.
    OutOfCredit {
        /// The program's own message.
        detail: String,
    },
    /// The vendor cannot be reached.
    Network {
        /// The program's own message.
        detail: String,
    },
    /// The vendor's service failed.
    Service {
        /// The HTTP status, if it is known.
        status: Option<u16>,
        /// The program's own message.
        detail: String,
    },
    /// The connection broke in the middle of an answer.
    CutOff {
        /// The program's own message.
        detail: String,
    },
    /// The vendor rejected the request.
    Rejected {
        /// The program's own message.
        detail: String,
    },
    /// The conversation to resume does not exist.
    UnknownConversation {
        /// The program's own message.
        detail: String,
    },
    /// The program did not respond in time.
    Silent {
        /// How long.
        waited: Duration,
        /// What it was doing.
        during: &'static str,
    },
    /// The program wrote lines that are not JSON.
    Garbage {
        /// The beginning of the first such line.
        sample: String,
    },
    /// The program wrote a line over the length limit.
    LineTooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The program closed a pipe without exiting, or stopped reading its input.
    PipeClosed {
        /// Which pipe.
        which: &'static str,
    },
    /// The program exited unexpectedly.
    Crashed {
        /// The exit code; none after a signal.
        code: Option<i32>,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// Some processes of the agent could not be terminated.
    ProcessesLeft {
        /// How many processes.
        count: usize,
    },
    /// The program does not speak the protocol this driver expects.
    Protocol {
        /// What is different.
        detail: String,
    },
    /// The program could not be started.
    CannotStart {
        /// The system's error message.
        detail: String,
    },
    /// The rehearsal scenario is invalid, or has no entry for this call.
    Scenario {
        /// With file and line.
        detail: String,
    },
}

impl Failure {
    /// A failure of this agent.
    pub fn new(agent: AgentKind, cause: FailureCause) -> Self {
        Self { agent, cause }
    }

    /// The stable name of the cause, for programs.
    pub fn kind(&self) -> &'static str {
        match self.cause {
            FailureCause::NotInstalled => "not_installed",
            FailureCause::NotLoggedIn { .. } => "not_logged_in",
            FailureCause::FolderNotTrusted => "folder_not_trusted",
            FailureCause::UnknownModel { .. } => "unknown_model",
            FailureCause::RateLimited { .. } => "rate_limit",
            FailureCause::OutOfCredit { .. } => "out_of_credit",
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

    /// What the person can do about it, if anything.
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
            FailureCause::UnknownModel { .. } => {
                Some("choose another model, or remove the tiers from the configuration".to_owned())
            }
            FailureCause::RateLimited { until: None, .. } => Some("try again later".to_owned()),
            FailureCause::OutOfCredit { .. } => {
                Some("add credit to the account, or use another agent with --agent".to_owned())
            }
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
            FailureCause::RateLimited { until: Some(until), detail } => write_with_detail(
                f,
                format_args!("{agent} has reached its rate limit until {until}"),
                detail,
            ),
            FailureCause::RateLimited { until: None, detail } => {
                write_with_detail(f, format_args!("{agent} has reached its rate limit"), detail)
            }
            FailureCause::OutOfCredit { detail } => {
                write_with_detail(f, format_args!("{agent}'s account has no credit left"), detail)
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
                write_with_detail(f, format_args!("{agent}'s answer was cut off"), detail)
            }
            FailureCause::Rejected { detail } => {
                write_with_detail(f, format_args!("{agent}'s service rejected the request"), detail)
            }
            FailureCause::UnknownConversation { detail } => {
                write_with_detail(f, format_args!("{agent} cannot find the conversation"), detail)
            }
            FailureCause::Silent { waited, during } => {
                write!(
                    f,
                    "{agent} did not respond for {} s while {during}",
                    waited.as_secs_f32().ceil()
                )
            }
            FailureCause::Garbage { sample } => {
                write!(f, "{agent} wrote something other than its protocol: {sample:?}")
            }
            FailureCause::LineTooLong { limit } => {
                write!(f, "{agent} wrote a line of more than {limit} bytes")
            }
            FailureCause::PipeClosed { which } => {
                write!(f, "{agent} closed its {which} without exiting")
            }
            FailureCause::Crashed { code: Some(code), stderr } => write_with_detail(
                f,
                format_args!("{agent} exited unexpectedly with code {code}"),
                stderr,
            ),
            FailureCause::Crashed { code: None, stderr } => {
                write_with_detail(f, format_args!("{agent} was killed by a signal"), stderr)
            }
            FailureCause::ProcessesLeft { count } => {
                write!(f, "{count} processes started by {agent} could not be terminated")
            }
            FailureCause::Protocol { detail } => write_with_detail(
                f,
                format_args!("{agent} does not speak the expected protocol"),
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

/// Writes a sentence, followed by the program's own message if there is one.
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
