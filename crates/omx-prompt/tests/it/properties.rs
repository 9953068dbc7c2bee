//! modes.md 5 for any prompt: a quoted call starts nothing, a task keeps its text, and no
//! text is too odd or too long.

use std::time::{Duration, Instant};

use omx_kernel::Mode;
use omx_prompt::{
    CallForm, CandidateVerdict, KeywordPolicy, PromptDecision, RejectReason, SessionState, explain,
};
use proptest::prelude::*;

use crate::decide;

fn plain(text: &str) -> PromptDecision<'_> {
    decide(text, KeywordPolicy::Explicit, SessionState::Idle)
}

/// An explicit call with its mode and task.
fn calls() -> impl Strategy<Value = (Mode, String, String)> {
    let modes = prop::sample::select(Mode::ALL.to_vec());
    let signs = prop::sample::select(vec!["$", "/", "/omx:", "/oh-my-claudecode:"]);
    let tasks = prop::sample::select(vec![
        "fix the login tests",
        "build a REST API, with tags",
        "修复登录测试",
        "port it\n\n- first\n- second",
        "why does it fail on Fridays? find out",
    ]);
    (modes, signs, tasks).prop_map(|(mode, sign, task)| {
        (mode, format!("{sign}{} {task}", mode.name()), task.to_owned())
    })
}

