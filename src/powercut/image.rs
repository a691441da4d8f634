//! The storage of durable bytes: one file, with slots of one page.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes in a page.
pub(super) const PAGE: u64 = 4_096;

/// A page.
pub(super) type Page = Box<[u8; PAGE as usize]>;

/// A page of zeros.
pub(super) fn zeros() -> Page {
    Box::new([0; PAGE as usize])
}

/// The file.
#[derive(Debug)]
pub(super) struct Image {
    file: File,
    /// The first slot that was never used.
    end: u64,
    /// Slots that were given back.
    free: Vec<u64>,
}

impl Image {
    /// Creates a file that only this user can read.
    pub(super) fn create(path: &Path) -> io::Result<Image> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Image { file, end: 0, free: Vec::new() })
    }

    /// Allocates a slot.
    pub(super) fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        })
    }

    /// Frees a slot.
    pub(super) fn give(&mut self, slot: u64) {
        self.free.push(slot);
    }

    pub(super) fn read(&self, slot: u64) -> io::Result<Page> {
        let mut page = zeros();
        self.file.read_exact_at(&mut page[..], slot * PAGE)?;
        Ok(page)
    }

    pub(super) fn write(&self, slot: u64, page: &Page) -> io::Result<()> {
        self.file.write_all_at(&page[..], slot * PAGE)
    }
}
