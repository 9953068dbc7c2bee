//! The rules of results, and the message for each violation.

use std::num::NonZeroU32;

use omx_agents::results::{
    AgentResult, FilePath, LaneVerdict, NonBlankText, ResultKind, ResultProblem, ReviewKind,
    ReviewLane, Severity, parse,
};
use serde_json::{Value, json};

use super::samples::{good, subtask, with};
use super::structured;

const CODE: ResultKind = ResultKind::Review(ReviewKind::Code);

fn read(kind: ResultKind, value: &Value) -> Result<AgentResult, ResultProblem> {
    parse(kind, &structured(value))
}

/// The message for a valid result with one change.
fn sentence(kind: ResultKind, pointer: &str, new: Option<Value>) -> String {
    let value = with(good(kind), pointer, new);
    read(kind, &value).expect_err(pointer).to_string()
}

#[test]
fn conductor_4_2_every_field_of_a_plan_is_read() {
    let AgentResult::Plan(plan) = read(ResultKind::Plan, &good(ResultKind::Plan)).unwrap() else {
        panic!("another result");
    };
    assert_eq!(plan.title.as_str(), "Parser without recursion");
    assert_eq!(plan.summary.as_str(), "The parser keeps its own stack.");
    assert!(plan.plan_markdown.contains("```rust"));
    assert_eq!(plan.test_spec_markdown.as_str(), "# Tests\n");
    let last = &plan.subtasks[2];
    assert_eq!(
        (&*last.id, &*last.subject, &*last.role),
        ("c", "Replace the recursion", "executor")
    );
    assert_eq!(last.description, "");
    let files = last.files.iter().map(FilePath::as_str);
    assert!(files.eq(["src/parser.rs", "src/new..rs", "/srv/x.rs"]));
    assert!(last.blocked_by.iter().map(NonBlankText::as_str).eq(["a", "b"]));
    assert!(last.acceptance.iter().map(NonBlankText::as_str).eq(["cargo test exits 0"]));
}

#[test]
fn conductor_4_2_every_field_of_a_review_is_read() {
    let AgentResult::Review(review) = read(CODE, &good(CODE)).unwrap() else {
        panic!("another result");
    };
    assert_eq!((review.lane, review.summary.as_str()), (ReviewLane::Code, "Read all of it."));
    assert_eq!(review.verdict, LaneVerdict::Comment);
    let (first, second) = (&review.findings[0], &review.findings[1]);
    assert_eq!((&*first.title, first.file.as_deref()), ("Leak", Some("src/parser.rs")));
    assert_eq!(first.line, NonZeroU32::new(1));
    assert_eq!((first.severity, first.detail.as_str()), (Severity::Blocker, "It leaks."));
    assert_eq!((&second.file, second.line, second.severity), (&None, None, Severity::Minor));
}

#[test]
fn conductor_4_2_every_field_of_work_and_verification_is_read() {
    let AgentResult::Work(work) = read(ResultKind::Work, &good(ResultKind::Work)).unwrap() else {
        panic!("another result");
    };
    assert!(work.done && work.blocked_reason.is_none());
    let paths = work.changed_files.iter().map(FilePath::as_path);
    assert!(paths.eq(["src/parser.rs", "/srv/tests/deep.rs"].map(std::path::Path::new)));
    let commands = work.commands.iter().map(|run| (&*run.command, run.exit_code));
    assert!(commands.eq([("cargo test", 101), ("cargo test", 0)]));

    let kind = ResultKind::Verification;
    let AgentResult::Verification(verification) = read(kind, &good(kind)).unwrap() else {
        panic!("another result");
    };
    assert!(!verification.passed && verification.findings.len() == 1);
    let [tests, text] = &verification.checks[..] else { panic!("two checks") };
    assert_eq!((&*tests.name, tests.command.as_deref()), ("tests", Some("cargo test")));
    assert_eq!((&*text.name, text.command.as_deref()), ("text", None));
    assert_eq!((tests.exit_code, text.exit_code), (Some(101), None));
    assert_eq!(text.evidence, "README.md:3");
}