/// Ways to show a call without making it.
fn wrapped(call: &str) -> Vec<String> {
    let lines = |mark: &str| {
        let marked: Vec<String> = call.lines().map(|line| format!("{mark}{line}")).collect();
        marked.join("\n")
    };
    vec![
        format!("`{call}`"),
        format!("``{call}``"),
        format!("```\n{call}\n```"),
        format!("~~~ text\n{call}\n~~~"),
        format!("\"{call}\""),
        format!("\"\n{call}\n\""),
        format!("“{call}”"),
        format!("„{call}“"),
        format!("«{call}»"),
        format!("「{call}」"),
        format!("'{call}'"),
        lines("> "),
        lines("- "),
        lines("+"),
        format!("<!-- {call} -->"),
        format!("<!--\n{call}\n-->"),
        format!("<!-- OMX:START -->\n{call}\n<!-- OMX:END -->"),
        format!("<system-reminder>\n{call}\n</system-reminder>"),
        format!("<task-notification>{call}\n</task-notification>"),
        format!("<example>\n{call}\n</example>"),
        format!("[omx] started\n{}", call.replace("\n\n", "\n")),
        format!("[Ralph active: phase executing, iteration 3/50]\n{}", call.replace("\n\n", "\n")),
        format!("Stop hook feedback:\n{}", call.replace("\n\n", "\n")),
        format!("Don't use {call}"),
        format!("What does {call} do?"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn modes_5_1_a_call_starts_its_mode_with_its_task((mode, call, task) in calls()) {
        let PromptDecision::Start(start) = plain(&call) else { panic!("{call:?}") };
        prop_assert_eq!((start.mode, start.task, start.form), (mode, task.as_str(), CallForm::Call));
        prop_assert!(start.linked.is_empty());
        let decision = decide(&call, KeywordPolicy::Off, SessionState::Active);
        prop_assert!(matches!(decision, PromptDecision::Start(_)), "off: {call:?}");
    }

    #[test]
    fn modes_5_1_space_before_a_call_does_not_matter(
        (mode, call, task) in calls(),
        space in "[ \t\r\n\u{a0}\u{feff}\u{3000}]{0,12}",
    ) {
        let text = format!("{space}{call}");
        let PromptDecision::Start(start) = plain(&text) else { panic!("{text:?}") };
        prop_assert_eq!((start.mode, start.task), (mode, task.as_str()));
    }

    #[test]
    fn modes_5_1_a_call_below_other_text_is_accepted((mode, call, task) in calls()) {
        let text = format!("The tests are red since the upgrade.\n\n```\n$team = 1\n```\n\n{call}");
        let PromptDecision::Start(start) = plain(&text) else { panic!("{text:?}") };
        prop_assert_eq!((start.mode, start.task), (mode, task.as_str()));
    }

    #[test]
    fn modes_5_1_a_quoted_call_starts_nothing((_, call, _) in calls()) {
        for text in wrapped(&call) {
            let around = format!("Look at this.\n\n{text}\n\nIs it right?");
            for prompt in [text, around] {
                for keywords in [KeywordPolicy::Explicit, KeywordPolicy::Off] {
                    let decision = decide(&prompt, keywords, SessionState::Idle);
                    let quiet = matches!(decision, PromptDecision::Nothing | PromptDecision::Suggest(_));
                    prop_assert!(quiet, "{prompt:?} gave {decision:?}");
                }
            }
        }
    }

    #[test]
    fn modes_5_3_a_quoted_cancel_cancels_nothing(
        word in prop::sample::select(vec!["/cancel", "cancelomx", "stop omx", "stop"]),
    ) {
        for text in wrapped(word).into_iter().filter(|text| !text.starts_with("- ")) {
            let decision = decide(&text, KeywordPolicy::Explicit, SessionState::Active);
            prop_assert!(!matches!(decision, PromptDecision::Cancel(_)), "{text:?}");
        }
    }

    #[test]
    fn hosts_1_1_any_text_is_decided(text in odd(), number in 0..9_usize) {
        let keywords = [KeywordPolicy::Explicit, KeywordPolicy::Phrases, KeywordPolicy::Off][number % 3];
        let present = [SessionState::Idle, SessionState::Active, SessionState::Blocked][number / 3];
        let explained = explain(&text, keywords, present);
        prop_assert_eq!(&decide(&text, keywords, present), &explained.decision);
        for candidate in &explained.candidates {
            let end = candidate.at + candidate.text.len();
            prop_assert_eq!(&text[candidate.at..end], candidate.text);
        }
    }
}

/// Texts made of everything the rule looks for, in any order, with anything in between.
fn odd() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "$ralph",
        "/team",
        "ralph",
        "Autopilot",
        ":",
        ",",
        "：",
        "、",
        " ",
        "\n",
        "\r\n",
        "\t",
        "`",
        "```",
        "~~~",
        "\"",
        "\"\"\"",
        "'",
        "“",
        "”",
        "„",
        "«",
        "「",
        "』",
        "<",
        ">",
        "</",
        "<b>",
        "</b>",
        "<!--",
        "-->",
        "<!-- OMX:START -->",
        "<!-- OMX:END -->",
        "<system-reminder>",
        "[omx]",
        "@@ -1 +1 @@",
        "don't",
        "stop",
        "until",
        "cancelomx",
        "cancel the run",
        "i want a",
        "I want an",
        "İ",
        "ß",
        "é",
        "修复",
        "は",
        "は何",
        "の",
        "을",
        "\u{feff}",
        "\u{200b}",
        "\u{0}",
        "?",
        "？",
        "!",
        ".",
        "is",
        "just explain",
        "ulw",
        "build me",
        "- ",
        "> ",
        "#",
        "/omx:",
        "💥",
        "continue",
        "resume",
        "Expected:",
        "From:",
        "the",
        "'s",
        "’",
        "=",
        "—",
        "…",
    ]);
    let piece = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// The time to decide is linear in the length of the prompt. If it were quadratic, a
/// megabyte would take minutes.
#[test]
fn hosts_1_4_a_long_prompt_takes_linear_time() {
    let patterns = [
        "a",
        " ",
        "\n",
        "`",
        "`` `",
        "\"a ",
        "'a ",
        "'",
        "“",
        "„a ",
        "<a>",
        "<a></b> ",
        "<!--",
        "<b>x</b> ",
        "ulw ",
        "ralph ",
        "/ralph x\n",
        "$ralph\n",
        "cancelomx ",
        "don't stop until ",
        "> x\n",
        "[omx]\n",
        "```\n",
        "~~~\n",
        "i want a ",
        "?",
        "é",
        "修",
        "<system>",
        "x: y\n",
        "From: x\n",
        "<!-- a:START -->",
        "/ralph ",
        "ralph, ",
        "\u{feff}",
        ". ",
        "keep going ",
        "@@ -\n",
        "</a",
        "<a",
        "/",
        "''",
    ];
    let long = ["fix the a in b. ", "/ralph x\n", "\"a "].map(|pattern| (pattern, 10 << 20));
    for (pattern, length) in patterns.map(|pattern| (pattern, 1 << 20)).into_iter().chain(long) {
        let text = pattern.repeat(length / pattern.len());
        let begin = Instant::now();
        let _ = decide(&text, KeywordPolicy::Phrases, SessionState::Active);
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(10), "{pattern:?} took {took:?}");
        println!("{pattern:?} {length} {took:?}");
    }
}

