//! The file system calls of the kernel (FUSE).
//!
//! The kernel caches reads and forwards each write at once, with the flags of the program's file. It forwards pages
//! that programs have mapped at any time, at the latest before an `fsync`. It manages locks itself, and it does not
//! forward `sync_file_range`: that makes nothing durable, as documented.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nix::libc;

use super::content::Content;
use super::image::PAGE;
use super::store::{Change, Kind, Meta, Shared, Store, locked};

/// A name can refer to another file after a cut, so the kernel must not cache it.
const NAME: Duration = Duration::ZERO;
/// File attributes change only by calls of the kernel.
const META: Duration = Duration::from_secs(3_600);
/// Reported free blocks: more than any test needs.
const BLOCKS: u64 = 1 << 28;
/// Flags with which a program requests synchronous writes.
const SYNCHRONOUS: i32 = libc::O_SYNC | libc::O_DSYNC;

/// The entries of a directory when it was opened: number, kind, name.
type Listing = Vec<(u64, FileType, OsString)>;

/// A disk as the kernel's file system.
#[derive(Debug)]
pub(super) struct Calls {
    store: Shared,
    listings: Mutex<(u64, HashMap<u64, Listing>)>,
}

/// The result of a call.
type Done<T> = Result<T, nix::errno::Errno>;

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_i32(error as i32)
}

fn kind(kind: &Kind) -> FileType {
    match kind {
        Kind::File(_) => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Link(_) => FileType::Symlink,
    }
}

fn attributes(store: &Store, ino: u64) -> Done<FileAttr> {
    let node = store.node(ino)?;
    let time = node.meta.modified;
    Ok(FileAttr {
        ino: INodeNo(ino),
        size: node.len(),
        blocks: node.len().div_ceil(512),
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind: kind(&node.kind),
        perm: (node.meta.mode & 0o7777) as u16,
        nlink: node.names,
        uid: node.meta.uid,
        gid: node.meta.gid,
        rdev: 0,
        blksize: PAGE as u32,
        flags: 0,
    })
}

