//! The page about the rehearsal agent is correct: the test runs each of its blocks.

use std::path::Path;

use omx_agents::agent::MessageLabels;
use omx_agents::event::{ApprovalRequest, ToolAction, ToolOutcome};
use omx_agents::{Agent, AgentEvent, AgentKind, AgentMessage};
use omx_rehearsal::check_coverage;
use omx_rehearsal::driver;

use super::conversation::TestConversation;
use super::rehearsal_stage::RehearsalStage;
use super::stage::DriverStage;

struct Block {
    line: usize,
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rehearsal.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(language) if !inside => blocks.push(Block {
                line: number + 1,
                language: language.to_owned(),
                text: String::new(),
            }),
            Some(_) => {}
            None if inside => {
                let text = &mut blocks.last_mut().unwrap().text;
                *text += line;
                text.push('\n');
            }
            None => {}
        }
        inside ^= line.starts_with("```");
    }
    blocks
}

#[test]
fn every_block_of_the_page_is_correct() {
    let mut stage = None;
    let mut seen = Vec::new();
    for block in blocks() {
        seen.push(block.language.clone());
        let text = block.text.as_str();
        let at = format!("docs/rehearsal.md:{}", block.line);
        match block.language.as_str() {
            "toml" => stage = Some(RehearsalStage::playing("scenario.toml", text)),
            "text" => assert_eq!(played(stage.as_ref().unwrap(), text), text, "{at}"),
            "error" => {
                let stage = stage.as_ref().unwrap();
                let fault = driver(AgentKind::Rehearsal).find(&stage.agent_env()).unwrap_err();
                assert_eq!(fault.kind(), "scenario");
                assert_eq!(without_folder(stage, &fault.to_string()), text.trim_end(), "{at}");
            }
            "unplayed" => {
                let stage = stage.as_ref().unwrap();
                let faults = check_coverage(&stage.scenario(), &stage.kept()).unwrap_err();
                let faults: Vec<_> = faults.iter().map(|fault| format!("{fault}\n")).collect();
                assert_eq!(without_folder(stage, &faults.concat()), text, "{at}");
            }
            other => panic!("{at}: what is {other:?}?"),
        }
    }
    for language in ["toml", "text", "error", "unplayed"] {
        assert!(seen.iter().any(|block| block == language), "no block of {language}");
    }
}

fn without_folder(stage: &RehearsalStage, text: &str) -> String {
    text.replace(&format!("{}/", stage.folder().display()), "")
}

/// Plays the lines with `>` and returns the transcript.
fn played(stage: &RehearsalStage, text: &str) -> String {
    let mut chat = TestConversation::new(stage);
    let mut transcript = String::new();
    for line in text.lines().filter(|line| line.starts_with("> ")) {
        let words = &line[2..];
        let (role, words) = match words.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            Some((role, words)) => (Some(role.to_owned()), words),
            None => (None, words),
        };
        let labels = MessageLabels { role, ..MessageLabels::default() };
        let before = chat.seen.len();
        chat.agent.send(AgentMessage { labels, ..AgentMessage::text(words) });
        chat.turn_end();
        transcript += &format!("{line}\n");
        transcript.extend(chat.seen[before..].iter().flat_map(lines).map(|line| line + "\n"));
    }
    assert_eq!(chat.end(), None);
    without_folder(stage, &transcript)
}

fn lines(event: &AgentEvent) -> Vec<String> {
    vec![match event {
        AgentEvent::Started { .. } | AgentEvent::Delivered(_) => return Vec::new(),
        AgentEvent::Text(text) => format!("says: {text}"),
        AgentEvent::ToolStarted { tool, .. } => match tool {
            ToolAction::Command(command) => format!("runs: {command}"),
            ToolAction::Edit(paths) => format!("edits: {}", paths[0].display()),
            ToolAction::Mcp { server, tool } => format!("calls: {tool} of {server}"),
            ToolAction::Other(other) => format!("uses: {other}"),
        },
        AgentEvent::ToolFinished { end, .. } => match end {
            ToolOutcome::Succeeded => "succeeded".to_owned(),
            ToolOutcome::Failed => "failed".to_owned(),
            ToolOutcome::Exited(code) => format!("exited with {code}"),
        },
        AgentEvent::FileChanged(path) => format!("changed: {}", path.display()),
        AgentEvent::ApprovalNeeded { ask, .. } => match ask {
            ApprovalRequest::Edit { paths, .. } => format!("asks: to edit {}", paths[0]),
            ApprovalRequest::Command { command, .. } => format!("asks: to run {command}"),
            ApprovalRequest::Tool { server, tool } => format!("asks: to call {tool} of {server}"),
            ApprovalRequest::Other { what } => format!("asks: {what}"),
        },
        AgentEvent::Usage(usage) => {
            format!("spends: {} in, {} out", usage.input_tokens, usage.output_tokens)
        }
        AgentEvent::TurnFinished(answer) => {
            let answered = format!("answer: {}", answer.text);
            let result = answer.structured.as_ref().map(|value| format!("result: {value}"));
            return [answered].into_iter().chain(result).collect();
        }
        AgentEvent::TurnFailed(failure) => format!("fails: {failure}"),
        other => format!("{other:?}"),
    }]
}