#[test]
fn modes_5_2_phrases_follow_the_configured_policy() {
    let text = "Please fix the store and don't stop until it is green.";
    let decide = |keywords| decide(text, keywords, SessionState::Idle);
    assert_eq!(decide(KeywordPolicy::Explicit), PromptDecision::Suggest(Mode::Ralph));
    assert_eq!(decide(KeywordPolicy::Off), PromptDecision::Nothing);
    let PromptDecision::Start(start) = decide(KeywordPolicy::Phrases) else { panic!() };
    assert_eq!((start.mode, start.task, start.form), (Mode::Ralph, text, CallForm::Phrase));
}

#[test]
fn modes_5_4_precedence_decides_and_ralph_links_its_companions() {
    let start = |text: &'static str| match plain(text) {
        PromptDecision::Start(start) => start,
        other => panic!("{text:?} gave {other:?}"),
    };
    let both = start("/ultrawork\n$ralph $team fix it all");
    assert_eq!((both.mode, both.task), (Mode::Ralph, "fix it all"));
    assert_eq!(both.linked, [Mode::Team, Mode::Ultrawork]);
    assert_eq!(start("$team $autopilot go on").mode, Mode::Autopilot);
    assert!(matches!(plain("$autopilot build it\n/cancel"), PromptDecision::Cancel(_)));
    assert_eq!(start("The login is slow.\n\n/ralph").task, "The login is slow.");
    let reminded = start("/ralph fix it\n<system-reminder>be kind</system-reminder>");
    assert_eq!(reminded.task, "fix it");
}

#[test]
fn cancel_words_with_a_mode_never_start_it() {
    for text in ["/ralph cancel", "ralph, stop", "$autopilot abort!", "ralph: stop it please"] {
        assert!(matches!(plain(text), PromptDecision::Cancel(_)), "{text}");
    }
    assert_eq!(plain("ralph cancel"), PromptDecision::Nothing);
    let decision = decide("ralph cancel", KeywordPolicy::Phrases, SessionState::Active);
    assert!(matches!(decision, PromptDecision::Cancel(_)));
}

#[test]
fn hosts_3_an_explanation_lists_every_candidate_with_its_reason() {
    let text = "Use `$ralph` or autopilot.\n> /team x\n/ultraqa/a.rs\nwhy not ecomode?\nplease $swarm it\n";
    let explained = explain(text, KeywordPolicy::Explicit, SessionState::Idle);
    assert_eq!(explained.decision, PromptDecision::Suggest(Mode::Autopilot));
    let why = |name: &str| {
        let found = explained.candidates.iter().find(|one| one.target.name() == name);
        found.map(|one| one.verdict)
    };
    assert_eq!(why("autopilot"), Some(CandidateVerdict::Accepted));
    assert_eq!(why("team"), Some(CandidateVerdict::Rejected(RejectReason::Quoted)));
    assert_eq!(why("ultraqa"), Some(CandidateVerdict::Rejected(RejectReason::Joined)));
    assert_eq!(why("ecomode"), Some(CandidateVerdict::Rejected(RejectReason::Question)));
    assert_eq!(why("swarm"), Some(CandidateVerdict::Rejected(RejectReason::NotAtLineStart)));
    assert_eq!(why("ralph"), Some(CandidateVerdict::Rejected(RejectReason::Code)));
}
