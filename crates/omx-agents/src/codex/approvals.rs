//! Approval requests of codex, and the response in the form that each expects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::items::TurnItems;
use crate::agent::ApprovalDecision;
use crate::approval::reach_of_all;
use crate::event::{ApprovalId, ApprovalRequest, TargetLocation};

/// The form of the response to a request.
#[derive(Clone, Debug, PartialEq)]
enum ResponseForm {
    /// `{"decision": "accept" | "decline"}`
    Decision,
    /// `{"action": "accept" | "decline"}`
    Elicitation,
    /// The granted permissions; these were requested.
    Permissions(Value),
    /// An answer to each of these questions.
    Questions(Vec<String>),
}

/// An approval request that waits for its response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingApproval {
    /// The JSON-RPC id of the request.
    pub(super) request: Value,
    /// The thread it belongs to.
    pub(super) thread: Option<String>,
    form: ResponseForm,
}

/// The approval requests that wait for a response.
#[derive(Debug, Default)]
pub(super) struct PendingApprovals {
    waiting: BTreeMap<ApprovalId, PendingApproval>,
    /// Counts processes: each numbers its requests from the start again.
    process: u32,
}

impl PendingApprovals {
    /// Drops the requests of the previous process.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.process += 1;
    }

    /// Records a request; none if it is not an approval request.
    pub(super) fn add_request(
        &mut self,
        request: Value,
        method: &str,
        params: &Value,
        folder: &Path,
        items: &TurnItems,
    ) -> Option<(ApprovalId, ApprovalRequest)> {
        let (ask, form) = match method {
            "item/commandExecution/requestApproval" => {
                (command_request(params), ResponseForm::Decision)
            }
            "item/fileChange/requestApproval" => {
                (edit_request(params, folder, items), ResponseForm::Decision)
            }
            "mcpServer/elicitation/request" => {
                (elicitation_request(params), ResponseForm::Elicitation)
            }
            "item/permissions/requestApproval" => (
                permissions_request(params),
                ResponseForm::Permissions(params["permissions"].clone()),
            ),
            "item/tool/requestUserInput" => user_input_request(params),
            _ => return None,
        };
        let id = ApprovalId(format!("{}-{request}", self.process));
        let thread = params["threadId"].as_str().map(str::to_owned);
        self.waiting.insert(id.clone(), PendingApproval { request, thread, form });
        Some((id, ask))
    }

    /// Drops a request that codex no longer waits for.
    pub(super) fn remove_resolved(&mut self, request: &Value) {
        self.waiting.retain(|_, waiting| waiting.request != *request);
    }

    /// Removes a request in order to respond to it.
    pub(super) fn take(&mut self, id: &ApprovalId) -> Option<PendingApproval> {
        self.waiting.remove(id)
    }
}

impl PendingApproval {
    /// The response, in the form that the request expects.
    pub(super) fn response(&self, decision: &ApprovalDecision) -> Value {
        match (&self.form, decision) {
            (ResponseForm::Decision, ApprovalDecision::Allow) => json!({"decision": "accept"}),
            // "cancel" would end the turn.
            (ResponseForm::Decision, ApprovalDecision::Deny(_)) => json!({"decision": "decline"}),
            (ResponseForm::Elicitation, ApprovalDecision::Allow) => {
                json!({"action": "accept", "content": {}, "_meta": null})
            }
            (ResponseForm::Elicitation, ApprovalDecision::Deny(_)) => {
                json!({"action": "decline", "content": null, "_meta": null})
            }
            (ResponseForm::Permissions(asked), ApprovalDecision::Allow) => {
                let fields = asked.as_object().into_iter().flatten();
                let granted: Map<String, Value> = fields
                    .filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                json!({"permissions": granted, "scope": "turn"})
            }
            (ResponseForm::Permissions(_), ApprovalDecision::Deny(_)) => {
                json!({"permissions": {}, "scope": "turn"})
            }
            (ResponseForm::Questions(questions), decision) => {
                let words = match decision {
                    ApprovalDecision::Allow => "Decide this yourself.",
                    ApprovalDecision::Deny(reason) => reason,
                };
                let answers = questions.iter().map(|id| (id.clone(), json!({"answers": [words]})));
                json!({"answers": Map::from_iter(answers)})
            }
        }
    }