#[test]
fn conductor_4_2_each_review_has_its_own_lane_and_words() {
    let recommendations = ["APPROVE", "COMMENT", "REQUEST CHANGES"];
    let statuses = ["CLEAR", "WATCH", "BLOCK"];
    for kind in ReviewKind::ALL {
        for lane in ["code", "architect", "critic"] {
            for word in recommendations.iter().chain(&statuses) {
                let value = good(ResultKind::Review(kind));
                let value = with(value, "/lane", Some(lane.into()));
                let value = with(value, "/verdict", Some((*word).into()));
                let (own_lane, own_words) = match kind {
                    ReviewKind::Code => ("code", recommendations),
                    ReviewKind::Critic => ("critic", recommendations),
                    ReviewKind::Architect => ("architect", recommendations),
                    ReviewKind::ArchitectInCodeReview => ("architect", statuses),
                };
                let fits = lane == own_lane && own_words.contains(word);
                let review = read(ResultKind::Review(kind), &value);
                assert_eq!(review.is_ok(), fits, "{kind:?} {lane} {word}");
                if let Ok(AgentResult::Review(review)) = review {
                    let best = ["APPROVE", "CLEAR"].contains(word);
                    assert_eq!(review.verdict.is_favorable(), best);
                    assert_eq!(review.verdict.as_str(), *word);
                }
            }
        }
    }
    let architect = ReviewKind::ArchitectInCodeReview.verdicts();
    assert_eq!(architect[2], LaneVerdict::Block);
}

#[test]
fn conductor_4_1_a_wrong_value_is_reported_in_one_sentence_with_its_path() {
    let (plan, work, verification) = (ResultKind::Plan, ResultKind::Work, ResultKind::Verification);
    let architect = ResultKind::Review(ReviewKind::ArchitectInCodeReview);
    for (kind, pointer, new, wanted) in [
        (
            CODE,
            "/findings/1/severity",
            Some(json!("high")),
            "field findings[1].severity: unknown variant `high`, expected one of `blocker`, `major`, `minor`",
        ),
        (
            CODE,
            "/verdict",
            Some(json!("CLEAR")),
            "field verdict: unknown variant `CLEAR`, expected one of `APPROVE`, `COMMENT`, `REQUEST CHANGES`",
        ),
        (
            architect,
            "/verdict",
            Some(json!("LGTM")),
            "field verdict: unknown variant `LGTM`, expected one of `CLEAR`, `WATCH`, `BLOCK`",
        ),
        (
            architect,
            "/lane",
            Some(json!("code")),
            "field lane: unknown variant `code`, expected `architect`",
        ),
        (CODE, "/verdict", None, "the result: missing field `verdict`"),
        (CODE, "/findings/0/severity", None, "field findings[0]: missing field `severity`"),
        (
            CODE,
            "/findings/0/line",
            Some(json!(0)),
            "field findings[0].line: invalid value: integer `0`, expected a nonzero u32",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(-3)),
            "field findings[0].line: invalid value: integer `-3`, expected a nonzero u32",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(1.5)),
            "field findings[0].line: invalid type: floating point `1.5`, expected a nonzero u32",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(1_u64 << 32)),
            "field findings[0].line: invalid value: integer `4294967296`, expected a nonzero u32",
        ),
        (
            CODE,
            "/findings/0/title",
            Some(json!(" \n")),
            "field findings[0].title: the text must not be blank",
        ),
        (
            CODE,
            "/findings/0/confidence",
            Some(json!(1)),
            "field findings[0].confidence: unknown field `confidence`, expected one of `title`, \
             `file`, `line`, `severity`, `detail`",
        ),
        (
            CODE,
            "/findings",
            Some(json!({})),
            "field findings: invalid type: map, expected a sequence",
        ),
        (
            CODE,
            "/findings/0",
            Some(json!("Leak")),
            r#"field findings[0]: invalid type: string "Leak", expected an object"#,
        ),
        (
            CODE,
            "/findings/0",
            Some(json!(["Leak", null, null, "minor", ""])),
            "field findings[0]: invalid type: sequence, expected an object",
        ),
        (CODE, "/summary", Some(json!("")), "field summary: the text must not be blank"),
        (
            work,
            "/summary",
            Some(json!([])),
            "field summary: invalid type: sequence, expected a string",
        ),
        (
            work,
            "/done",
            Some(json!("yes")),
            r#"field done: invalid type: string "yes", expected a boolean"#,
        ),
        (
            work,
            "/commands/1/exit_code",
            Some(json!(0.5)),
            "field commands[1].exit_code: invalid type: floating point `0.5`, expected i64",
        ),
        (
            work,
            "/commands/0/exit_code",
            Some(json!(null)),
            "field commands[0].exit_code: invalid type: null, expected i64",
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("../other/x")),
            r#"field changed_files[0]: "../other/x" is not the path of a file without "..""#,
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("a\\..\\..\\x")),
            r#"field changed_files[0]: "a\\..\\..\\x" is not the path of a file without "..""#,
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("")),
            r#"field changed_files[0]: "" is not the path of a file without "..""#,
        ),
        (
            work,
            "/a b\n",
            Some(json!(1)),
            r"field a b\n: unknown field `a b\n`, expected one of `summary`, `changed_files`, `commands`, `done`, `blocked_reason`",
        ),
        (
            verification,
            "/checks/0/exit_code",
            Some(json!("0")),
            r#"field checks[0].exit_code: invalid type: string "0", expected i64"#,
        ),
        (
            verification,
            "/checks/0/name",
            Some(json!("")),
            "field checks[0].name: the text must not be blank",
        ),
        (
            verification,
            "/passed",
            Some(json!(null)),
            "field passed: invalid type: null, expected a boolean",
        ),
        (plan, "/title", Some(json!("")), "field title: the text must not be blank"),
        (
            plan,
            "/subtasks/1/files/0",
            Some(json!("src/../../x")),
            r#"field subtasks[1].files[0]: "src/../../x" is not the path of a file without "..""#,
        ),
        (
            plan,
            "/subtasks/2/id",
            Some(json!("a")),
            r#"field subtasks[2].id: subtasks[0] has the same id "a""#,
        ),
        (
            plan,
            "/subtasks/2/blocked_by/1",
            Some(json!("d")),
            r#"field subtasks[2].blocked_by[1]: no subtask of this plan has the id "d""#,
        ),
        (
            plan,
            "/subtasks/0/blocked_by",
            Some(json!(["c"])),
            r#"the subtasks "a", "c" block each other through blocked_by"#,
        ),
        (
            plan,
            "/subtasks/1/blocked_by",
            Some(json!(["b"])),
            r#"the subtasks "b" block each other through blocked_by"#,
        ),
    ] {
        assert_eq!(sentence(kind, pointer, new), wanted);
    }
    for not_an_object in [json!([]), json!("x"), json!(1), json!(false)] {
        let problem = read(work, &not_an_object).unwrap_err().to_string();
        assert!(problem.starts_with("the result: invalid type: "), "{problem}");
        assert!(problem.ends_with(", expected an object"), "{problem}");
    }
    let long = sentence(work, "/done", Some(json!("x".repeat(1000))));
    assert!(long.starts_with("field done: ") && long.len() < 500, "{long}");
}

