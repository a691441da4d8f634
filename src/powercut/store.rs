//! The files and directories of a disk with simulated power cuts.
//!
//! The inode number that the kernel gets contains the number of cuts so far. So a program that has a file open when the
//! power is cut gets errors for every call, and one that opens it again after the cut gets what survived.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use nix::errno::Errno;

use super::content::Content;
use super::cut::Draw;
use super::disk::{Loss, Losses};
use super::image::{Image, PAGE, Page};
use super::names::Names;

/// The root directory, whose inode number is the same after every cut.
pub(super) const ROOT: u64 = 1;
/// Bits of an inode number that number the files; those above count the cuts.
const BITS: u32 = 40;

/// The type of a file.
#[derive(Debug)]
pub(super) enum Kind {
    File(Content),
    Directory,
    Link(PathBuf),
}

/// Attributes of a file. They count as durable at once: no database depends on them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meta {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) modified: SystemTime,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) meta: Meta,
    /// Number of its names.
    pub(super) names: u32,
    /// How often it is open.
    opens: u32,
}

impl Node {
    /// Its length in bytes.
    pub(super) fn len(&self) -> u64 {
        match &self.kind {
            Kind::File(content) => content.len(),
            Kind::Directory => PAGE,
            Kind::Link(target) => target.as_os_str().len() as u64,
        }
    }
}

/// A change of mode and owner; `None` leaves them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub(super) mode: Option<u32>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) modified: Option<SystemTime>,
}

/// A disk, shared by the kernel's calls and the commands.
pub(super) type Shared = Arc<Mutex<Store>>;

/// Locks the disk.
pub(super) fn locked(store: &Shared) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A disk.
#[derive(Debug)]
pub(super) struct Store {
    image: Image,
    nodes: HashMap<u64, Node>,
    names: Names,
    next: u64,
    cuts: u64,
    /// Whether it has no power: every call fails.
    off: bool,
    /// Pages that files opened before the last cut had in memory. Reads of mapped pages cannot be refused.
    before: HashMap<u64, BTreeMap<u64, Page>>,
    /// Whether it reports syncs without making anything durable.
    lies: bool,
    /// Delay of each sync.
    slow: Duration,
    /// Whether it is full: files keep their data, and do not grow.
    full: bool,
}

type Done<T> = Result<T, Errno>;

/// The contents of all files, in a fixed order.
fn contents(nodes: &mut HashMap<u64, Node>) -> Vec<(u64, &mut Content)> {
    let mut all: Vec<(u64, &mut Content)> = Vec::new();
    for (id, node) in nodes {
        if let Kind::File(content) = &mut node.kind {
            all.push((*id, content));
        }
    }
    all.sort_by_key(|(id, _)| *id);
    all
}

/// The number of an operating system error.
fn number(error: io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(nix::libc::EIO))
}

impl Store {
    /// An empty disk with a new image file and the attributes of the root directory.
    pub(super) fn create(image: &Path, top: Meta, lies: bool) -> io::Result<Store> {
        let root = Node { kind: Kind::Directory, meta: top, names: 1, opens: 0 };
        Ok(Store {
            image: Image::create(image)?,
            nodes: HashMap::from([(ROOT, root)]),
            names: Names::default(),
            next: ROOT + 1,
            cuts: 0,
            off: false,
            before: HashMap::new(),
            lies,
            slow: Duration::ZERO,
            full: false,
        })
    }

    /// The inode number of a node.
    fn inode(&self, id: u64) -> u64 {
        if id == ROOT { ROOT } else { (self.cuts << BITS) | id }
    }

    /// The node of an inode number. Those from before a cut fail.
    fn node_of(&self, ino: u64) -> Done<u64> {
        let id = ino & ((1 << BITS) - 1);
        if self.off {
            return Err(Errno::EIO);
        }
        if ino == ROOT || (ino >> BITS == self.cuts && self.nodes.contains_key(&id)) { Ok(id) } else { Err(Errno::EIO) }
    }

    pub(super) fn node(&self, ino: u64) -> Done<&Node> {
        self.nodes.get(&self.node_of(ino)?).ok_or(Errno::EIO)
    }

    fn node_mut(&mut self, ino: u64) -> Done<&mut Node> {
        let id = self.node_of(ino)?;
        self.nodes.get_mut(&id).ok_or(Errno::EIO)
    }

