//! Where a result may be in an answer, and how strictly it is read.

use omx_agents::event::TurnAnswer;
use omx_agents::results::{AgentResult, ResultKind, ResultProblem, instructions, parse};
use serde_json::{Value, json};

use super::samples::good;
use super::{structured, text_answer};

const WORK: ResultKind = ResultKind::Work;

fn wanted() -> AgentResult {
    AgentResult::read(WORK, good(WORK)).unwrap()
}

fn block(json: &str) -> String {
    format!("```json\n{json}\n```")
}

#[test]
fn conductor_4_1_a_result_is_found_wherever_it_may_be() {
    let compact = good(WORK).to_string();
    let pretty = serde_json::to_string_pretty(&good(WORK)).unwrap();
    for json in [&compact, &pretty] {
        for text in [
            json.clone(),
            format!("\n\n  {json}\r\n"),
            block(json),
            format!("Done.\n\n{}\n\n", block(json)),
            format!("{{not this}}\n{}", block(json)),
            format!("First:\n{}\nthen:\n{}", block("{}"), block(json)),
            format!("```sh\nls\n```\n\n{}", block(json)),
            format!("``` json\r\n{json}\r\n```\r\n"),
            format!("  ```JSON\n{json}\n  ```"),
            format!("````json\n{json}\n````"),
            format!("```json\n\n{json}\n\n`````\n"),
        ] {
            assert_eq!(parse(WORK, &text_answer(&text)), Ok(wanted()), "{text}");
        }
    }
}

#[test]
fn conductor_4_1_fences_inside_a_result_do_not_count() {
    let plan = good(ResultKind::Plan);
    let text = block(&serde_json::to_string_pretty(&plan).unwrap());
    assert_eq!(
        parse(ResultKind::Plan, &text_answer(text)),
        Ok(AgentResult::read(ResultKind::Plan, plan).unwrap())
    );
}

#[test]
fn conductor_4_1_an_answer_without_a_block_at_its_end_has_no_result() {
    let json = good(WORK).to_string();
    for (text, why) in [
        (String::new(), "the answer is empty"),
        (" \n\t ".to_owned(), "the answer is empty"),
        ("All done.".to_owned(), "the answer does not end with a closed ```json block"),
        (format!("Here: {json}"), "the answer does not end with a closed ```json block"),
        (format!("{json}\nDone."), "the answer does not end with a closed ```json block"),
        (format!("{}\nDone.", block(&json)), "the answer does not end with a closed ```json block"),
        (format!("{} .", block(&json)), "the answer does not end with a closed ```json block"),
        (format!("```json\n{json}"), "the answer does not end with a closed ```json block"),
        (format!("```json {json} ```"), "the answer does not end with a closed ```json block"),
        (format!("```json\n{json}\n``"), "the answer does not end with a closed ```json block"),
        (
            format!("```\n{json}\n```"),
            "the block at the end of the answer does not open with ```json",
        ),
        (
            format!("```json5\n{json}\n```"),
            "the block at the end of the answer does not open with ```json",
        ),
        (
            format!("````json\n{json}\n```"),
            "the block at the end of the answer does not open with ```json",
        ),
        (
            format!("{}\n```", block(&json)),
            "the block at the end of the answer does not open with ```json",
        ),
        (format!("{json}\n```"), "the block at the end of the answer is closed but never opened"),
    ] {
        assert_eq!(
            parse(WORK, &text_answer(&text)),
            Err(ResultProblem::NoResult { why }),
            "{text}"
        );
    }
}

#[test]
fn conductor_4_1_json_is_read_strictly() {
    let json = good(WORK).to_string();
    let twice = json.replacen("\"done\":true", "\"done\":true,\"done\":false", 1);
    let twice_inside = json.replacen("\"command\":", "\"command\":\"x\",\"command\":", 1);
    for (json, wanted) in [
        (twice.as_str(), "the result: duplicate field `done`"),
        (&twice_inside, "field commands[0]: duplicate field `command`"),
        ("{\"done\": true,}", "the result is not valid JSON: trailing comma at line 1 column 15"),
        ("{\n\"done\": yes}", "the result is not valid JSON: expected value at line 2 column 9"),
        ("{} {}", "the result is not valid JSON: trailing characters at line 1 column 4"),
        ("{\"a\":1e400}", "the result is not valid JSON: number out of range at line 1 column 10"),
        (
            "{\"a\":\"\\ud800\"}",
            "the result is not valid JSON: unexpected end of hex escape at line 1 column 13",
        ),
        ("{// no\n}", "the result is not valid JSON: key must be a string at line 1 column 2"),
    ] {
        let whole = parse(WORK, &text_answer(json)).unwrap_err().to_string();
        assert_eq!(whole, wanted);
        let fenced = parse(WORK, &text_answer(block(json))).unwrap_err().to_string();
        assert_eq!(fenced, wanted, "counted from the first line of the JSON");
    }
    let empty = parse(WORK, &text_answer("```json\n```")).unwrap_err().to_string();
    assert!(empty.starts_with("the result is not valid JSON: EOF"), "{empty}");
}

