//! A loss of power for one directory: a file system of our own in user space (FUSE) that keeps in memory what was
//! written since the last `fsync` of a file, and loses it when the power is cut: all of it, some of its pages, or parts
//! of pages, and with it names that no `fsync` of their directory has made durable.
//!
//! The [`Disk`] is one for those who use it: it starts a process that serves the file system and is told by its
//! standard input when to cut. That process is not the one whose power is cut. It is a process of its own because who
//! waits for a file system that it serves itself cannot be killed any more.
//!
//! The disk can also be slow to make something durable, or full, for the faults of a run.
//!
//! | file | duty |
//! |---|---|
//! | `disk.rs` | the other end: starts the process, tells it what to do, ends it |
//! | `content.rs` | a file's bytes: those that outlive a cut, and those that were written since |
//! | `image.rs` | where the bytes are kept that outlive a cut |
//! | `names.rs` | directories, and the changes to them that no `fsync` has made durable |
//! | `store.rs`, `cut.rs` | the files and directories together; what a cut takes |
//! | `serve.rs`, `calls.rs` | the process: its commands, the calls of the kernel |
//!
//! It knows no database, and is built on Linux with the feature `powercut` only; without it a [`Disk`] says so.

#[cfg(all(feature = "powercut", target_os = "linux"))]
mod calls;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod content;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod cut;
mod disk;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod image;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod names;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod serve;
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod store;
#[cfg(test)]
#[cfg(all(feature = "powercut", target_os = "linux"))]
mod tests;

pub use disk::{COMMAND, Disk, DiskOptions, Loss, Losses, unmount};

/// Serves a file system until standard input ends: the whole of the process that a [`Disk`] starts. What it says on
/// standard output is for the [`Disk`].
///
/// # Errors
/// If the file system cannot be mounted, or this build has none.
pub fn serve(backing: &std::path::Path, at: &std::path::Path, lies: bool) -> Result<(), String> {
    #[cfg(all(feature = "powercut", target_os = "linux"))]
    {
        serve::serve(backing, at, lies)
    }
    #[cfg(not(all(feature = "powercut", target_os = "linux")))]
    {
        let _ = (backing, at, lies);
        Err(disk::NOT_BUILT.to_owned())
    }
}
