//! quality.md R2, the short form: `scripts/kill-loop` is the long one.

use omx_testkit::kill_loop;

#[test]
fn quality_r2_fifty_rounds_of_kills_lose_and_tear_nothing() {
    let report = kill_loop(50, 20);
    // A loop that kills only before or only after the work proves nothing.
    assert!(report.answered > 0 && report.silent > 0, "{report:?}");
}