#[test]
fn conductor_4_2_an_optional_field_may_be_absent_null_or_blank() {
    for (kind, pointer) in [
        (CODE, "/findings/0/file"),
        (CODE, "/findings/0/line"),
        (ResultKind::Work, "/blocked_reason"),
        (ResultKind::Verification, "/checks/0/command"),
        (ResultKind::Verification, "/checks/0/exit_code"),
    ] {
        let none = read(kind, &with(good(kind), pointer, None)).unwrap();
        assert_eq!(read(kind, &with(good(kind), pointer, Some(json!(null)))).unwrap(), none);
        let is_number = pointer.ends_with("line") || pointer.ends_with("exit_code");
        let blank = read(kind, &with(good(kind), pointer, Some(json!(" "))));
        if is_number {
            blank.unwrap_err();
        } else {
            assert_eq!(blank.unwrap(), none);
        }
    }
}

#[test]
fn conductor_4_2_long_chains_and_cycles_are_checked_quickly() {
    let plan = |first: &[&str]| {
        let ids: Vec<String> = (0..4000).map(|at| format!("t{at}")).collect();
        let rest = ids.windows(2).map(|pair| subtask(&pair[1], &[&pair[0]]));
        let subtasks: Vec<Value> = std::iter::once(subtask("t0", first)).chain(rest).collect();
        with(good(ResultKind::Plan), "/subtasks", Some(subtasks.into()))
    };
    let start = std::time::Instant::now();
    read(ResultKind::Plan, &plan(&[])).unwrap();
    let circle = read(ResultKind::Plan, &plan(&["t3999"])).unwrap_err().to_string();
    assert_eq!(
        circle,
        r#"the subtasks "t0", "t3999", "t3998", "t3997", "t3996", … block each other through blocked_by"#
    );
    // Generous; a quadratic check would exceed it.
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn conductor_4_1_the_retry_prompt_names_the_problem() {
    let problem = read(CODE, &with(good(CODE), "/verdict", Some(json!("LGTM")))).unwrap_err();
    let prompt = problem.retry_prompt();
    assert!(prompt.contains(&problem.to_string()) && prompt.lines().count() == 1, "{prompt}");
}
