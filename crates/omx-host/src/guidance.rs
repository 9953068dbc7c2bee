//! The block omx writes into a host's file of instructions.
//!
//! An agent reads the block in every conversation, so it is short. The details of a
//! mode are in its skill, which an agent reads only when it needs it.

use omx_kernel::HostKind;

use crate::hosts::host_spec;

/// The first line of the block.
pub const GUIDANCE_START: &str = "<!-- OMX:START -->";

/// The last line of the block.
pub const GUIDANCE_END: &str = "<!-- OMX:END -->";

/// The block for a host, from its first mark through the line end after its last.
pub const fn guidance(host: HostKind) -> &'static str {
    host_spec(host).guidance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_2_1_a_block_is_enclosed_in_its_marks_and_short() {
        for host in HostKind::ALL {
            let block = guidance(host);
            assert!(block.starts_with(&format!("{GUIDANCE_START}\n")), "{host}");
            assert!(block.ends_with(&format!("\n{GUIDANCE_END}\n")), "{host}");
            assert_eq!(block.matches("<!--").count(), 2, "{host}");
            assert!((15..=30).contains(&block.lines().count()), "{host}");
            for word in ["omx cancel", "state_write", "autopilot", "Stop"] {
                assert!(block.contains(word), "{host}: {word}");
            }
        }
    }
}
