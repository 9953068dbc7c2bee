//! What makes a result valid, and the sentence that tells what does not.

use omx_agents::results::{
    AgentResult, FilePath, Lane, ResultKind, ResultProblem, ReviewKind, Severity, Text, Verdict,
    parse,
};
use omx_kernel::review::{ArchitecturalStatus, Recommendation};
use serde_json::{Value, json};

use super::samples::{good, subtask, with};
use super::structured;

const CODE: ResultKind = ResultKind::Review(ReviewKind::Code);

fn read(kind: ResultKind, value: &Value) -> Result<AgentResult, ResultProblem> {
    parse(kind, &structured(value))
}

/// The sentence for a good result with one change.
fn sentence(kind: ResultKind, pointer: &str, new: Option<Value>) -> String {
    let value = with(good(kind), pointer, new);
    read(kind, &value).expect_err(pointer).to_string()
}

#[test]
fn conductor_4_2_a_plan_is_read_whole() {
    let AgentResult::Plan(plan) = read(ResultKind::Plan, &good(ResultKind::Plan)).unwrap() else {
        panic!("another result");
    };
    assert_eq!(plan.title(), "Parser without recursion");
    assert_eq!(plan.summary(), "The parser keeps its own stack.");
    assert!(plan.plan_markdown().contains("```rust") && plan.test_spec_markdown() == "# Tests\n");
    let last = &plan.subtasks()[2];
    assert_eq!(
        (last.id(), last.subject(), last.role()),
        ("c", "Replace the recursion", "executor")
    );
    assert_eq!(last.description(), "");
    assert!(last.files().iter().map(FilePath::as_str).eq([
        "src/parser.rs",
        "src/new..rs",
        "/srv/x.rs"
    ]));
    assert!(last.blocked_by().iter().map(Text::as_str).eq(["a", "b"]));
    assert!(last.acceptance().iter().map(Text::as_str).eq(["cargo test exits 0"]));
}

#[test]
fn conductor_4_2_a_review_is_read_whole() {
    let AgentResult::Review(review) = read(CODE, &good(CODE)).unwrap() else {
        panic!("another result");
    };
    assert_eq!((review.lane(), review.summary()), (Lane::Code, "Read all of it."));
    assert_eq!(review.verdict(), Verdict::Recommendation(Recommendation::Comment));
    let (first, second) = (&review.findings()[0], &review.findings()[1]);
    assert_eq!(
        (first.title(), first.file(), first.line()),
        ("Leak", Some("src/parser.rs"), Some(1))
    );
    assert_eq!((first.severity(), first.detail()), (Severity::Blocker, "It leaks."));
    assert_eq!((second.file(), second.line(), second.severity()), (None, None, Severity::Minor));
}

#[test]
fn conductor_4_2_work_and_verification_are_read_whole() {
    let AgentResult::Work(work) = read(ResultKind::Work, &good(ResultKind::Work)).unwrap() else {
        panic!("another result");
    };
    assert!(work.done() && work.blocked_reason().is_none());
    let paths = work.changed_files().iter().map(FilePath::as_path);
    assert!(paths.eq(["src/parser.rs", "/srv/tests/deep.rs"].map(std::path::Path::new)));
    let commands = work.commands().iter().map(|run| (run.command(), run.exit_code()));
    assert!(commands.eq([("cargo test", 101), ("cargo test", 0)]));

    let kind = ResultKind::Verification;
    let AgentResult::Verification(verification) = read(kind, &good(kind)).unwrap() else {
        panic!("another result");
    };
    assert!(!verification.passed() && verification.findings().len() == 1);
    let checks = verification.checks();
    let told = |at: usize| (checks[at].name(), checks[at].command(), checks[at].exit_code());
    assert_eq!(told(0), ("tests", Some("cargo test"), Some(101)));
    assert_eq!(told(1), ("text", None, None));
    assert_eq!(checks[1].evidence(), "README.md:3");
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
                    assert_eq!(review.verdict().is_favourable(), best);
                    assert_eq!(review.verdict().as_str(), *word);
                }
            }
        }
    }
    let architect = ReviewKind::ArchitectInCodeReview.verdicts();
    assert_eq!(architect[2], Verdict::Status(ArchitecturalStatus::Block));
}