    /// The reason of a denial, if the response has no room for it.
    pub(super) fn reason_to_steer<'a>(&self, decision: &'a ApprovalDecision) -> Option<&'a str> {
        match (&self.form, decision) {
            (ResponseForm::Questions(_), _) | (_, ApprovalDecision::Allow) => None,
            (_, ApprovalDecision::Deny(reason)) => {
                Some(reason.trim()).filter(|reason| !reason.is_empty())
            }
        }
    }
}

/// A command that codex asks about would run outside the sandbox: inside, codex
/// does not ask.
fn command_request(params: &Value) -> ApprovalRequest {
    match params["command"].as_str() {
        Some(command) => ApprovalRequest::Command {
            command: super::shell::unwrap_shell(command),
            location: TargetLocation::Outside,
        },
        None => {
            let host = params["networkApprovalContext"]["host"].as_str();
            let what = host.map_or_else(
                || reason_or(params, "run a command"),
                |host| format!("reach {host} over the network"),
            );
            ApprovalRequest::Other { what }
        }
    }
}

fn edit_request(params: &Value, folder: &Path, items: &TurnItems) -> ApprovalRequest {
    let mut paths: Vec<PathBuf> =
        params["itemId"].as_str().map(|id| items.paths_of_edit(id).to_vec()).unwrap_or_default();
    // Permission for a whole folder, for the rest of the conversation.
    paths.extend(params["grantRoot"].as_str().map(PathBuf::from));
    let reach = reach_of_all(folder, paths.iter().map(PathBuf::as_path));
    let paths = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    ApprovalRequest::Edit { paths, location: reach }
}

/// Codex asks for permission to use a tool in the form of an elicitation. A real
/// elicitation, which is a server's question to the person, has no such mark.
fn elicitation_request(params: &Value) -> ApprovalRequest {
    let server = params["serverName"].as_str().unwrap_or_default().to_owned();
    let message = params["message"].as_str().or(params["title"].as_str()).unwrap_or_default();
    if params["_meta"]["codex_approval_kind"] == "mcp_tool_call" {
        // The tool's name appears only in the sentence: … to run tool "add"?
        let tool = message.split('"').nth(1).unwrap_or_default().to_owned();
        return ApprovalRequest::Tool { server, tool };
    }
    ApprovalRequest::Other { what: format!("{server}: {message}") }
}

fn permissions_request(params: &Value) -> ApprovalRequest {
    ApprovalRequest::Other {
        what: format!("{}: {}", reason_or(params, "have more permissions"), params["permissions"]),
    }
}

