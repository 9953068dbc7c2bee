//! The versions of the protocol this server speaks.

/// The versions this server speaks, newest first. Everything it uses is part of
/// the oldest, or a field that an older client ignores.
pub const PROTOCOL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The version to answer with: the client's if the server speaks it, else the newest.
pub(crate) fn negotiate_version(requested: Option<&str>) -> &'static str {
    let [newest, ..] = PROTOCOL_VERSIONS;
    PROTOCOL_VERSIONS.into_iter().find(|known| Some(*known) == requested).unwrap_or(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_version_wins_if_it_is_known() {
        for version in PROTOCOL_VERSIONS {
            assert_eq!(negotiate_version(Some(version)), version);
        }
        for unknown in [None, Some("1999-01-01"), Some("2099-01-01")] {
            assert_eq!(negotiate_version(unknown), "2025-11-25");
        }
        assert!(PROTOCOL_VERSIONS.is_sorted_by(|newer, older| newer > older));
    }
}
