//! The socket between omx and a guard. It is the guard's standard input, and the
//! program's standard input is sent over it. This way no descriptor is ever inheritable
//! by a process that omx happens to start at the same time.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, recvmsg,
    sendmsg,
};

use super::inherited::close_inherited;
use crate::platform::{RECEIVE_FLAGS, SEND_FLAGS};

/// What a guard receives from omx.
#[derive(Debug)]
pub struct GuardControl {
    pub(super) socket: UnixStream,
    /// The standard input of the program.
    pub(super) input: OwnedFd,
}

/// Sends the program's standard input to a guard that is about to start.
pub(crate) fn send_input(socket: &UnixStream, input: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [input];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut ancillary, SEND_FLAGS)?;
    Ok(())
}

/// Takes over the socket that omx passed as standard input, and the descriptor sent over
/// it. Returns `None` if something other than omx started this process.
///
/// Closes every other inherited descriptor, so call it before this process opens any.
/// What it returns is closed in the programs that the guard starts.
pub fn take_control() -> Option<GuardControl> {
    close_inherited();
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    // omx sent it before this process began, so there is nothing to wait for.
    recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RECEIVE_FLAGS).ok()?;
    let files = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let input = files?.next()?;
    Some(GuardControl { socket, input })
}