fn user_input_request(params: &Value) -> (ApprovalRequest, ResponseForm) {
    let list = params["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = list.iter().filter_map(|one| one["question"].as_str()).collect();
    let ids = list.iter().filter_map(|one| one["id"].as_str()).map(str::to_owned).collect();
    (ApprovalRequest::Other { what: texts.join("; ") }, ResponseForm::Questions(ids))
}

/// The reason that codex gives, or this text.
fn reason_or(params: &Value, otherwise: &str) -> String {
    params["reason"].as_str().filter(|reason| !reason.is_empty()).unwrap_or(otherwise).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_request(method: &str, params: Value) -> (ApprovalRequest, PendingApproval) {
        let mut approvals = PendingApprovals::default();
        let folder = Path::new("/");
        let (id, ask) = approvals
            .add_request(json!(4), method, &params, folder, &TurnItems::default())
            .unwrap();
        (ask, approvals.take(&id).unwrap())
    }

    fn deny() -> ApprovalDecision {
        ApprovalDecision::Deny("not today".to_owned())
    }

    #[test]
    fn a_command_request_is_outside_and_expects_a_decision() {
        let params = json!({"command": "/bin/bash -lc 'touch x'", "cwd": "/", "threadId": "t"});
        let (ask, waiting) = parse_request("item/commandExecution/requestApproval", params);
        let command = "touch x".to_owned();
        assert_eq!(ask, ApprovalRequest::Command { command, location: TargetLocation::Outside });
        assert_eq!(waiting.response(&ApprovalDecision::Allow), json!({"decision": "accept"}));
        assert_eq!(waiting.response(&deny()), json!({"decision": "decline"}));
        assert_eq!(waiting.reason_to_steer(&deny()), Some("not today"));
        assert_eq!(waiting.thread.as_deref(), Some("t"));
    }

    #[test]
    fn an_edit_request_reaches_as_far_as_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let judge = |path: &str, grant: Value| {
            let mut items = TurnItems::default();
            let changes = json!([{"path": path, "kind": {"type": "add"}}]);
            items.started(&json!({"type": "fileChange", "id": "e", "changes": changes}));
            let params = json!({"itemId": "e", "grantRoot": grant});
            match edit_request(&params, folder.path(), &items) {
                ApprovalRequest::Edit { location: reach, .. } => reach,
                other => panic!("{other:?}"),
            }
        };
        let inside = folder.path().join("a").to_str().unwrap().to_owned();
        assert_eq!(judge(&inside, Value::Null), TargetLocation::Inside);
        assert_eq!(judge("/etc/x", Value::Null), TargetLocation::Outside);
        assert_eq!(judge(&inside, json!("/etc")), TargetLocation::Outside);
        // The files are unknown.
        let unknown =
            edit_request(&json!({"itemId": "other"}), folder.path(), &TurnItems::default());
        assert_eq!(
            unknown,
            ApprovalRequest::Edit { paths: vec![], location: TargetLocation::Outside }
        );
    }

    #[test]
    fn a_tool_request_differs_from_a_servers_own_question() {
        let method = "mcpServer/elicitation/request";
        let params = json!({
            "serverName": "tiny", "_meta": {"codex_approval_kind": "mcp_tool_call"},
            "message": "Allow the tiny MCP server to run tool \"add\"?"
        });
        let (ask, waiting) = parse_request(method, params);
        assert_eq!(
            ask,
            ApprovalRequest::Tool { server: "tiny".to_owned(), tool: "add".to_owned() }
        );
        assert_eq!(waiting.response(&ApprovalDecision::Allow)["action"], "accept");
        assert_eq!(waiting.response(&deny())["action"], "decline");
        let (ask, _) =
            parse_request(method, json!({"serverName": "tiny", "message": "Your name?"}));
        assert_eq!(ask, ApprovalRequest::Other { what: "tiny: Your name?".to_owned() });
    }

    #[test]
    fn only_requested_permissions_are_granted() {
        let permissions = json!({"network": null, "fileSystem": {"write": ["/x"]}});
        let params = json!({"reason": "to write", "permissions": permissions});
        let (ask, waiting) = parse_request("item/permissions/requestApproval", params);
        assert!(matches!(ask, ApprovalRequest::Other { what } if what.starts_with("to write: ")));
        let granted = json!({"permissions": {"fileSystem": {"write": ["/x"]}}, "scope": "turn"});
        assert_eq!(waiting.response(&ApprovalDecision::Allow), granted);
        assert_eq!(waiting.response(&deny()), json!({"permissions": {}, "scope": "turn"}));
    }

    #[test]
    fn a_question_is_answered_with_the_reason() {
        let params = json!({"questions": [{"id": "q", "question": "Which?"}, 5]});
        let (ask, waiting) = parse_request("item/tool/requestUserInput", params);
        assert_eq!(ask, ApprovalRequest::Other { what: "Which?".to_owned() });
        assert_eq!(
            waiting.response(&deny()),
            json!({"answers": {"q": {"answers": ["not today"]}}})
        );
        assert_eq!(waiting.reason_to_steer(&deny()), None);
    }

    #[test]
    fn an_answer_to_a_previous_process_is_dropped() {
        let mut approvals = PendingApprovals::default();
        let ask = |approvals: &mut PendingApprovals| {
            let method = "item/commandExecution/requestApproval";
            let params = json!({"command": "ls"});
            approvals
                .add_request(json!(0), method, &params, Path::new("/"), &TurnItems::default())
                .unwrap()
                .0
        };
        let old = ask(&mut approvals);
        approvals.clear();
        let new = ask(&mut approvals);
        assert_eq!(approvals.take(&old), None);
        approvals.remove_resolved(&json!(0));
        assert_eq!(approvals.take(&new), None);
    }
}
