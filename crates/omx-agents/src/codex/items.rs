//! Items: what codex does in a turn, as the app-server and `codex exec` report
//! it. The two spell the same items differently.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::shell;
use crate::event::{AgentEvent, CallId, ToolAction, ToolOutcome};

/// The running tool calls, and the files of each edit.
#[derive(Debug, Default)]
pub(super) struct TurnItems {
    started: BTreeSet<String>,
    edits: BTreeMap<String, Vec<PathBuf>>,
}

impl TurnItems {
    /// An item has started.
    pub(super) fn started(&mut self, item: &Value) -> Vec<AgentEvent> {
        let (Some(id), Some(tool)) = (item["id"].as_str(), parse_tool(item)) else {
            return Vec::new();
        };
        if let ToolAction::Edit(paths) = &tool {
            self.edits.insert(id.to_owned(), paths.clone());
        }
        if !self.started.insert(id.to_owned()) {
            return Vec::new();
        }
        vec![AgentEvent::ToolStarted { call: CallId(id.to_owned()), tool }]
    }

    /// An item is complete. Its start is reported as well if it was missed.
    pub(super) fn completed(&mut self, item: &Value) -> Vec<AgentEvent> {
        let mut events = self.started(item);
        let (Some(id), Some(tool)) = (item["id"].as_str(), parse_tool(item)) else { return events };
        self.started.remove(id);
        self.edits.remove(id);
        let end = parse_outcome(item);
        events.push(AgentEvent::ToolFinished { call: CallId(id.to_owned()), end });
        if let (ToolAction::Edit(paths), ToolOutcome::Succeeded) = (tool, end) {
            events.extend(paths.into_iter().map(AgentEvent::FileChanged));
        }
        events
    }

    /// The files of a running edit.
    pub(super) fn paths_of_edit(&self, id: &str) -> &[PathBuf] {
        self.edits.get(id).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The text of an agent message.
pub(super) fn message_text(item: &Value) -> Option<&str> {
    let speaks = matches!(item["type"].as_str()?, "agentMessage" | "agent_message");
    item["text"].as_str().filter(|text| speaks && !text.is_empty())
}

/// The tool of an item; none for reasoning, plans and messages.
fn parse_tool(item: &Value) -> Option<ToolAction> {
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    Some(match item["type"].as_str()? {
        "commandExecution" | "command_execution" => {
            ToolAction::Command(shell::unwrap_shell(&text("command")))
        }
        "fileChange" | "file_change" => ToolAction::Edit(changed_paths(&item["changes"])),
        "mcpToolCall" | "mcp_tool_call" => {
            ToolAction::Mcp { server: text("server"), tool: text("tool") }
        }
        "dynamicToolCall" | "collabAgentToolCall" | "collab_tool_call" => {
            ToolAction::Other(text("tool"))
        }
        "webSearch" | "web_search" => ToolAction::Other("web_search".to_owned()),
        "imageView" => ToolAction::Other("view_image".to_owned()),
        "imageGeneration" => ToolAction::Other("image_generation".to_owned()),
        _ => return None,
    })
}

/// The files of a change; both names of a moved file.
fn changed_paths(changes: &Value) -> Vec<PathBuf> {
    let changes = changes.as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |change: &Value| {
        let names = [&change["path"], &change["kind"]["move_path"]];
        names.map(|name| name.as_str().map(PathBuf::from))
    };
    changes.iter().flat_map(named).flatten().collect()
}

fn parse_outcome(item: &Value) -> ToolOutcome {
    let code = item["exitCode"].as_i64().or(item["exit_code"].as_i64());
    match (item["status"].as_str(), code) {
        (Some("declined"), _) => ToolOutcome::Failed,
        // Codex reports -1 for a command that was terminated.
        (_, Some(code)) if code >= 0 => ToolOutcome::Exited(code),
        (Some("completed") | None, None) => ToolOutcome::Succeeded,
        _ => ToolOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exit_codes_are_read_in_both_spellings() {
        for (item, end) in [
            (
                json!({"type": "commandExecution", "exitCode": 3, "status": "failed"}),
                ToolOutcome::Exited(3),
            ),
            (
                json!({"type": "command_execution", "exit_code": 0, "status": "completed"}),
                ToolOutcome::Exited(0),
            ),
            (
                json!({"type": "commandExecution", "exitCode": -1, "status": "failed"}),
                ToolOutcome::Failed,
            ),
            (
                json!({"type": "commandExecution", "exitCode": null, "status": "declined"}),
                ToolOutcome::Failed,
            ),
        ] {
            let mut item = item;
            item["id"] = "call".into();
            item["command"] = "/bin/bash -lc 'make it'".into();
            let call = CallId("call".to_owned());
            let tool = ToolAction::Command("make it".to_owned());
            let mut items = TurnItems::default();
            assert_eq!(
                items.started(&item),
                [AgentEvent::ToolStarted { call: call.clone(), tool }]
            );
            assert_eq!(items.completed(&item), [AgentEvent::ToolFinished { call, end }]);
        }
    }

    #[test]
    fn a_successful_edit_reports_its_files() {
        let changes = json!([
            {"path": "/p/a", "kind": {"type": "update", "move_path": "/p/b"}},
            {"path": "/p/c", "kind": "add"}, {"kind": 7}, 1
        ]);
        let mut item = json!({"type": "fileChange", "id": "e", "changes": changes});
        let mut items = TurnItems::default();
        assert_eq!(items.started(&item).len(), 1);
        assert_eq!(items.paths_of_edit("e"), ["/p/a", "/p/b", "/p/c"].map(PathBuf::from));
        item["status"] = "completed".into();
        let changed = items.completed(&item).into_iter().skip(1);
        let files = ["/p/a", "/p/b", "/p/c"].map(|path| AgentEvent::FileChanged(path.into()));
        assert_eq!(changed.collect::<Vec<_>>(), files);
        item["status"] = "failed".into();
        let events = items.completed(&item);
        assert!(
            !events.iter().any(|event| matches!(event, AgentEvent::FileChanged(_))),
            "{events:?}"
        );
        assert!(items.paths_of_edit("e").is_empty());
    }

    #[test]
    fn items_that_are_not_tools_emit_nothing() {
        let mut items = TurnItems::default();
        for item in [json!({"type": "reasoning", "id": "r"}), json!({"id": "r"}), json!(null)] {
            assert_eq!(items.started(&item), []);
            assert_eq!(items.completed(&item), []);
        }
        assert_eq!(message_text(&json!({"type": "agentMessage", "text": ""})), None);
        assert_eq!(message_text(&json!({"type": "agent_message", "text": "hi"})), Some("hi"));
    }
}
