//! The block omx writes into a host's file of instructions.
//!
//! An agent reads the block in every conversation, so it is short. The details of a
//! mode are in its skill, which an agent reads only when it needs it.

use omx_kernel::{Dialect, HostKind};

use crate::hosts::host_spec;

/// The block for a host, from its first mark through the line end after its last.
pub fn guidance(host: HostKind, dialect: Dialect) -> String {
    dialect.localize(host_spec(host).guidance).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_2_1_a_block_is_enclosed_in_its_marks_and_short() {
        for (host, dialect) in
            HostKind::ALL.into_iter().flat_map(|host| Dialect::ALL.map(|dialect| (host, dialect)))
        {
            let block = guidance(host, dialect);
            assert!(block.starts_with(&format!("<!-- {}:START -->\n", dialect.label)), "{host}");
            assert!(block.ends_with(&format!("\n<!-- {}:END -->\n", dialect.label)), "{host}");
            assert_eq!(block.matches("<!--").count(), 2, "{host}");
            assert!((15..=30).contains(&block.lines().count()), "{host}");
            for word in [&format!("{} cancel", dialect.name), "state_write", "autopilot", "Stop"] {
                assert!(block.contains(word), "{host}: {word}");
            }
        }
    }
}
