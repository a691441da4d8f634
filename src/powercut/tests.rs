//! The disk without the kernel: what survives a cut, and what does not.

use std::ffi::OsStr;
use std::time::SystemTime;

use nix::errno::Errno;
use tempfile::TempDir;

use super::content::Content;
use super::disk::{Loss, Losses};
use super::store::{Kind, Meta, ROOT, Store};

const META: Meta = Meta { mode: 0o700, uid: 0, gid: 0, modified: SystemTime::UNIX_EPOCH };
const PAGE: usize = 4_096;

/// A disk, and the directory of its image.
fn disk(lies: bool) -> (TempDir, Store) {
    let place = TempDir::new().unwrap();
    let store = Store::create(&place.path().join("image"), META, lies).unwrap();
    (place, store)
}

fn file(store: &mut Store, name: &str) -> u64 {
    store.make(ROOT, OsStr::new(name), Kind::File(Content::default()), META).unwrap()
}

/// Cuts the power, and restores it.
fn cut(store: &mut Store, seed: u64, loss: Loss) -> Losses {
    let losses = store.cut(seed, loss).unwrap();
    assert_eq!(find(store, "any"), Err(Errno::EIO), "without power, nothing can be had");
    store.on();
    losses
}

fn find(store: &Store, name: &str) -> Result<u64, Errno> {
    store.lookup(ROOT, OsStr::new(name))
}

/// The content of a file; `None` if it does not exist.
fn text(store: &mut Store, name: &str) -> Option<Vec<u8>> {
    let ino = find(store, name).ok()?;
    Some(store.read(ino, 0, 1 << 20).unwrap())
}

#[test]
fn what_was_synced_outlives_a_cut_and_nothing_else_does() {
    let (_place, mut store) = disk(false);
    let (kept, lost) = (file(&mut store, "kept"), file(&mut store, "lost"));
    store.write(kept, 5_000, b"first", false).unwrap();
    store.sync(kept).unwrap();
    store.write(kept, 5_002, b"xx", false).unwrap();
    store.write(kept, 9_000, b"later", false).unwrap();
    store.write(lost, 0, b"never synced", false).unwrap();
    assert_eq!(store.read(kept, 5_000, 5).unwrap(), b"fixxt");
    store.sync(ROOT).unwrap();
    let losses = cut(&mut store, 1, Loss::Whole);
    assert_eq!(losses, Losses { unsynced: 3, kept: 0, torn: 0, names: 0 });
    let bytes = text(&mut store, "kept").unwrap();
    assert_eq!((bytes.len(), &bytes[5_000..]), (5_005, &b"first"[..]));
    assert!(bytes[..5_000].iter().all(|byte| *byte == 0));
    assert_eq!(text(&mut store, "lost"), Some(Vec::new()), "its name was synced, its bytes were not");
    // Files that were open before the cut fail, whatever is done to them.
    assert_eq!(store.write(kept, 0, b"late", false), Err(Errno::EIO));
    assert_eq!(store.sync(kept), Err(Errno::EIO));
    assert_eq!(store.resize(kept, 0), Err(Errno::EIO));
}

#[test]
fn names_outlive_a_cut_if_their_directory_was_synced() {
    let (_place, mut store) = disk(false);
    let old = file(&mut store, "log");
    store.write(old, 0, b"old", false).unwrap();
    store.settle().unwrap();
    // A new file under a temporary name, synced, and renamed over the old one: the usual way to replace a file.
    let replace = |store: &mut Store| {
        let new = file(store, "log.new");
        store.write(new, 0, b"new", false).unwrap();
        store.sync(new).unwrap();
        store.rename((ROOT, OsStr::new("log.new")), (ROOT, OsStr::new("log")), true).unwrap();
        assert_eq!(text(store, "log").unwrap(), b"new");
    };
    replace(&mut store);
    let losses = cut(&mut store, 1, Loss::Whole);
    assert_eq!((losses.unsynced, losses.names), (0, 2));
    assert_eq!(text(&mut store, "log").unwrap(), b"old", "the rename was not synced");
    assert_eq!(find(&store, "log.new"), Err(Errno::ENOENT), "nor the new name, though the file was");
    replace(&mut store);
    store.sync(ROOT).unwrap();
    store.unlink(ROOT, OsStr::new("log"), false).unwrap();
    assert_eq!(text(&mut store, "log"), None);
    assert_eq!(cut(&mut store, 1, Loss::Whole).names, 1);
    assert_eq!(text(&mut store, "log").unwrap(), b"new", "its removal was not synced");
    // A directory, with what is in it.
    let directory = store.make(ROOT, OsStr::new("below"), Kind::Directory, META).unwrap();
    store.make(directory, OsStr::new("deep"), Kind::File(Content::default()), META).unwrap();
    store.sync(directory).unwrap();
    assert_eq!(store.unlink(ROOT, OsStr::new("below"), true), Err(Errno::ENOTEMPTY));
    cut(&mut store, 1, Loss::Whole);
    let below = find(&store, "below").unwrap();
    assert_eq!(store.list(below).unwrap().len(), 1);
    assert_eq!(store.list(directory), Err(Errno::EIO), "its number is of before the cut");
}

