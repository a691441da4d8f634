//! Simulated power cuts for one directory: a user-space file system (FUSE) that keeps in memory what was written since
//! the last `fsync` of a file, and drops it when the power is cut: all of it, some of its pages, or parts of pages, and
//! with it directory changes that no `fsync` of their directory has made durable.
//!
//! A [`Disk`] is the client: it starts a process that serves the file system and tells it on its standard input when to
//! cut. The programs that lose power are others. It is a separate process because a process that waits for a file
//! system that it serves itself cannot be killed.
//!
//! The disk can also delay syncs, or be full, for the faults of a run.
//!
//! | file | duty |
//! |---|---|
//! | `disk.rs` | the client: starts the process, sends it commands, ends it |
//! | `content.rs` | the bytes of a file: durable ones, and those written since |
//! | `image.rs` | the storage of durable bytes |
//! | `names.rs` | directories, and the changes to them that no `fsync` has made durable |
//! | `store.rs`, `cut.rs` | files and directories together; what a cut loses |
//! | `serve.rs`, `calls.rs` | the process: its commands, the calls of the kernel |
//!
//! It knows no database. It is built only on Linux with the feature `powercut`; otherwise [`Disk::mount`] fails.

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

/// Serves a file system until standard input ends: the whole process that a [`Disk`] starts. Its standard output is for
/// the [`Disk`].
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
