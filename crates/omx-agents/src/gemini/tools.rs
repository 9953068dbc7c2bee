//! Gemini's tool calls, and the approval requests for them.

use std::path::{Path, PathBuf};

use omx_kernel::approval::{ApprovalRequest, TargetLocation};
use serde_json::Value;

use crate::agent::McpServerSpec;
use crate::approval::{reach, reach_of_all};
use crate::event::{CallId, ToolAction, ToolOutcome};

/// A tool call, as reported in updates and permission requests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GeminiToolCall {
    pub(super) id: CallId,
    pub(super) tool: ToolAction,
    /// The first text that comes with it.
    text: String,
    status: String,
}

impl GeminiToolCall {
    /// Parses a tool call; `servers` are the MCP servers that omx gave gemini.
    pub(super) fn parse(reported: &Value, servers: &[McpServerSpec]) -> Option<Self> {
        let id = reported["toolCallId"].as_str()?;
        let title = reported["title"].as_str().unwrap_or_default();
        let contents = reported["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let tool = match reported["kind"].as_str() {
            Some("execute") if !title.is_empty() => ToolAction::Command(title.to_owned()),
            Some("edit" | "delete" | "move") => ToolAction::Edit(named_paths(reported, contents)),
            _ => parse_mcp_tool(id, title, servers)
                .unwrap_or_else(|| ToolAction::Other(tool_name(id).to_owned())),
        };
        let text = contents.iter().find_map(|content| content["content"]["text"].as_str());
        Some(Self {
            id: CallId(id.to_owned()),
            tool,
            text: text.unwrap_or_default().to_owned(),
            status: reported["status"].as_str().unwrap_or_default().to_owned(),
        })
    }

    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<ToolOutcome> {
        let reported = match self.status.as_str() {
            "completed" => ToolOutcome::Succeeded,
            "failed" => return Some(ToolOutcome::Failed),
            _ => return None,
        };
        if !matches!(self.tool, ToolAction::Command(_)) {
            return Some(reported);
        }
        // Gemini reports the exit code only of a command without output.
        let code = self.text.strip_prefix("Command exited with code: ");
        Some(if let Some(code) = code.and_then(|code| code.trim().parse().ok()) {
            ToolOutcome::Exited(code)
        } else if ["Command cancelled", "Command terminated by signal", "Command failed"]
            .iter()
            .any(|beginning| self.text.starts_with(beginning))
        {
            ToolOutcome::Failed
        } else {
            reported
        })
    }

    /// The approval request for it, in this folder.
    pub(super) fn request(&self, folder: &Path, title: &str) -> ApprovalRequest {
        match &self.tool {
            ToolAction::Command(command) => ApprovalRequest::Command {
                command: command.clone(),
                location: command_reach(&self.text, folder),
            },
            ToolAction::Edit(paths) => ApprovalRequest::Edit {
                paths: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
                location: reach_of_all(folder, paths.iter().map(PathBuf::as_path)),
            },
            ToolAction::Mcp { server, tool } => {
                ApprovalRequest::Tool { server: server.clone(), tool: tool.clone() }
            }
            ToolAction::Other(name) => ApprovalRequest::Other {
                what: if title.is_empty() { name.clone() } else { title.to_owned() },
            },
        }
    }
}

