//! The live view on different terminals.

use omx_testkit::CommandOutcome;
use unicode_width::UnicodeWidthStr;

use super::kit::{Repository, quick_scenario};

const CLEAR: &str = "\u{1b}[1A\u{1b}[2K";

/// A planner that says a long line of wide characters, and takes its time.
fn wide_scenario() -> String {
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    let wide = "漢字".repeat(80);
    let steps = format!("say = \"{wide}\"\n[[entry.do]]\ndelay_ms = 500");
    let quick = quick_scenario();
    assert!(quick.contains(says));
    quick.replacen(says, &steps, 1)
}

fn plan_on(variables: &[(&str, &str)]) -> CommandOutcome {
    let repository = Repository::playing(&wide_scenario());
    let command = repository.command("ralplan", &["greet people by name"]);
    let args: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let outcome = repository.project.on_terminal_with(variables, &args, "", || {});
    assert!(outcome.stdout.contains("complete: "), "{outcome:#?}");
    outcome
}

#[test]
fn live_view_on_a_capable_terminal_has_color_and_redraws() {
    let text = plan_on(&[]).stdout;
    assert!(text.contains(CLEAR) && text.contains("\u{1b}[32m✓\u{1b}[0m"), "{text}");
}

#[test]
fn live_view_without_color_still_redraws() {
    let text = plan_on(&[("NO_COLOR", "1")]).stdout;
    assert!(text.contains(CLEAR), "{text}");
    assert!(!text.replace(CLEAR, "").contains('\u{1b}'), "{text}");
}

#[test]
fn live_view_on_a_dumb_terminal_is_plain_lines() {
    for term in ["dumb", ""] {
        let text = plan_on(&[("TERM", term)]).stdout;
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("draft: planner plans (ralplan, draft)\n"), "{text}");
    }
}

#[test]
fn live_view_fits_the_width_in_columns() {
    let text = plan_on(&[("NO_COLOR", "1")]).stdout;
    let active = text.split(['\n', '\r']).map(|line| line.replace(CLEAR, ""));
    let wide: Vec<String> = active.filter(|line| line.contains('漢')).collect();
    assert!(!wide.is_empty(), "{text}");
    for line in wide {
        // 80 columns, the last of which stays free.
        assert!(line.width() <= 79 && line.ends_with('…'), "{}: {line}", line.width());
    }
}