fn empty(reply: ReplyEmpty, done: Done<()>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn entry(reply: ReplyEntry, done: Done<FileAttr>) {
    match done {
        Ok(attributes) => reply.entry_with_ttls(&META, &NAME, &attributes, Generation(0)),
        Err(error) => reply.error(errno(error)),
    }
}

fn made_by(request: &Request, mode: u32) -> Meta {
    Meta { mode: mode & 0o7777, uid: request.uid(), gid: request.gid(), modified: SystemTime::now() }
}

impl Calls {
    pub(super) fn of(store: Shared) -> Calls {
        Calls { store, listings: Mutex::default() }
    }

    /// Runs a sync: at once, or later on a separate thread, so that a slow flush delays no other call.
    fn durably(&self, work: impl FnOnce(&Shared) + Send + 'static) {
        let by = locked(&self.store).slow();
        if by.is_zero() {
            return work(&self.store);
        }
        let store = std::sync::Arc::clone(&self.store);
        // Without a thread the kernel gets an error: the reply is dropped with the work.
        let _ = std::thread::Builder::new().name("slow-flush".to_owned()).spawn(move || {
            std::thread::sleep(by);
            work(&store);
        });
    }

    fn make(&self, parent: INodeNo, name: &OsStr, kind: Kind, meta: Meta) -> Done<FileAttr> {
        let mut store = locked(&self.store);
        let ino = store.make(parent.0, name, kind, meta)?;
        attributes(&store, ino)
    }

    fn listing(&self, ino: u64) -> Done<u64> {
        let store = locked(&self.store);
        let own = [(ino, FileType::Directory, ".".into()), (ino, FileType::Directory, "..".into())];
        let named = store.list(ino)?.into_iter().filter_map(|(name, ino)| {
            let node = store.node(ino).ok()?;
            Some((ino, kind(&node.kind), name))
        });
        let listing = own.into_iter().chain(named).collect();
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        listings.0 += 1;
        let handle = listings.0;
        listings.1.insert(handle, listing);
        Ok(handle)
    }
}

impl Filesystem for Calls {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let store = locked(&self.store);
        entry(reply, store.lookup(parent.0, name).and_then(|ino| attributes(&store, ino)));
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match attributes(&locked(&self.store), ino.0) {
            Ok(attributes) => reply.attr(&META, &attributes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut store = locked(&self.store);
        let modified = modified.map(|time| match time {
            TimeOrNow::SpecificTime(time) => time,
            TimeOrNow::Now => SystemTime::now(),
        });
        let resized = size.map_or(Ok(()), |size| store.resize(ino.0, size));
        let changed = resized.and_then(|()| store.change(ino.0, Change { mode, uid, gid, modified }));
        match changed.and_then(|()| attributes(&store, ino.0)) {
            Ok(attributes) => reply.attr(&META, &attributes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match locked(&self.store).node(ino.0).map(|node| &node.kind) {
            Ok(Kind::Link(target)) => reply.data(target.as_os_str().as_bytes()),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: u32, reply: ReplyEntry) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(Errno::EPERM);
        }
        entry(reply, self.make(parent, name, Kind::File(Content::default()), made_by(request, mode)));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        entry(reply, self.make(parent, name, Kind::Directory, made_by(request, mode)));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, locked(&self.store).unlink(parent.0, name, false));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, locked(&self.store).unlink(parent.0, name, true));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        entry(reply, self.make(parent, name, Kind::Link(target.to_owned()), made_by(request, 0o777)));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replaces = match flags {
            flags if flags.is_empty() => true,
            RenameFlags::RENAME_NOREPLACE => false,
            _ => return reply.error(Errno::EINVAL),
        };
        empty(reply, locked(&self.store).rename((parent.0, name), (new_parent.0, new_name), replaces));
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut store = locked(&self.store);
        entry(reply, store.link(ino.0, parent.0, name).and_then(|()| attributes(&store, ino.0)));
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match locked(&self.store).open(ino.0) {
            // Only the kernel changes the file, so its cache stays valid.
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, _: i32, reply: ReplyCreate) {
        let made = self.make(parent, name, Kind::File(Content::default()), made_by(request, mode));
        let opened = made.and_then(|made| locked(&self.store).open(made.ino.0).map(|()| made));
        match opened {
            Ok(made) => {
                reply.created(&NAME, &made, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match locked(&self.store).read(ino.0, offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let durable = flags.0 & SYNCHRONOUS != 0;
        let written = |reply: ReplyWrite, done: Done<()>, length| match done {
            Ok(()) => reply.written(length),
            Err(error) => reply.error(errno(error)),
        };
        if !durable {
            let done = locked(&self.store).write(ino.0, offset, data, false);
            return written(reply, done, data.len() as u32);
        }
        let data = data.to_vec();
        self.durably(move |store| {
            let done = locked(store).write(ino.0, offset, &data, true);
            written(reply, done, data.len() as u32);
        });
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        locked(&self.store).close(ino.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        // Closing a file makes nothing durable. The kernel does not call this again.
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.durably(move |store| empty(reply, locked(store).sync(ino.0)));
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.durably(move |store| empty(reply, locked(store).sync(ino.0)));
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.listing(ino.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listing) = listings.1.get(&handle.0) else { return reply.error(Errno::EIO) };
        for ((ino, kind, name), next) in listing.iter().zip(1..).skip(offset as usize) {
            if reply.add(INodeNo(*ino), next, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let free = if locked(&self.store).is_full() { 0 } else { BLOCKS };
        reply.statfs(BLOCKS, free, free, BLOCKS, BLOCKS, PAGE as u32, 255, PAGE as u32);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let end = offset.saturating_add(length);
        let done = match mode {
            0 => locked(&self.store).reserve(ino.0, end, false),
            libc::FALLOC_FL_KEEP_SIZE => locked(&self.store).reserve(ino.0, end, true),
            _ => Err(nix::errno::Errno::EOPNOTSUPP),
        };
        empty(reply, done);
    }
}
