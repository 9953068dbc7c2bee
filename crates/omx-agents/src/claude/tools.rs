//! Translates claude's tools into the common terms.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::approval::{reach, reach_of_all};
use crate::event::{ApprovalRequest, TargetLocation, ToolAction, ToolOutcome};

/// How much of an unknown tool's input is shown, in characters.
const SHOWN: usize = 200;

/// The action of a tool, from its name and input.
pub(super) fn parse_tool(name: &str, input: &Value) -> ToolAction {
    match name {
        "Bash" => ToolAction::Command(input["command"].as_str().unwrap_or_default().to_owned()),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let named = ["file_path", "notebook_path"].map(|field| input[field].as_str());
            ToolAction::Edit(named.into_iter().flatten().map(PathBuf::from).collect())
        }
        _ => match name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
            Some((server, tool)) => {
                ToolAction::Mcp { server: server.to_owned(), tool: tool.to_owned() }
            }
            None => ToolAction::Other(name.to_owned()),
        },
    }
}

/// The approval request behind `can_use_tool`.
pub(super) fn parse_request(request: &Value, folder: &Path) -> ApprovalRequest {
    let name = request["tool_name"].as_str().unwrap_or_default();
    let input = &request["input"];
    // Files that could extend the agent's permissions: settings, hooks, git's own.
    let sensitive = request["decision_reason_type"] == "safetyCheck";
    match parse_tool(name, input) {
        ToolAction::Edit(paths) => {
            let place = reach_of_all(folder, paths.iter().map(PathBuf::as_path));
            ApprovalRequest::Edit {
                paths: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
                location: if sensitive { TargetLocation::Outside } else { place },
            }
        }
        ToolAction::Command(command) => {
            let unboxed = input["dangerouslyDisableSandbox"] == true;
            let blocked = request["blocked_path"].as_str().map(Path::new);
            let away = blocked.is_some_and(|path| reach(folder, path) == TargetLocation::Outside);
            let outside = sensitive || unboxed || away;
            ApprovalRequest::Command {
                command,
                location: if outside { TargetLocation::Outside } else { TargetLocation::Inside },
            }
        }
        ToolAction::Mcp { server, tool } => ApprovalRequest::Tool { server, tool },
        ToolAction::Other(name) => {
            ApprovalRequest::Other { what: describe_request(&name, request) }
        }
    }
}

fn describe_request(name: &str, request: &Value) -> String {
    let input = &request["input"];
    let question = input["questions"][0]["question"].as_str();
    let about = request["description"].as_str().filter(|text| !text.is_empty());
    let mut about =
        question.or(about).map_or_else(|| input.to_string(), str::to_owned).replace('\n', " ");
    if let Some((end, _)) = about.char_indices().nth(SHOWN) {
        about.truncate(end);
    }
    match request["decision_reason"].as_str() {
        Some(reason) => format!("{name}: {about} ({reason})"),
        None => format!("{name}: {about}"),
    }
}

/// How a tool call ended, from its `tool_result`.
pub(super) fn parse_outcome(tool: &ToolAction, result: &Value) -> ToolOutcome {
    let failed = result["is_error"] == true;
    match tool {
        ToolAction::Command(_) if failed => {
            parse_exit_code(&result["content"]).map_or(ToolOutcome::Failed, ToolOutcome::Exited)
        }
        ToolAction::Command(_) => ToolOutcome::Exited(0),
        _ if failed => ToolOutcome::Failed,
        _ => ToolOutcome::Succeeded,
    }
}

/// A failed command is reported as `Exit code 3`, followed by its output.
fn parse_exit_code(content: &Value) -> Option<i64> {
    let first = content.as_str()?.lines().next()?;
    first.strip_prefix("Exit code ")?.trim().parse().ok()
}

