//! Skills and guidance in the real agent programs: each reads them and offers
//! the skills to its model, passes on a skill's text when the person calls it, and a
//! model that follows the skill completes.

use std::fs;
use std::path::{Path, PathBuf};

use omx_testkit::model::{ModelScript, ModelServer};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::Value;

use crate::skills::{RUNS, examples, text};

/// Where a program looks, below the person's home.
struct Places {
    skills: &'static str,
    instructions: &'static str,
    guidance: &'static str,
}

const CODEX: Places = Places {
    skills: ".codex/skills",
    instructions: ".codex/AGENTS.md",
    guidance: include_str!("../../../../assets/templates/guidance-codex.md"),
};
const CLAUDE: Places = Places {
    skills: ".claude/skills",
    instructions: ".claude/CLAUDE.md",
    guidance: include_str!("../../../../assets/templates/guidance-claude.md"),
};
const GEMINI: Places = Places {
    skills: ".gemini/skills",
    instructions: ".gemini/GEMINI.md",
    guidance: include_str!("../../../../assets/templates/guidance-gemini.md"),
};

/// Whether a program hands over the text of a skill that the person calls.
#[derive(PartialEq)]
enum SkillDelivery {
    HandsOver,
    LeavesToModel,
}

fn put(home: &AgentHome, path: &Path, text: &str) {
    let path = home.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Escaped as in a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The document of ralph, in whichever session the program put it.
fn ralph(home: &AgentHome) -> Value {
    let state = home.root().join(".omx/state");
    let mut folders = vec![state.clone()];
    folders.extend(
        fs::read_dir(state.join("sessions")).into_iter().flatten().flatten().map(|e| e.path()),
    );
    let files: Vec<PathBuf> = folders
        .into_iter()
        .map(|folder| folder.join("ralph-state.json"))
        .filter(|file| file.exists())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap()
}

/// The person calls ralph, and the model follows the skill call by call.
#[track_caller]
fn follows(cli: AgentCli, places: &Places, prompt: &str, called: SkillDelivery) {
    let (_, run) = RUNS.iter().find(|(skill, _)| *skill == "ralph").unwrap();
    let examples = examples("ralph");
    let script = run.iter().fold(ModelScript::named("ralph"), |script, at| {
        script.mcp("omx", &examples[*at].tool, examples[*at].arguments.clone())
    });
    let server = ModelServer::start([script.say("verified")]);
    let home = AgentHome::new(cli, &server).mcp("omx", env!("CARGO_BIN_EXE_omx"), &["mcp"]);
    for (skill, _) in RUNS {
        put(&home, &Path::new(places.skills).join(skill).join("SKILL.md"), &text(skill));
    }
    put(&home, Path::new(places.instructions), places.guidance);
    let run = home.headless(&format!("{prompt} [[script:ralph]]"), &[]);
    assert_eq!(run.outcome.code, Some(0), "{run:#?}");
    assert_eq!(run.final_text(), "verified");

    let turns = server.turns("ralph");
    let body = turns[0].body.to_string();
    for (skill, _) in RUNS {
        let text = text(skill);
        let description = text.lines().find_map(|line| line.strip_prefix("description: "));
        assert!(body.contains(description.unwrap()), "{skill} is not offered: {body}");
    }
    let lines = places.guidance.lines().filter(|line| !line.starts_with("<!--"));
    for line in lines {
        assert!(body.contains(&escaped(line)), "{line} is not there: {body}");
    }
    let skill = text("ralph");
    let (_, told) = skill.split_once("\n---\n").unwrap();
    let is_handed_over = body.contains(&escaped(told.trim()));
    assert_eq!(is_handed_over, called == SkillDelivery::HandsOver, "{body}");

    let document = ralph(&home);
    assert_eq!(
        (&document["active"], &document["current_phase"]),
        (&false.into(), &"complete".into())
    );
}

#[test]
fn hosts_5_2_codex_reads_the_skills_and_its_model_follows_one() {
    offline(&[AgentCli::Codex], || {
        follows(AgentCli::Codex, &CODEX, "$ralph fix the login tests", SkillDelivery::HandsOver);
    });
}

#[test]
fn hosts_5_2_claude_reads_the_skills_and_its_model_follows_one() {
    offline(&[AgentCli::Claude], || {
        follows(AgentCli::Claude, &CLAUDE, "/ralph fix the login tests", SkillDelivery::HandsOver);
    });
}

#[test]
fn hosts_5_2_gemini_reads_the_skills_and_its_model_follows_one() {
    offline(&[AgentCli::Gemini], || {
        follows(
            AgentCli::Gemini,
            &GEMINI,
            "$ralph fix the login tests",
            SkillDelivery::LeavesToModel,
        );
    });
}