/// Pages of ones over pages of twos: what a cut leaves of each.
fn cut_pages(seed: u64, loss: Loss) -> (Losses, Vec<Vec<u8>>) {
    let (_place, mut store) = disk(false);
    let ino = file(&mut store, "data");
    store.write(ino, 0, &[1; 64 * PAGE], false).unwrap();
    store.settle().unwrap();
    store.write(ino, 0, &[2; 64 * PAGE], false).unwrap();
    let losses = cut(&mut store, seed, loss);
    (losses, text(&mut store, "data").unwrap().chunks(PAGE).map(<[u8]>::to_vec).collect())
}

#[test]
fn a_cut_takes_pages_and_tears_them_as_the_seed_says() {
    let mut torn = 0;
    for seed in 0..20 {
        let (losses, pages) = cut_pages(seed, Loss::Torn);
        assert_eq!(cut_pages(seed, Loss::Torn), (losses, pages.clone()), "the same seed, the same cut");
        let is = |page: &[u8], byte: u8| page.iter().all(|other| *other == byte);
        let (old, new) =
            (pages.iter().filter(|page| is(page, 1)).count(), pages.iter().filter(|page| is(page, 2)).count());
        assert_eq!((losses.unsynced, losses.kept as usize), (64, 64 - old));
        assert_eq!(losses.torn as usize, 64 - old - new);
        for page in pages.iter().filter(|page| !is(page, 1) && !is(page, 2)) {
            let new = page.iter().take_while(|byte| **byte == 2).count();
            assert!(new % 512 == 0 && new > 0 && is(&page[new..], 1), "sectors are new, then old");
            torn += 1;
        }
        let (losses, pages) = cut_pages(seed, Loss::Pages);
        assert!(losses.torn == 0 && pages.iter().all(|page| is(page, 1) || is(page, 2)));
    }
    assert!(torn > 0);
}

#[test]
fn a_write_that_asks_for_it_is_durable_at_once() {
    let (_place, mut store) = disk(false);
    let ino = file(&mut store, "log");
    store.sync(ROOT).unwrap();
    store.write(ino, 0, b"record", true).unwrap();
    store.write(ino, PAGE as u64, b"another", false).unwrap();
    cut(&mut store, 1, Loss::Whole);
    let bytes = text(&mut store, "log").unwrap();
    assert!(bytes.starts_with(b"record") && bytes.len() <= PAGE, "{}", bytes.len());
}

#[test]
fn a_file_that_is_cut_short_shows_no_bytes_of_before() {
    let (_place, mut store) = disk(false);
    let ino = file(&mut store, "data");
    store.write(ino, 0, &[7; 3 * PAGE], false).unwrap();
    store.settle().unwrap();
    store.resize(ino, 100).unwrap();
    store.resize(ino, 2 * PAGE as u64).unwrap();
    let bytes = store.read(ino, 0, 3 * PAGE).unwrap();
    assert_eq!((bytes.len(), bytes.iter().filter(|byte| **byte == 7).count()), (2 * PAGE, 100));
    cut(&mut store, 1, Loss::Whole);
    assert_eq!(text(&mut store, "data").unwrap(), [7; 3 * PAGE], "that it was cut short was not synced");
    let ino = find(&store, "data").unwrap();
    store.resize(ino, 100).unwrap();
    store.write(ino, 50, b"x", true).unwrap();
    store.resize(ino, 200).unwrap();
    store.sync(ino).unwrap();
    cut(&mut store, 1, Loss::Whole);
    let bytes = text(&mut store, "data").unwrap();
    assert_eq!((bytes.len(), bytes.iter().filter(|byte| **byte == 7).count(), bytes[50]), (200, 99, b'x'));
}