    fn directory(&self, ino: u64) -> Done<u64> {
        match self.node(ino)?.kind {
            Kind::Directory => self.node_of(ino),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// A file's bytes.
    fn content(&mut self, ino: u64) -> Done<(&mut Content, &mut Meta, &mut Image)> {
        let id = self.node_of(ino)?;
        match self.nodes.get_mut(&id).ok_or(Errno::EIO)? {
            Node { kind: Kind::File(content), meta, .. } => Ok((content, meta, &mut self.image)),
            _ => Err(Errno::EISDIR),
        }
    }

    /// The inode number of a name.
    pub(super) fn lookup(&self, parent: u64, name: &OsStr) -> Done<u64> {
        self.names.get(self.directory(parent)?, name).map(|id| self.inode(id)).ok_or(Errno::ENOENT)
    }

    /// The entries of a directory, each with its inode number and its kind.
    pub(super) fn list(&self, ino: u64) -> Done<Vec<(OsString, u64)>> {
        let directory = self.directory(ino)?;
        Ok(self.names.list(directory).map(|(name, id)| (name.clone(), self.inode(id))).collect())
    }

    /// Creates a file, directory or link with an unused name.
    pub(super) fn make(&mut self, parent: u64, name: &OsStr, kind: Kind, meta: Meta) -> Done<u64> {
        let directory = self.directory(parent)?;
        if self.names.get(directory, name).is_some() {
            return Err(Errno::EEXIST);
        }
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, Node { kind, meta, names: 1, opens: 0 });
        self.names.name(directory, name, id);
        Ok(self.inode(id))
    }

    /// Adds a name to a file.
    pub(super) fn link(&mut self, ino: u64, parent: u64, name: &OsStr) -> Done<()> {
        let (id, directory) = (self.node_of(ino)?, self.directory(parent)?);
        if self.names.get(directory, name).is_some() {
            return Err(Errno::EEXIST);
        }
        self.node_mut(ino)?.names += 1;
        self.names.name(directory, name, id);
        Ok(())
    }

    /// Removes a name.
    pub(super) fn unlink(&mut self, parent: u64, name: &OsStr, is_directory: bool) -> Done<()> {
        let directory = self.directory(parent)?;
        let id = self.names.get(directory, name).ok_or(Errno::ENOENT)?;
        match self.nodes.get(&id).map(|node| &node.kind) {
            Some(Kind::Directory) if !is_directory => return Err(Errno::EISDIR),
            Some(Kind::Directory) if self.names.list(id).next().is_some() => return Err(Errno::ENOTEMPTY),
            Some(Kind::File(_) | Kind::Link(_)) if is_directory => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.names.unname(directory, name);
        self.unnamed(id);
        Ok(())
    }

    /// Renames; a file that has the new name loses it.
    pub(super) fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr), replaces: bool) -> Done<()> {
        let (old, new) = (self.directory(from.0)?, self.directory(to.0)?);
        let id = self.names.get(old, from.1).ok_or(Errno::ENOENT)?;
        let there = self.names.get(new, to.1);
        if there == Some(id) {
            return Ok(());
        }
        if let Some(there) = there {
            if !replaces {
                return Err(Errno::EEXIST);
            }
            let is_directory = |id| self.nodes.get(&id).is_some_and(|node| matches!(node.kind, Kind::Directory));
            match (is_directory(id), is_directory(there)) {
                (true, false) => return Err(Errno::ENOTDIR),
                (false, true) => return Err(Errno::EISDIR),
                (true, true) if self.names.list(there).next().is_some() => return Err(Errno::ENOTEMPTY),
                _ => {}
            }
        }
        self.names.rename((old, from.1), (new, to.1));
        if let Some(there) = there {
            self.unnamed(there);
        }
        Ok(())
    }