#[test]
fn conductor_4_1_what_does_not_fit_is_told_in_one_sentence_with_its_place() {
    let (plan, work, verification) = (ResultKind::Plan, ResultKind::Work, ResultKind::Verification);
    let architect = ResultKind::Review(ReviewKind::ArchitectInCodeReview);
    let long = "x".repeat(1000);
    for (kind, pointer, new, wanted) in [
        (
            CODE,
            "/findings/1/severity",
            Some(json!("high")),
            r#"field findings[1].severity must be one of "blocker", "major", "minor"; got "high""#,
        ),
        (
            CODE,
            "/verdict",
            Some(json!("CLEAR")),
            r#"field verdict must be one of "APPROVE", "COMMENT", "REQUEST CHANGES"; got "CLEAR""#,
        ),
        (
            architect,
            "/verdict",
            Some(json!("APPROVE")),
            r#"field verdict must be one of "CLEAR", "WATCH", "BLOCK"; got "APPROVE""#,
        ),
        (architect, "/lane", Some(json!("code")), r#"field lane must be "architect"; got "code""#),
        (
            CODE,
            "/verdict",
            Some(json!("")),
            r#"field verdict must be one of "APPROVE", "COMMENT", "REQUEST CHANGES"; got """#,
        ),
        (CODE, "/verdict", None, "field verdict is missing"),
        (CODE, "/findings/0/severity", None, "field findings[0].severity is missing"),
        (
            CODE,
            "/findings/0/line",
            Some(json!(0)),
            "field findings[0].line must be a line number from 1 on, or null; got 0",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(-3)),
            "field findings[0].line must be a line number from 1 on, or null; got -3",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(1.5)),
            "field findings[0].line must be a line number from 1 on, or null; got 1.5",
        ),
        (
            CODE,
            "/findings/0/line",
            Some(json!(1_u64 << 32)),
            "field findings[0].line must be a line number from 1 on, or null; got 4294967296",
        ),
        (
            CODE,
            "/findings/0/title",
            Some(json!(" \n")),
            r#"field findings[0].title must be a text that is not blank; got " \n""#,
        ),
        (
            CODE,
            "/findings/0/confidence",
            Some(json!(1)),
            "field findings[0].confidence is not known; the fields there are title, file, line, \
             severity, detail",
        ),
        (CODE, "/findings", Some(json!({})), "field findings must be a list; got an object"),
        (
            CODE,
            "/findings/0",
            Some(json!("Leak")),
            r#"field findings[0] must be an object; got "Leak""#,
        ),
        (
            CODE,
            "/summary",
            Some(json!("")),
            r#"field summary must be a text that is not blank; got """#,
        ),
        (work, "/summary", Some(json!([])), "field summary must be a text; got a list"),
        (work, "/done", Some(json!("yes")), r#"field done must be true or false; got "yes""#),
        (
            work,
            "/commands/1/exit_code",
            Some(json!(0.5)),
            "field commands[1].exit_code must be a whole number; got 0.5",
        ),
        (
            work,
            "/commands/0/exit_code",
            Some(json!(null)),
            "field commands[0].exit_code must be a whole number; got null",
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("../other/x")),
            r#"field changed_files[0] must be the path of a file, without ".."; got "../other/x""#,
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("a\\..\\..\\x")),
            r#"field changed_files[0] must be the path of a file, without ".."; got "a\\..\\..\\x""#,
        ),
        (
            work,
            "/changed_files/0",
            Some(json!("")),
            r#"field changed_files[0] must be the path of a file, without ".."; got """#,
        ),
        (
            work,
            "/a b\n",
            Some(json!(1)),
            r#"field ["a b\n"] is not known; the fields there are summary, changed_files, commands, done, blocked_reason"#,
        ),
        (
            verification,
            "/checks/0/exit_code",
            Some(json!("0")),
            r#"field checks[0].exit_code must be a whole number; got "0""#,
        ),
        (
            verification,
            "/checks/0/name",
            Some(json!("")),
            r#"field checks[0].name must be a text that is not blank; got """#,
        ),
        (
            verification,
            "/passed",
            Some(json!(null)),
            "field passed must be true or false; got null",
        ),
        (
            plan,
            "/title",
            Some(json!("")),
            r#"field title must be a text that is not blank; got """#,
        ),
        (
            plan,
            "/subtasks/1/files/0",
            Some(json!("src/../../x")),
            r#"field subtasks[1].files[0] must be the path of a file, without ".."; got "src/../../x""#,
        ),
        (
            plan,
            "/subtasks/2/id",
            Some(json!("a")),
            r#"field subtasks[2].id must be an id of its own, and subtasks[0] has the same; got "a""#,
        ),
        (
            plan,
            "/subtasks/2/blocked_by/1",
            Some(json!("d")),
            r#"field subtasks[2].blocked_by[1] must be the id of a subtask of this plan; got "d""#,
        ),
        (
            plan,
            "/subtasks/0/blocked_by",
            Some(json!(["c"])),
            r#"the subtasks "a", "c" wait for each other through blocked_by"#,
        ),
        (
            plan,
            "/subtasks/1/blocked_by",
            Some(json!(["b"])),
            r#"the subtasks "b" wait for each other through blocked_by"#,
        ),
        (
            work,
            "/done",
            Some(json!(long)),
            &format!("field done must be true or false; got \"{}\"…", "x".repeat(60)),
        ),
    ] {
        assert_eq!(sentence(kind, pointer, new), wanted);
    }
    for not_an_object in [json!([]), json!("x"), json!(1), json!(false)] {
        let problem = read(work, &not_an_object).unwrap_err().to_string();
        assert!(problem.starts_with("the result must be an object; got "), "{problem}");
    }
}

#[test]
fn conductor_4_2_a_field_that_may_be_left_out_may_be_null_or_blank_too() {
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
fn conductor_4_2_long_chains_and_circles_of_subtasks_are_judged_quickly() {
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
        r#"the subtasks "t0", "t3999", "t3998", "t3997", "t3996", … wait for each other through blocked_by"#
    );
    // Far more than it takes; a quadratic rule would be over it.
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn conductor_4_1_a_retry_is_told_what_was_wrong() {
    let problem = read(CODE, &with(good(CODE), "/verdict", Some(json!("LGTM")))).unwrap_err();
    let prompt = problem.retry_prompt();
    assert!(prompt.contains(&problem.to_string()) && prompt.lines().count() == 1, "{prompt}");
}