#[test]
fn a_file_without_a_name_lives_while_it_is_open_and_its_room_is_used_again() {
    let (place, mut store) = disk(false);
    let size = || std::fs::metadata(place.path().join("image")).unwrap().len();
    for _ in 0..10 {
        let ino = file(&mut store, "temporary");
        store.open(ino).unwrap();
        store.write(ino, 0, &[1; 8 * PAGE], true).unwrap();
        store.unlink(ROOT, OsStr::new("temporary"), false).unwrap();
        assert_eq!(store.read(ino, 0, 1).unwrap(), [1]);
        store.sync(ROOT).unwrap();
        store.close(ino);
        assert_eq!(store.node(ino).err(), Some(Errno::EIO));
    }
    assert_eq!(size(), 8 * PAGE as u64);
}

#[test]
fn a_disk_goes_back_to_the_state_that_was_settled() {
    let (_place, mut store) = disk(false);
    let ino = file(&mut store, "data");
    store.write(ino, 0, &[1; 2 * PAGE], false).unwrap();
    store.settle().unwrap();
    for _ in 0..2 {
        let ino = find(&store, "data").unwrap();
        store.write(ino, 0, &[2; PAGE], true).unwrap();
        store.resize(ino, 10).unwrap();
        store.sync(ino).unwrap();
        file(&mut store, "more");
        store.unlink(ROOT, OsStr::new("data"), false).unwrap();
        store.sync(ROOT).unwrap();
        cut(&mut store, 1, Loss::Whole);
        assert!(find(&store, "data").is_err() && find(&store, "more").is_ok());
        store.back();
        assert_eq!(text(&mut store, "data").unwrap(), [1; 2 * PAGE]);
        assert_eq!(find(&store, "more"), Err(Errno::ENOENT));
    }
}

#[test]
fn a_disk_that_lies_loses_what_it_called_durable() {
    let (_place, mut store) = disk(true);
    let ino = file(&mut store, "log");
    store.settle().unwrap();
    store.write(ino, 0, b"commit", true).unwrap();
    assert_eq!((store.sync(ino), store.sync(ROOT)), (Ok(()), Ok(())));
    cut(&mut store, 1, Loss::Whole);
    assert_eq!(text(&mut store, "log").unwrap(), b"");
}

#[test]
fn what_a_program_had_mapped_can_still_be_read() {
    let (_place, mut store) = disk(false);
    let ino = file(&mut store, "shared memory");
    store.write(ino, 0, &[3; 2 * PAGE], false).unwrap();
    cut(&mut store, 1, Loss::Whole);
    assert_eq!(store.read(ino, PAGE as u64, 10).unwrap(), [3; 10]);
    assert_eq!(store.read(ino, 2 * PAGE as u64, 10), Err(Errno::EIO));
}

#[test]
fn on_a_full_disk_files_keep_what_they_have_and_do_not_grow() {
    let (_place, mut store) = disk(false);
    let log = file(&mut store, "log");
    store.write(log, 0, b"0123456789", false).unwrap();
    store.set_full(true);
    store.write(log, 5, b"again", true).unwrap();
    assert_eq!(store.write(log, 6, b"later", false), Err(Errno::ENOSPC));
    assert_eq!(store.reserve(log, 11, true), Err(Errno::ENOSPC));
    assert_eq!(store.reserve(log, 10, false), Ok(()));
    let new = file(&mut store, "new");
    assert_eq!(store.write(new, 0, b"x", false), Err(Errno::ENOSPC));
    store.set_full(false);
    store.write(log, 6, b"later", false).unwrap();
    store.reserve(new, 3, false).unwrap();
    assert_eq!(
        (text(&mut store, "log").unwrap(), text(&mut store, "new").unwrap()),
        (b"01234alater".to_vec(), vec![0; 3])
    );
}
