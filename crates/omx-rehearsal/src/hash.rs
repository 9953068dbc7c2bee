//! A stable hash: the same on every machine and in every version.

/// FNV-1a, 64 bits. It distinguishes texts and is not meant for security.
pub(super) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