    fn unnamed(&mut self, id: u64) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.names = node.names.saturating_sub(1);
        }
        self.drop_unused(id);
    }

    /// Drops an unreachable file; of one that a cut may bring back, drops what is in memory.
    fn drop_unused(&mut self, id: u64) {
        let Some(node) = self.nodes.get_mut(&id).filter(|node| node.names == 0 && node.opens == 0) else { return };
        if let Kind::File(content) = &mut node.kind {
            content.forget();
        }
        if !self.names.may_name(id) {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: u64) {
        if let Some(Node { kind: Kind::File(content), .. }) = self.nodes.remove(&id) {
            content.remove(&mut self.image);
        }
    }

    pub(super) fn open(&mut self, ino: u64) -> Done<()> {
        self.node_mut(ino).map(|node| node.opens += 1)
    }

    pub(super) fn close(&mut self, ino: u64) {
        // A file that was opened before a cut has been closed by it.
        let Ok(id) = self.node_of(ino) else { return };
        if let Some(node) = self.nodes.get_mut(&id) {
            node.opens = node.opens.saturating_sub(1);
        }
        self.drop_unused(id);
    }

    pub(super) fn change(&mut self, ino: u64, change: Change) -> Done<()> {
        let meta = &mut self.node_mut(ino)?.meta;
        meta.mode = change.mode.map_or(meta.mode, |mode| mode & 0o7777);
        meta.uid = change.uid.unwrap_or(meta.uid);
        meta.gid = change.gid.unwrap_or(meta.gid);
        meta.modified = change.modified.unwrap_or(meta.modified);
        Ok(())
    }

    /// Sets the delay of each sync.
    pub(super) fn set_slow(&mut self, by: Duration) {
        self.slow = by;
    }

    pub(super) fn slow(&self) -> Duration {
        self.slow
    }

    /// Whether it is full from now on.
    pub(super) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Extends a file with reserved space (`fallocate`).
    pub(super) fn reserve(&mut self, ino: u64, end: u64, keep_size: bool) -> Done<()> {
        let len = self.node(ino)?.len();
        if self.full && end > len {
            return Err(Errno::ENOSPC);
        }
        self.resize(ino, if keep_size { len } else { len.max(end) })
    }

    pub(super) fn resize(&mut self, ino: u64, len: u64) -> Done<()> {
        let (content, meta, _) = self.content(ino)?;
        content.resize(len);
        meta.modified = SystemTime::now();
        Ok(())
    }

    pub(super) fn read(&mut self, ino: u64, offset: u64, size: usize) -> Done<Vec<u8>> {
        match self.content(ino) {
            Ok((content, _, image)) => content.read(image, offset, size).map_err(number),
            Err(Errno::EIO) => self.read_before(ino, offset, size),
            Err(error) => Err(error),
        }
    }

    /// Reads what a file had in memory before the cut, if it is whole pages.
    fn read_before(&self, ino: u64, offset: u64, size: usize) -> Done<Vec<u8>> {
        let pages = self.before.get(&ino).ok_or(Errno::EIO)?;
        let end = offset + size as u64;
        let mut bytes = Vec::with_capacity(size);
        for number in offset / PAGE..end.div_ceil(PAGE) {
            let page = pages.get(&number).ok_or(Errno::EIO)?;
            let from = offset.saturating_sub(number * PAGE).min(PAGE) as usize;
            bytes.extend_from_slice(&page[from..(end - number * PAGE).min(PAGE) as usize]);
        }
        Ok(bytes)
    }

    /// Writes; `durable` for synchronous writes (`O_SYNC`, `O_DSYNC`).
    pub(super) fn write(&mut self, ino: u64, offset: u64, bytes: &[u8], durable: bool) -> Done<()> {
        let (lies, full) = (self.lies, self.full);
        let (content, meta, image) = self.content(ino)?;
        if full && offset.saturating_add(bytes.len() as u64) > content.len() {
            return Err(Errno::ENOSPC);
        }
        content.write(image, offset, bytes).map_err(number)?;
        meta.modified = SystemTime::now();
        if durable && !lies {
            content.sync_part(image, offset, bytes.len() as u64).map_err(number)?;
        }
        Ok(())
    }

    /// Makes a file's bytes durable, or the entries of a directory.
    pub(super) fn sync(&mut self, ino: u64) -> Done<()> {
        let id = self.node_of(ino)?;
        if self.lies {
            return Ok(());
        }
        match self.nodes.get_mut(&id).map(|node| &mut node.kind) {
            Some(Kind::File(content)) => content.sync(&mut self.image).map_err(number),
            Some(Kind::Directory) => {
                self.names.sync(id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes everything durable, and takes a snapshot for [`Store::back`].
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.names.settle();
        let done = contents(&mut self.nodes).into_iter().try_for_each(|(_, content)| {
            content.sync(&mut self.image)?;
            content.settle(&mut self.image);
            Ok(())
        });
        let there = self.names.settled(ROOT);
        let gone: Vec<u64> =
            self.nodes.iter().filter(|(id, node)| !there.contains(id) && node.opens == 0).map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.remove(id));
        done
    }

    /// Cuts the power: unsynced data is lost, except a random part. Until [`Store::on`], everything fails.
    pub(super) fn cut(&mut self, seed: u64, loss: Loss) -> io::Result<Losses> {
        let (mut draw, mut losses) = (Draw::new(seed, loss), Losses::default());
        let changes = self.names.unsynced();
        let kept = draw.names(changes);
        losses.names = (changes - kept) as u64;
        self.names.cut(kept);
        self.before.clear();
        for (id, content) in contents(&mut self.nodes) {
            let pages = content.cut(&mut self.image, &mut || draw.fate(), &mut losses)?;
            self.before.insert((self.cuts << BITS) | id, pages);
        }
        self.begin_again();
        self.off = true;
        Ok(losses)
    }

    /// Restores the power.
    pub(super) fn on(&mut self) {
        self.off = false;
    }

    /// Restores the last snapshot, with power.
    pub(super) fn back(&mut self) {
        self.off = false;
        self.names.back();
        contents(&mut self.nodes).into_iter().for_each(|(_, content)| content.back(&mut self.image));
        self.before.clear();
        self.begin_again();
    }

    /// Resets the visible state to the durable one: nothing is open, and files without a name are gone.
    fn begin_again(&mut self) {
        self.cuts += 1;
        let named = self.names.reached(ROOT);
        let settled: HashSet<u64> = self.names.settled(ROOT);
        let gone: Vec<u64> =
            self.nodes.keys().filter(|id| !named.contains_key(id) && !settled.contains(id)).copied().collect();
        gone.into_iter().for_each(|id| self.remove(id));
        for (id, node) in &mut self.nodes {
            node.opens = 0;
            node.names = named.get(id).copied().unwrap_or(0);
        }
    }
}
