//! The socket between omx and a guard. It is the guard's standard input, and the
//! program's standard input is sent over it. This way no descriptor is ever inheritable
//! by a process that omx happens to start at the same time.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::inherited::close_inherited;
use super::rules::{decode_rules, encode_rules};
use crate::confinement::FileRules;
use crate::platform::{RECEIVE_FLAGS, SEND_FLAGS};

/// What a guard receives from omx.
#[derive(Debug)]
pub struct GuardControl {
    pub(super) socket: UnixStream,
    /// The standard input of the program.
    pub(super) input: OwnedFd,
    /// The rules to apply to the program.
    pub(super) rules: Option<FileRules>,
}

/// Sends the program's standard input and rules to a guard that is about to start.
pub(crate) fn send_setup(
    socket: &UnixStream,
    input: BorrowedFd<'_>,
    rules: Option<&FileRules>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [input];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let rules = rules.map(encode_rules).unwrap_or_default();
    let length = u32::try_from(rules.len()).map_err(io::Error::other)?.to_le_bytes();
    let parts = [IoSlice::new(&length), IoSlice::new(&rules)];
    // Nobody reads yet: what the socket does not hold would never be sent.
    let sent = sendmsg(socket, &parts, &mut ancillary, SEND_FLAGS | SendFlags::DONTWAIT)?;
    if sent < length.len() + rules.len() {
        return Err(io::Error::other("the description of the confinement is too long"));
    }
    Ok(())
}

/// Takes over the socket that omx passed as standard input, and the descriptor sent over
/// it. Returns `None` if something other than omx started this process.
///
/// Closes every other inherited descriptor, so call it before this process opens any.
/// What it returns is closed in the programs that the guard starts.
pub fn take_control() -> Option<GuardControl> {
    close_inherited();
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    // omx sent it before this process began, so there is nothing to wait for.
    recvmsg(&socket, &mut [IoSliceMut::new(&mut length)], &mut ancillary, RECEIVE_FLAGS).ok()?;
    let files = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let input = files?.next()?;
    let mut rules = vec![0; usize::try_from(u32::from_le_bytes(length)).ok()?];
    socket.read_exact(&mut rules).ok()?;
    // No rules is no confinement; rules that make no sense must not become none.
    let rules = if rules.is_empty() { None } else { Some(decode_rules(&rules)?) };
    Some(GuardControl { socket, input, rules })
}
