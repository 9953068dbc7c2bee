//! Limits that protect the machine rather than a mode.

const MOST_RESERVED: u64 = 256 * 1024 * 1024;

/// How many free bytes a disk of this size keeps: 256 MiB or 1 %, whichever is less. A
/// run stops before it takes them.
pub fn disk_reserve(total: u64) -> u64 {
    MOST_RESERVED.min(total / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_3_5_the_reserve_is_256_mib_or_one_percent() {
        let mebibyte = 1024 * 1024;
        assert_eq!(disk_reserve(1000 * mebibyte), 10 * mebibyte);
        assert_eq!(disk_reserve(25_600 * mebibyte), 256 * mebibyte);
        assert_eq!(disk_reserve(u64::MAX), 256 * mebibyte);
        // A file system that does not know its size.
        assert_eq!(disk_reserve(0), 0);
    }
}