/// The files that a call names, without duplicates.
fn named_paths(reported: &Value, contents: &[Value]) -> Vec<PathBuf> {
    let locations = reported["locations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut paths = Vec::new();
    for path in contents.iter().chain(locations).filter_map(|item| item["path"].as_str()) {
        if !paths.contains(&PathBuf::from(path)) {
            paths.push(PathBuf::from(path));
        }
    }
    paths
}

/// The tool's name, which is the prefix of a call's id.
fn tool_name(id: &str) -> &str {
    id.split_once("__").map_or(id, |(name, _)| name)
}

/// A tool of an MCP server. The id is `mcp_SERVER_TOOL__…` and the title
/// `TOOL (SERVER MCP Server)`, unless the arguments contain a `command`, which is
/// then the title. So the model controls the title, and it counts only if it
/// agrees with the id.
fn parse_mcp_tool(id: &str, title: &str, servers: &[McpServerSpec]) -> Option<ToolAction> {
    let joined = id.strip_prefix("mcp_")?;
    let titled = title.strip_suffix(" MCP Server)").and_then(|title| title.rsplit_once(" ("));
    if let Some((tool, server)) = titled
        && joined.starts_with(&format!("{}_{}__", sanitize_name(server), sanitize_name(tool)))
    {
        return Some(ToolAction::Mcp { server: server.to_owned(), tool: tool.to_owned() });
    }
    let (name, _) = joined.rsplit_once("__")?;
    servers.iter().find_map(|server| {
        let tool = name.strip_prefix(&sanitize_name(&server.name))?.strip_prefix('_')?;
        Some(ToolAction::Mcp { server: server.name.clone(), tool: tool.to_owned() })
    })
}

/// A name with unsupported characters replaced, as gemini does it.
fn sanitize_name(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-.:".contains(letter);
    name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect()
}

/// Where a command would run: gemini writes `[in FOLDER]` if the model named a
/// folder, else `[current working directory FOLDER]`, followed by other text.
fn command_reach(text: &str, folder: &Path) -> TargetLocation {
    let named = text.strip_prefix("[in ").or(text.strip_prefix("[current working directory "));
    let Some((named, rest)) = named.and_then(|text| text.split_once(']')) else {
        return TargetLocation::Outside;
    };
    // A folder with a bracket in its name is ambiguous.
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return TargetLocation::Outside;
    }
    reach(folder, Path::new(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn servers() -> Vec<McpServerSpec> {
        vec![McpServerSpec {
            name: "omx".to_owned(),
            program: "omx".into(),
            args: Vec::new(),
            env: Default::default(),
        }]
    }

    fn read(reported: &Value) -> GeminiToolCall {
        GeminiToolCall::parse(reported, &servers()).unwrap()
    }

    fn tool(id: &str, title: &str) -> ToolAction {
        read(&json!({"toolCallId": id, "title": title, "kind": "other"})).tool
    }

    fn of_server(server: &str, tool: &str) -> ToolAction {
        ToolAction::Mcp { server: server.to_owned(), tool: tool.to_owned() }
    }

    #[test]
    fn mcp_tools_are_recognized_by_id_and_title() {
        let state = tool("mcp_omx_state_write__fc_3", "state_write (omx MCP Server)");
        assert_eq!(state, of_server("omx", "state_write"));
        assert_eq!(tool("mcp_my_db_q__1", "q (my db MCP Server)"), of_server("my db", "q"));
        // A tool with a `command` argument.
        assert_eq!(tool("mcp_omx_run__1", "ls -l"), of_server("omx", "run"));
    }

    #[test]
    fn no_other_tool_is_mistaken_for_one_of_ours() {
        let other = |name: &str| ToolAction::Other(name.to_owned());
        assert_eq!(tool("mcp_evil_do__1", "do (omx MCP Server)"), other("mcp_evil_do"));
        assert_eq!(tool("mcp_evil__omx_do__1", "x (omx MCP Server)"), other("mcp_evil"));
        assert_eq!(tool("web_fetch__1", "state_write (omx MCP Server)"), other("web_fetch"));
        let shell = json!({"toolCallId": "mcp_omx_x__1", "kind": "execute",
            "title": "x (omx MCP Server)"});
        assert_eq!(read(&shell).tool, ToolAction::Command("x (omx MCP Server)".to_owned()));
        assert_eq!(
            tool("mcp_omx_evil_do__1", "do (omx_evil MCP Server)"),
            of_server("omx_evil", "do")
        );
    }

    #[test]
    fn the_files_of_an_edit_are_listed_once() {
        let reported = json!({"toolCallId": "write_file__1", "kind": "edit", "title": "Writing",
            "content": [{"type": "diff", "path": "/p/a"}], "locations": [{"path": "/p/a"}]});
        assert_eq!(read(&reported).tool, ToolAction::Edit(vec!["/p/a".into()]));
        let ask = read(&reported).request(Path::new("/nowhere"), "Writing");
        assert_eq!(
            ask,
            ApprovalRequest::Edit {
                paths: vec!["/p/a".to_owned()],
                location: TargetLocation::Outside
            }
        );
    }

    #[test]
    fn command_outcomes_are_as_exact_as_gemini_reports_them() {
        let end = |status: &str, text: &str| {
            read(&json!({"toolCallId": "x", "kind": "execute", "title": "ls", "status": status,
                "content": [{"type": "content", "content": {"type": "text", "text": text}}]}))
            .outcome()
        };
        assert_eq!(end("in_progress", ""), None);
        assert_eq!(end("completed", ""), Some(ToolOutcome::Succeeded));
        assert_eq!(end("completed", "Command exited with code: 3"), Some(ToolOutcome::Exited(3)));
        assert_eq!(end("completed", "Command cancelled by user."), Some(ToolOutcome::Failed));
        assert_eq!(end("failed", "no such file"), Some(ToolOutcome::Failed));
    }

    #[test]
    fn an_ambiguous_command_folder_counts_as_outside() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let at = |text: &str| command_reach(text, folder.path());
        let here = format!("[current working directory {}] (why)", folder.path().display());
        assert_eq!(at(&here), TargetLocation::Inside);
        assert_eq!(at("[in sub]"), TargetLocation::Inside);
        assert_eq!(at("[in sub] (why]) [background]"), TargetLocation::Inside);
        assert_eq!(at("[in ..] (why)"), TargetLocation::Outside);
        assert_eq!(at("[in /etc]"), TargetLocation::Outside);
        assert_eq!(at("[in sub]/../..] (why)"), TargetLocation::Outside);
        assert_eq!(at("[in sub"), TargetLocation::Outside);
        assert_eq!(at(""), TargetLocation::Outside);
    }
}
