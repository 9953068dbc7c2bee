//! The socket between omx and a guard. It is the guard's standard input, and
//! the agent's standard input goes over it: so nothing is ever open to a
//! process that omx happens to start at the same time.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::inherited::close_inherited;

/// What a guard is given.
#[derive(Debug)]
pub struct GuardControl {
    pub(super) socket: UnixStream,
    /// The agent's standard input.
    pub(super) input: OwnedFd,
}

/// Sends the agent's standard input ahead to a guard that is about to start.
pub(crate) fn send_ahead(socket: &UnixStream, input: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut parcel = SendAncillaryBuffer::new(&mut space);
    let files = [input];
    parcel.push(SendAncillaryMessage::ScmRights(&files));
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut parcel, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes the socket that omx gave this process as its standard input, and what
/// was sent ahead; nothing if another program started this one. All of it is
/// closed for whatever the guard starts, and everything else that this process
/// inherited is closed at once: so nothing may have been opened before.
pub fn take_control() -> Option<GuardControl> {
    close_inherited();
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut parcel = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    // It was sent before this process began: there is nothing to wait for.
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut parcel, flags).ok()?;
    let files = parcel.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let input = files?.next()?;
    Some(GuardControl { socket, input })
}
