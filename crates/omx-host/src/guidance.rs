//! What omx writes into a host's file of instructions, between its two marks.
//!
//! The block is read in every conversation, so it is short; what a mode asks
//! for stands in its skill and comes only when it is wanted.

use omx_kernel::HostKind;

/// The first line of the block.
pub const GUIDANCE_START: &str = "<!-- OMX:START -->";

/// The last line of the block.
pub const GUIDANCE_END: &str = "<!-- OMX:END -->";

/// The block for a host, from the first mark to the line end after the last.
pub const fn guidance(host: HostKind) -> &'static str {
    match host {
        HostKind::Codex => include_str!("../../../assets/templates/guidance-codex.md"),
        HostKind::Claude => include_str!("../../../assets/templates/guidance-claude.md"),
        HostKind::Gemini => include_str!("../../../assets/templates/guidance-gemini.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_2_1_a_block_stands_between_its_marks_and_is_short() {
        for host in HostKind::ALL {
            let block = guidance(host);
            assert!(block.starts_with(&format!("{GUIDANCE_START}\n")), "{}", host.as_str());
            assert!(block.ends_with(&format!("\n{GUIDANCE_END}\n")), "{}", host.as_str());
            assert_eq!(block.matches("<!--").count(), 2, "{}", host.as_str());
            assert!((15..=30).contains(&block.lines().count()), "{}", host.as_str());
            for word in ["omx cancel", "state_write", "autopilot", "Stop"] {
                assert!(block.contains(word), "{}: {word}", host.as_str());
            }
        }
    }
}
