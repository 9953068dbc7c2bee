//! A number for a text, the same on every machine and in every version.

/// FNV-1a, 64 bits. It tells texts apart; it keeps nobody out.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
