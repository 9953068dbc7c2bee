//! quality.md R16 for the agents' output: recorded lines of every program,
//! damaged, repeated, out of order and at odd times, among arbitrary commands.
//! No driver panics, hangs or reports an end twice.
//!
//! Each driver is one row: its program's responses and its unsolicited lines.

mod claude;
mod codex;
mod codex_exec;
mod faults;
mod gemini;
mod open;
mod rehearsal;
mod row;
mod scene;
mod warp;

use omx_agents::AgentKind;
use omx_agents::event::AgentEvent;
use omx_testkit::fuzz::{Random, fuzz};

use self::row::{ApprovalSupport, DriverRow};
use self::scene::Scene;

#[test]
fn every_agent_has_a_row() {
    for kind in AgentKind::ALL {
        assert!(ROWS.iter().any(|row| row.kind == kind), "{kind}");
    }
}

/// Without damage every turn succeeds; otherwise the tests below would prove little.
fn assert_whole_turns(row: &'static DriverRow) {
    let mut scene = Scene::plain(row);
    for turn in 1..=2 {
        scene.send("go");
        scene.receive_all();
        let ends = scene.count(|event| matches!(event, AgentEvent::TurnFinished(_)));
        assert_eq!(ends, turn, "{} {:#?}", row.kind, scene.events);
    }
    for (what, times) in [
        ("a start", scene.count(|event| matches!(event, AgentEvent::Started { .. }))),
        ("text", scene.count(|event| matches!(event, AgentEvent::Text(_)))),
        ("a tool", scene.count(|event| matches!(event, AgentEvent::ToolStarted { .. }))),
        ("its end", scene.count(|event| matches!(event, AgentEvent::ToolFinished { .. }))),
        ("usage", scene.count(|event| matches!(event, AgentEvent::Usage(_)))),
    ] {
        assert!(times > 0, "{} never told {what}: {:#?}", row.kind, scene.events);
    }
    let requested = scene.count(|event| matches!(event, AgentEvent::ApprovalNeeded { .. }));
    assert_eq!(
        requested > 0,
        row.approvals == ApprovalSupport::Asks,
        "{} {:#?}",
        row.kind,
        scene.events
    );
}

fn play(row: &'static DriverRow, rng: &mut Random) {
    let mut scene = Scene::any(row, rng);
    for _ in 0..20 + rng.below(100) {
        scene.step(rng);
    }
    scene.wait_long();
}

macro_rules! rows {
    ($($module:ident: $whole:ident, $damaged:ident;)+) => {
        const ROWS: &[&DriverRow] = &[$(&$module::ROW),+];

        $(
            #[test]
            fn $whole() {
                assert_whole_turns(&$module::ROW);
            }

            #[test]
            fn $damaged() {
                fuzz(stringify!($damaged), |rng| play(&$module::ROW, rng));
            }
        )+
    };
}

rows! {
    codex: an_undamaged_codex_stream_is_understood, fuzz_codex_stream;
    codex_exec: an_undamaged_codex_exec_stream_is_understood, fuzz_codex_exec_stream;
    claude: an_undamaged_claude_stream_is_understood, fuzz_claude_stream;
    gemini: an_undamaged_gemini_stream_is_understood, fuzz_gemini_stream;
    rehearsal: an_undamaged_rehearsal_stream_is_understood, fuzz_rehearsal_stream;
}
