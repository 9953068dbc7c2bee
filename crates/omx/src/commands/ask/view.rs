//! Shows a question in progress to a person or a program.

use std::io::IsTerminal;

use omx_agents::event::{AgentEvent, ToolAction};
use omx_agents::{AgentKind, Failure, json};
use omx_conductor::ask::{AskError, AskReply, AskRequest};
use omx_kernel::approval::AllowLevel;
use omx_kernel::confinement::WorkspaceAccess;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::printable;

/// Shows progress on a terminal, or prints events for a program.
pub(super) struct AskView {
    kind: AgentKind,
    format: Format,
    person: bool,
}

impl AskView {
    pub(super) fn new(kind: AgentKind, format: Format) -> Self {
        Self { kind, format, person: std::io::stderr().is_terminal() && format == Format::Text }
    }

    /// Prints the effective settings before anything happens.
    pub(super) fn begins(&self, question: &AskRequest, confinement: &str) {
        let opening = &question.opening;
        let (allow, access) = (opening.allow, opening.sandbox.access);
        if self.person {
            let allowed = match (access, allow) {
                (WorkspaceAccess::ReadOnly, _) => "may read and run commands; can change nothing",
                (_, AllowLevel::Edits) => "may edit files here",
                (_, AllowLevel::Commands) => "may edit files and run commands here",
                (_, AllowLevel::All) => "may do anything: its own safeguards are off",
            };
            output::note(&format!("{}: {allowed}", self.kind));
            output::note(confinement);
        } else if allow == AllowLevel::All && self.format == Format::Text {
            output::note(&format!("{}: its own safeguards are off (--allow all)", self.kind));
        } else if confinement.starts_with("NOT") && self.format == Format::Text {
            output::note(confinement);
        }
    }

    pub(super) fn event(&self, event: &AgentEvent) {
        if self.format == Format::Json {
            line(&json::event_object(event));
            return;
        }
        if !self.person {
            return;
        }
        let words = match event {
            AgentEvent::Started { conversation, .. } => format!("conversation {conversation}"),
            AgentEvent::ToolStarted { tool, .. } => match tool {
                ToolAction::Command(line) => format!("runs {}", first_line(line)),
                ToolAction::Edit(paths) => {
                    let names: Vec<_> =
                        paths.iter().map(|path| path.display().to_string()).collect();
                    format!("edits {}", names.join(", "))
                }
                ToolAction::Mcp { server, tool } => format!("calls {server} {tool}"),
                ToolAction::Other(name) => format!("uses {name}"),
            },
            AgentEvent::Retrying(trouble) => format!("retrying: {trouble}"),
            _ => return,
        };
        output::note(&format!("{}: {}", self.kind, printable(&words)));
    }

    pub(super) fn reply(&self, reply: &AskReply, kept: &str) -> Exit {
        if self.format == Format::Json {
            return line(&json!({
                "event": "answer",
                "text": reply.text,
                "result": reply.result,
                "conversation": reply.conversation.as_ref().map(|id| id.as_str()),
                "artifact": kept,
                "refused": reply.refused.iter().map(json::approval_object).collect::<Vec<_>>(),
                "usage": reply.usage,
            }));
        }
        for ask in &reply.refused {
            output::note(&format!(
                "denied: {}",
                printable(&json::approval_object(ask).to_string())
            ));
        }
        let answer = match &reply.result {
            Some(result) => serde_json::to_string_pretty(result).unwrap_or_default(),
            None => reply.text.trim_end().to_owned(),
        };
        let exit = output::text(&format!("{answer}\n"));
        if self.person {
            output::note(&format!("saved to {kept}"));
        }
        exit
    }

    pub(super) fn no_reply(&self, no_reply: &AskError) -> Exit {
        match no_reply {
            AskError::Failed(trouble) => {
                self.report_failure(trouble);
                if trouble.kind() == "rate_limit" { Exit::Limit } else { Exit::Failed }
            }
            AskError::WrongResult(problem) => {
                let words = format!(
                    "{} returned no valid result, even after a retry: {problem}",
                    self.kind
                );
                self.failed(
                    &json!({"event": "failed", "kind": "wrong_result", "error": words}),
                    &words,
                );
                Exit::Failed
            }
            AskError::Interrupted(conversation) => {
                let id = conversation.as_ref().map(|id| id.as_str());
                let hint = id.map(|id| format!("; resume with --resume {id}")).unwrap_or_default();
                let words = format!("interrupted{hint}");
                let object = json!({"event": "interrupted", "conversation": id});
                self.failed(&object, &words);
                Exit::Interrupted
            }
        }
    }

    fn report_failure(&self, failure: &Failure) {
        let remedy = failure.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
        let words = format!("{failure}{remedy} [{}]", failure.kind());
        self.failed(&json::failure_object("failed", failure), &words);
    }

    fn failed(&self, object: &Value, words: &str) {
        match self.format {
            Format::Json => {
                line(object);
            }
            Format::Text => output::note(&format!("error: {}", printable(words))),
        }
    }
}

fn line(object: &Value) -> Exit {
    output::object(object)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
