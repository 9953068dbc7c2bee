//! Linux: what a confined program of root may do beyond files.
//!
//! Landlock holds root as well, but not against capabilities that work beside files:
//! reading the memory and environment of other processes, loading modules, changing the
//! clock.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, remove_capability_from_bounding_set, set_capabilities,
};

/// What remains: the capabilities that concern ownership of files and processes, and small
/// ports, as programs expect them in a container.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Gives up all other capabilities, for this process and what it starts. Only makes system
/// calls, so it may run between fork and exec.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    let mut held = capabilities(None)?;
    if held.permitted.is_empty() {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        if KEPT.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // The first that the kernel does not know, or a process that has a few
            // capabilities but not the one to give up others for good.
            Err(Errno::INVAL | Errno::PERM) => break,
            Err(error) => return Err(error.into()),
        }
    }
    held.effective &= KEPT;
    held.permitted &= KEPT;
    held.inheritable &= KEPT;
    Ok(set_capabilities(None, held)?)
}
