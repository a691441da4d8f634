//! The bytes of a file: the durable ones, and in memory those that were written since.

use std::collections::BTreeMap;
use std::io;

use super::cut::Fate;
use super::disk::Losses;
use super::image::{Image, PAGE, Page, zeros};

/// The unit that a disk writes atomically, in bytes.
const SECTOR: usize = 512;

/// The durable state: the slots of its pages in the image; missing pages are zeros.
#[derive(Clone, Debug, Default)]
struct Durable {
    len: u64,
    slots: BTreeMap<u64, u64>,
}

/// The bytes of a file.
#[derive(Debug, Default)]
pub(super) struct Content {
    durable: Durable,
    /// The snapshot to which the file can be restored.
    settled: Option<Durable>,
    /// The length that programs see.
    len: u64,
    /// The length of durable bytes that programs still see: less than all after a truncation.
    seen: u64,
    /// Pages written since the last sync. Beyond `len` they are zeros.
    written: BTreeMap<u64, Page>,
}

impl Content {
    /// The length in bytes that programs see.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads from `offset`, up to the end of the file.
    pub(super) fn read(&self, image: &Image, offset: u64, size: usize) -> io::Result<Vec<u8>> {
        let end = self.len.min(offset.saturating_add(size as u64));
        let mut bytes = Vec::with_capacity(end.saturating_sub(offset) as usize);
        let mut at = offset;
        while at < end {
            let (from, to) = ((at % PAGE) as usize, (end - at / PAGE * PAGE).min(PAGE) as usize);
            match self.written.get(&(at / PAGE)) {
                Some(page) => bytes.extend_from_slice(&page[from..to]),
                None => bytes.extend_from_slice(&self.old(image, at / PAGE)?[from..to]),
            }
            at += (to - from) as u64;
        }
        Ok(bytes)
    }