#[test]
fn conductor_4_1_a_structured_result_comes_first_and_is_still_checked() {
    let text = block(&good(WORK).to_string());
    let answer =
        |structured: Value| TurnAnswer { text: text.clone(), structured: Some(structured) };
    assert_eq!(parse(WORK, &structured(&good(WORK))), Ok(wanted()));
    assert_eq!(parse(WORK, &answer(Value::Null)), Ok(wanted()), "null is none");
    let problem = parse(WORK, &answer(json!({"summary": "x"}))).unwrap_err();
    assert_eq!(problem.to_string(), "the result: missing field `changed_files`");
}

#[test]
fn results_are_bounded_in_size_and_depth() {
    let sized = |bytes: usize| {
        let mut value = good(WORK);
        let rest = value.to_string().len() - value["summary"].as_str().unwrap().len();
        value["summary"] = "x".repeat(bytes - rest).into();
        assert_eq!(value.to_string().len(), bytes);
        value
    };
    for (bytes, fits) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let value = sized(bytes);
        for answer in [
            structured(&value),
            text_answer(value.to_string()),
            text_answer(block(&value.to_string())),
        ] {
            let result = parse(WORK, &answer);
            assert_eq!(result.is_ok(), fits);
            assert!(fits || result == Err(ResultProblem::TooBig));
        }
    }
    // Text before the result does not count.
    let codex = format!("{}\n{}", "word ".repeat(1 << 20), block(&good(WORK).to_string()));
    assert_eq!(parse(WORK, &text_answer(codex)), Ok(wanted()));

    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let deep = |levels: usize| format!("{{\"done\":{}}}", nested(levels));
    for (levels, fits) in [(31, true), (32, false), (100, false)] {
        let text = deep(levels);
        let value: Value = serde_json::from_str(&text).unwrap();
        for answer in [text_answer(&text), structured(&value)] {
            let problem = parse(WORK, &answer).unwrap_err();
            assert_eq!(!matches!(problem, ResultProblem::TooDeep), fits, "{problem}");
            assert!(problem.to_string().len() < 500);
        }
    }
    for levels in [1000, 300_000] {
        assert!(matches!(parse(WORK, &text_answer(deep(levels))), Err(ResultProblem::TooDeep)));
        let objects = "{\"a\":".repeat(levels);
        assert!(matches!(
            parse(WORK, &text_answer(block(&objects))),
            Err(ResultProblem::TooDeep | ResultProblem::TooBig)
        ));
    }
}

#[test]
fn conductor_4_1_big_answers_are_read_quickly() {
    let start = std::time::Instant::now();
    for text in [
        "```json\n".repeat(1_000_000),
        "```\n".repeat(1_000_000),
        format!("{}\n```", "`".repeat(8_000_000)),
        format!("{{{}}}", "\n".repeat(8_000_000)),
        format!("x\n{}\n```", "\n".repeat(8_000_000)),
        block(&format!(
            "{{{}\"a\":1}}",
            (0..80_000).map(|at| format!("\"k{at}\":1,")).collect::<String>()
        )),
        block(&format!("{{\"changed_files\":[{}1]}}", "\"a\",".repeat(200_000))),
    ] {
        parse(WORK, &text_answer(text)).unwrap_err();
    }
    // Generous; anything quadratic would exceed it.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn conductor_4_1_instructions_contain_the_schema() {
    for kind in ResultKind::ALL {
        let words = instructions(kind);
        assert!(words.contains(&kind.schema().to_string()) && words.contains("```json"), "{words}");
        assert!(words.len() < 4000, "{}", words.len());
    }
}
