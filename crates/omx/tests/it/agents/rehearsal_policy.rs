//! What the rehearsal agent may do, and how it uses tools.

use std::fs;

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{ApprovalRequest, TargetLocation, ToolOutcome};
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;

use super::conversation::{TestConversation, conversation_spec};
use super::rehearsal::playing;
use super::rehearsal_stage::RehearsalStage;
use super::stage::DriverStage;

const REACHING: &str = r#"
[[entry]]
do = [
    { write = { path = "inside.txt", content = "in" } },
    { write = { path = "../outside.txt", content = "out" } },
    { run = { command = "touch ran" } },
    { mcp = { server = "other", tool = "state_list_active" } },
    { say = "{{output}}" },
]
"#;

fn reaching(
    allow: AllowLevel,
    decision: ApprovalDecision,
) -> (RehearsalStage, Vec<ApprovalRequest>, Vec<ToolOutcome>, String) {
    let stage = playing(REACHING);
    let mut spec = conversation_spec(&stage, ConversationStart::New, allow);
    spec.servers[0].name = "other".to_owned();
    let mut chat = TestConversation::open(&stage, spec);
    chat.agent.send(AgentMessage::text("go"));
    let mut asks = Vec::new();
    let answer = loop {
        let next = chat.until("an approval or the end", |event| {
            matches!(event, AgentEvent::ApprovalNeeded { .. } | AgentEvent::TurnFinished(_))
        });
        match next {
            AgentEvent::ApprovalNeeded { approval, ask } => {
                asks.push(ask);
                chat.agent.answer(approval, decision.clone());
            }
            AgentEvent::TurnFinished(answer) => break answer.text,
            _ => unreachable!(),
        }
    };
    let ends = chat.seen.iter().filter_map(|event| match event {
        AgentEvent::ToolFinished { end, .. } => Some(*end),
        _ => None,
    });
    let ends = ends.collect();
    assert_eq!(chat.end(), None);
    (stage, asks, ends, answer)
}

/// The tool's output.
const NOTHING_ACTIVE: &str = "{\"active_modes\":[],\"entries\":[]}";

fn all_asks() -> [ApprovalRequest; 3] {
    [
        ApprovalRequest::Edit {
            paths: vec!["../outside.txt".to_owned()],
            location: TargetLocation::Outside,
        },
        ApprovalRequest::Command {
            command: "touch ran".to_owned(),
            location: TargetLocation::Inside,
        },
        ApprovalRequest::Tool { server: "other".to_owned(), tool: "state_list_active".to_owned() },
    ]
}

#[test]
fn everything_but_edits_in_its_folder_needs_approval() {
    for allow in [AllowLevel::Edits, AllowLevel::Commands] {
        let (stage, asks, ends, answer) = reaching(allow, ApprovalDecision::Allow);
        assert_eq!(asks, all_asks());
        let well = ToolOutcome::Succeeded;
        assert_eq!(ends, [well, well, ToolOutcome::Exited(0), well]);
        assert_eq!(answer, NOTHING_ACTIVE);
        assert_eq!(fs::read_to_string(stage.folder().join("outside.txt")).unwrap(), "out");
        assert!(stage.root().join("ran").exists());
    }
}

#[test]
fn a_denied_step_has_no_effect_and_the_scenario_continues() {
    let (stage, asks, ends, answer) =
        reaching(AllowLevel::Commands, ApprovalDecision::Deny("not on a Sunday".to_owned()));
    assert_eq!(asks, all_asks());
    let failed = ToolOutcome::Failed;
    assert_eq!(ends, [ToolOutcome::Succeeded, failed, failed, failed]);
    assert_eq!(answer, "not on a Sunday");
    assert!(stage.root().join("inside.txt").exists());
    assert!(!stage.folder().join("outside.txt").exists());
    assert!(!stage.root().join("ran").exists());
}

#[test]
fn with_everything_allowed_nothing_needs_approval() {
    let (stage, asks, _, answer) =
        reaching(AllowLevel::All, ApprovalDecision::Deny("never asked".to_owned()));
    assert_eq!((asks.len(), answer.as_str()), (0, NOTHING_ACTIVE));
    assert!(stage.folder().join("outside.txt").exists());
    assert!(stage.root().join("ran").exists());
}

#[test]
fn a_link_out_of_the_folder_is_outside() {
    let stage = playing("[[entry]]\ndo = [{ write = { path = \"link/a\", content = \"\" } }]");
    std::os::unix::fs::symlink(stage.folder(), stage.root().join("link")).unwrap();
    let mut chat = TestConversation::new(&stage);
    chat.turn("go");
    let requested = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
    assert_eq!(chat.seen.iter().filter(|event| requested(event)).count(), 1);
    assert!(!stage.folder().join("a").exists());
    assert_eq!(chat.end(), None);
}

#[test]
fn a_tool_that_cannot_be_called_fails_in_time() {
    let stage = playing(
        r#"
        [[entry]]
        do = [
            { mcp = { server = "nobody", tool = "t" } }, { say = "{{output}}" },
            { mcp = { server = "silent", tool = "t", timeout_s = 1 } }, { say = "{{output}}" },
            { mcp = { server = "gone", tool = "t" } }, { say = "{{output}}" },
            { mcp = { server = "none", tool = "t" } }, { say = "{{output}}" },
            { mcp = { tool = "no_such_tool" } }, { say = "{{output}}" },
        ]
        "#,
    );
    let mut spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::All);
    let omx = spec.servers[0].clone();
    for (name, program, arg) in
        [("silent", "sleep", "1000"), ("gone", "sh", "-c :"), ("none", "/nonexistent", "")]
    {
        let mut server = omx.clone();
        (server.name, server.program) = (name.to_owned(), program.into());
        server.args = arg.split_whitespace().map(str::to_owned).collect();
        spec.servers.push(server);
    }
    let mut chat = TestConversation::open(&stage, spec);
    let last = chat.turn("go").text();
    let texts = chat.seen.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let message: Vec<_> = texts.collect();
    assert_eq!(message[0], "no MCP server \"nobody\"");
    assert_eq!(message[1], "MCP server \"silent\": initialize timed out");
    assert!(message[2].starts_with("MCP server \"gone\": "), "{message:?}");
    assert_eq!(message[3], "MCP server \"none\": No such file or directory (os error 2)");
    assert!(last.contains("no_such_tool"), "{last}");
    let failed = |event: &&AgentEvent| {
        matches!(event, AgentEvent::ToolFinished { end: ToolOutcome::Failed, .. })
    };
    assert_eq!(chat.seen.iter().filter(failed).count(), 5, "{:#?}", chat.seen);
    assert_eq!(chat.end(), None);
}