    /// Writes to memory.
    pub(super) fn write(&mut self, image: &Image, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::InvalidInput)?;
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (number, from) = (at / PAGE, (at % PAGE) as usize);
            let (now, later) = rest.split_at(rest.len().min(PAGE as usize - from));
            if !self.written.contains_key(&number) {
                let page = if now.len() as u64 == PAGE { zeros() } else { self.old(image, number)? };
                self.written.insert(number, page);
            }
            if let Some(page) = self.written.get_mut(&number) {
                page[from..from + now.len()].copy_from_slice(now);
            }
            (at, rest) = (at + now.len() as u64, later);
        }
        self.len = self.len.max(end);
        Ok(())
    }

    /// Truncates the file, or extends it with zeros.
    pub(super) fn resize(&mut self, len: u64) {
        if len < self.len {
            self.written.split_off(&len.div_ceil(PAGE));
            if let Some(page) = self.written.get_mut(&(len / PAGE)) {
                page[(len % PAGE) as usize..].fill(0);
            }
            self.seen = self.seen.min(len);
        }
        self.len = len;
    }

    /// A page without the changes in memory.
    fn old(&self, image: &Image, number: u64) -> io::Result<Page> {
        let there = self.seen.saturating_sub(number * PAGE).min(PAGE) as usize;
        let Some(slot) = self.durable.slots.get(&number).filter(|_| there > 0) else { return Ok(zeros()) };
        let mut page = image.read(*slot)?;
        page[there..].fill(0);
        Ok(page)
    }

    /// Makes the whole file durable.
    pub(super) fn sync(&mut self, image: &mut Image) -> io::Result<()> {
        self.shorten(image)?;
        for (number, page) in std::mem::take(&mut self.written) {
            self.put(image, number, &page)?;
        }
        (self.durable.len, self.seen) = (self.len, self.len);
        Ok(())
    }

    /// Makes a range durable, and the length that it needs.
    pub(super) fn sync_part(&mut self, image: &mut Image, offset: u64, size: u64) -> io::Result<()> {
        self.shorten(image)?;
        let end = offset.saturating_add(size);
        for number in offset / PAGE..end.div_ceil(PAGE) {
            if let Some(page) = self.written.remove(&number) {
                self.put(image, number, &page)?;
            }
        }
        // Other changes of the last page became durable with it.
        self.grow(end.div_ceil(PAGE) * PAGE);
        Ok(())
    }

    /// Extends the durable file to at least `end`, as far as programs see it.
    fn grow(&mut self, end: u64) {
        self.durable.len = self.durable.len.max(end.min(self.len));
        self.seen = self.durable.len;
    }

    /// Truncates the durable bytes to those that programs still see.
    fn shorten(&mut self, image: &mut Image) -> io::Result<()> {
        if self.seen == self.durable.len {
            return Ok(());
        }
        let part = self.seen / PAGE;
        let last = if self.seen.is_multiple_of(PAGE) { None } else { Some(self.old(image, part)?) };
        let gone = self.durable.slots.split_off(&self.seen.div_ceil(PAGE));
        for (number, slot) in gone {
            self.give(image, number, slot);
        }
        self.durable.len = self.seen;
        match last.filter(|_| self.durable.slots.contains_key(&part)) {
            Some(page) => self.put(image, part, &page),
            None => Ok(()),
        }
    }

    /// Writes a page to the image, in another slot than that of the snapshot.
    fn put(&mut self, image: &mut Image, number: u64, page: &Page) -> io::Result<()> {
        let settled = self.settled.as_ref().and_then(|settled| settled.slots.get(&number));
        let slot = match self.durable.slots.get(&number) {
            Some(slot) if Some(slot) != settled => *slot,
            _ => image.take(),
        };
        image.write(slot, page)?;
        self.durable.slots.insert(number, slot);
        Ok(())
    }

    /// Frees a page's slot, unless the snapshot uses it.
    fn give(&self, image: &mut Image, number: u64, slot: u64) {
        if self.settled.as_ref().and_then(|settled| settled.slots.get(&number)) != Some(&slot) {
            image.give(slot);
        }
    }

    /// Drops what no sync has made durable, except what `fate` keeps. Returns the pages that were in memory.
    pub(super) fn cut(
        &mut self,
        image: &mut Image,
        fate: &mut dyn FnMut() -> Fate,
        losses: &mut Losses,
    ) -> io::Result<BTreeMap<u64, Page>> {
        let written = std::mem::take(&mut self.written);
        let shorter = self.seen < self.durable.len;
        if shorter && fate() != Fate::Lost {
            self.shorten(image)?;
        } else {
            // The truncation is undone.
            self.seen = self.durable.len;
        }
        for (number, page) in &written {
            losses.unsynced += 1;
            let keep = match fate() {
                Fate::Lost => continue,
                Fate::Kept => PAGE as usize,
                Fate::Torn(sectors) => {
                    losses.torn += 1;
                    sectors * SECTOR
                }
            };
            losses.kept += 1;
            let mut mixed = self.old(image, *number)?;
            mixed[..keep].copy_from_slice(&page[..keep]);
            self.put(image, *number, &mixed)?;
            self.grow((number + 1) * PAGE);
        }
        (self.len, self.seen) = (self.durable.len, self.durable.len);
        Ok(written)
    }

    /// Takes a snapshot of the durable state.
    pub(super) fn settle(&mut self, image: &mut Image) {
        let before = self.settled.replace(self.durable.clone()).unwrap_or_default();
        for (number, slot) in before.slots {
            if self.durable.slots.get(&number) != Some(&slot) {
                image.give(slot);
            }
        }
    }

    /// Restores the snapshot.
    pub(super) fn back(&mut self, image: &mut Image) {
        let settled = self.settled.clone().unwrap_or_default();
        let now = std::mem::replace(&mut self.durable, settled);
        for (number, slot) in now.slots {
            self.give(image, number, slot);
        }
        self.written.clear();
        (self.len, self.seen) = (self.durable.len, self.durable.len);
    }

    /// Drops what only a program that had the file open could have read.
    pub(super) fn forget(&mut self) {
        self.written.clear();
        (self.len, self.seen) = (self.durable.len, self.durable.len);
    }

    /// Frees everything: the file is unreachable.
    pub(super) fn remove(mut self, image: &mut Image) {
        let settled = self.settled.take().unwrap_or_default();
        for (number, slot) in std::mem::take(&mut self.durable.slots) {
            if settled.slots.get(&number) != Some(&slot) {
                image.give(slot);
            }
        }
        settled.slots.into_values().for_each(|slot| image.give(slot));
    }
}
