//! What differs by platform. Every other module of the workspace reaches the
//! operating system's process table, process handles and descriptor lists through
//! the functions that this module exports, so that a port is one more file here.
//!
//! A platform provides:
//! - `read_process`, `list_processes`, `list_own_children`, `find_outermost_named`: the
//!   process table
//! - `read_command_line`, `read_environment`, `read_working_directory`, `read_executable`:
//!   details of a process
//! - `exclusive_lock_holders`, `is_this_program`: who holds a lock, and whether that is omx
//! - `find_mount_below`: file systems that are mounted inside a folder
//! - `set_process_name`: the name of this process in the table
//! - `read_boot_id`: what tells one boot of the machine from the next
//! - [`ProcessHandle`]: a process that stays the same one while the handle is open
//! - `adopt_orphans`: makes this process the parent of orphans below it
//! - `detached_command`: a program in a session of its own
//! - `list_open_descriptors`, `anonymous_file`, `directory_names`
//! - `landlock_support`, `Restriction`: the confinement of a child
//! - `SEND_FLAGS`, `RECEIVE_FLAGS`: for messages that carry descriptors

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub(crate) use landlock::Restriction;
#[cfg(target_os = "linux")]
pub use landlock::{LandlockSupport, landlock_support};

#[cfg(target_os = "linux")]
pub use linux::{
    ProcessHandle, anonymous_file, detached_command, directory_names, exclusive_lock_holders,
    find_mount_below, is_this_program, read_boot_id, read_executable, read_working_directory,
};
#[cfg(target_os = "linux")]
pub(crate) use linux::{
    RECEIVE_FLAGS, SEND_FLAGS, adopt_orphans, find_outermost_named, list_open_descriptors,
    list_own_children, list_processes, read_command_line, read_environment, read_process,
    set_process_name,
};