/// The files that a successful tool call changed.
pub(super) fn changed_paths(tool: ToolAction, line: &Value) -> Vec<PathBuf> {
    let ToolAction::Edit(paths) = tool else { return Vec::new() };
    // The result has the real path; the input may be relative.
    match line["tool_use_result"]["filePath"].as_str() {
        Some(path) if paths.len() == 1 => vec![path.into()],
        _ => paths,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tools_are_recognized_by_name() {
        assert_eq!(
            parse_tool("Bash", &json!({"command": "ls"})),
            ToolAction::Command("ls".to_owned())
        );
        let edit = ToolAction::Edit(vec!["a".into()]);
        assert_eq!(parse_tool("Edit", &json!({"file_path": "a"})), edit);
        assert_eq!(parse_tool("NotebookEdit", &json!({"notebook_path": "a"})), edit);
        let own = ToolAction::Mcp { server: "omx".to_owned(), tool: "state_read__x".to_owned() };
        assert_eq!(parse_tool("mcp__omx__state_read__x", &json!({})), own);
        assert_eq!(parse_tool("mcp__odd", &json!([])), ToolAction::Other("mcp__odd".to_owned()));
    }

    #[test]
    fn a_failed_command_has_an_exit_code_if_it_ran() {
        let command = ToolAction::Command(String::new());
        let failed = |content: &str| json!({"is_error": true, "content": content});
        assert_eq!(parse_outcome(&command, &failed("Exit code 3\nno")), ToolOutcome::Exited(3));
        assert_eq!(parse_outcome(&command, &failed("not today")), ToolOutcome::Failed);
        assert_eq!(
            parse_outcome(&command, &json!({"is_error": true, "content": [1]})),
            ToolOutcome::Failed
        );
        assert_eq!(parse_outcome(&command, &json!({})), ToolOutcome::Exited(0));
        assert_eq!(parse_outcome(&ToolAction::Edit(vec![]), &json!({})), ToolOutcome::Succeeded);
    }

    /// conductor.md, what agents may do: inside its folder, and nothing that
    /// would widen what it may.
    #[test]
    fn requests_are_inside_only_if_they_stay_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let write = |path: &str, kind: &str| {
            let input = json!({"file_path": path});
            let request =
                json!({"tool_name": "Write", "input": input, "decision_reason_type": kind});
            match parse_request(&request, folder) {
                ApprovalRequest::Edit { location: reach, .. } => reach,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(write("new.txt", "other"), TargetLocation::Inside);
        assert_eq!(write("../new.txt", "other"), TargetLocation::Outside);
        assert_eq!(write("/etc/passwd", "workingDir"), TargetLocation::Outside);
        assert_eq!(write(".claude/settings.json", "safetyCheck"), TargetLocation::Outside);
        let run = |input: Value, blocked: Value| {
            let request = json!({"tool_name": "Bash", "input": input, "blocked_path": blocked});
            match parse_request(&request, folder) {
                ApprovalRequest::Command { location: reach, .. } => reach,
                other => panic!("{other:?}"),
            }
        };
        let plain = json!({"command": "make"});
        assert_eq!(run(plain.clone(), Value::Null), TargetLocation::Inside);
        assert_eq!(run(plain.clone(), json!(folder.join("x"))), TargetLocation::Inside);
        assert_eq!(run(plain, json!("/etc/passwd")), TargetLocation::Outside);
        let unboxed = json!({"command": "make", "dangerouslyDisableSandbox": true});
        assert_eq!(run(unboxed, Value::Null), TargetLocation::Outside);
    }

    #[test]
    fn other_requests_are_described() {
        let request = json!({"tool_name": "Read", "input": {"file_path": "/etc/hosts"},
            "description": "/etc/hosts", "decision_reason": "outside"});
        let ApprovalRequest::Other { what } = parse_request(&request, Path::new("/")) else {
            panic!()
        };
        assert_eq!(what, "Read: /etc/hosts (outside)");
        let questions = json!([{"question": "Which\none?"}]);
        let request = json!({"tool_name": "AskUserQuestion", "input": {"questions": questions}});
        let ApprovalRequest::Other { what } = parse_request(&request, Path::new("/")) else {
            panic!()
        };
        assert_eq!(what, "AskUserQuestion: Which one?");
    }
}
