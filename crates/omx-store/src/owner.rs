//! Whether a file or folder is the person's: what others own or can write is not obeyed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::process::{getegid, geteuid};

/// Whether the person or root owns it, and nobody else can write it. A group that is the
/// person's own does not count as somebody else: many systems give every user a group.
pub fn is_persons(data: &Metadata) -> bool {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    is_owned_by([data.uid(), data.gid(), data.mode()], user, group)
}

fn is_owned_by([owner, file_group, mode]: [u32; 3], user: u32, group: u32) -> bool {
    let is_owner = owner == user || owner == 0;
    let is_group_writable = mode & 0o020 != 0 && file_group != group;
    is_owner && !is_group_writable && mode & 0o002 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_2_4_what_others_own_or_can_write_is_not_the_persons() {
        for (owner, group, mode, expected) in [
            (1000, 1000, 0o700, true),
            (0, 0, 0o755, true),
            (1000, 1000, 0o775, true),
            (1000, 100, 0o755, true),
            (1000, 100, 0o775, false),
            (1000, 1000, 0o777, false),
            (1001, 1000, 0o700, false),
            (0, 0, 0o777, false),
        ] {
            let is_persons = is_owned_by([owner, group, mode], 1000, 1000);
            assert_eq!(is_persons, expected, "{owner}:{group} {mode:o}");
        }
    }
}
